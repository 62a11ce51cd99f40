"""Codes that look like "no answer" although nobody has said so: 97/98/99, -1..-9, .a-.z."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from tabsoda.schema.codes import as_number, plain
from tabsoda.schema.column import Code

_LETTER = re.compile(r"^\.[a-zA-Z]$")
# A gap this many times the spread below it makes a top code stand out in a numeric column.
_GAP_SHARE = 0.25


def is_lettered(value: object) -> bool:
    """Whether a text is a lettered missing value as Stata and SAS write it.

    Examples
    --------
    >>> is_lettered(".S"), is_lettered("S")
    (True, False)
    """
    return isinstance(value, str) and _LETTER.match(value) is not None


def suspicious_codes(values: Iterable[object]) -> tuple[Code, ...]:
    """Return the codes among a column's distinct values that look like no answer.

    Parameters
    ----------
    values : iterable
        Distinct values that the description takes for answers.

    Returns
    -------
    tuple of Code
        In increasing order, letters last. -1..-9 count where every other value is 0 or more;
        7, 8, 9, 97, 98, 99, ... and 77, 88, 99, ... where a gap parts them from the values below.

    Examples
    --------
    >>> suspicious_codes([1, 2, 3, 8, 9])
    (8, 9)
    >>> suspicious_codes([1, 2, 3, 4, 5, 6, 7])
    ()
    >>> suspicious_codes([0, 14, 61, 80, 999, -1])
    (-1, 999)
    """
    letters = sorted({str(value) for value in values if is_lettered(value)})
    numbers = np.unique([n for value in values if (n := as_number(value)) is not None])
    negative = numbers[(numbers < 0) & (numbers >= -9) & (numbers == np.round(numbers))]
    if numbers.size and (numbers[numbers < 0].size != negative.size or numbers.max() < 0):
        negative = negative[:0]
    rest = numbers[numbers >= 0] if negative.size else numbers
    return (*(plain(float(n)) for n in (*negative, *_top_codes(rest))), *letters)


def _top_codes(numbers: np.ndarray) -> list[float]:
    """Conventional codes at the top of sorted distinct numbers, parted from them by a gap."""
    top: list[float] = []
    size = numbers.size
    while size - len(top) > 1 and _is_conventional(float(numbers[size - len(top) - 1])):
        top.insert(0, float(numbers[size - len(top) - 1]))
    while top:
        below = numbers[numbers < top[0]]
        if below.size and _stands_out(top[0], below):
            return top
        top.pop(0)
    return []


def _is_conventional(number: float) -> bool:
    """7, 8, 9; 77, 88, 99; 97, 98, 99, 997, ...; 94 and 96 (NSDUH's family) are in it too."""
    if number < 7 or number != round(number):
        return False
    digits = str(int(number))
    if len(set(digits)) == 1:
        return digits[0] in "789"
    return set(digits[:-1]) == {"9"} and digits[-1] in "345678"


def _stands_out(code: float, below: np.ndarray) -> bool:
    """Whether a code lies beyond a gap: of at least 2, and a quarter of the code if larger."""
    gap = code - float(below.max())
    return gap >= max(2.0, _GAP_SHARE * code)
