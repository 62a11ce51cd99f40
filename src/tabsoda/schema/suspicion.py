"""Find undeclared values that look like missing codes: 91..99, -1..-9, .a-.z."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from tabsoda.schema.codes import as_number, plain
from tabsoda.schema.column import Code

_LETTER = re.compile(r"^\.[a-zA-Z]$")
# A gap this many times the spread below it makes a top code stand out in a numeric column.
_GAP_SHARE = 0.25
# Any other top value is taken as a code if it is far away and frequent: a lone outlier, a
# heavy tail and a short list of levels are ordinary.
_FAR_TIMES = 3
_FAR_GAP = 10
_MANY_SHARE = 0.05
_MIN_BELOW = 3


def is_lettered(value: object) -> bool:
    """Whether a text is a lettered missing value as Stata and SAS write it.

    Examples
    --------
    >>> is_lettered(".S"), is_lettered("S")
    (True, False)
    """
    return isinstance(value, str) and _LETTER.match(value) is not None


def suspicious_codes(
    values: Iterable[object], shares: Mapping[float, float] | None = None
) -> tuple[Code, ...]:
    """Return the values among a column's distinct values that look like missing codes.

    Parameters
    ----------
    values : iterable
        Distinct values that the description treats as answers.
    shares : mapping of float to float, optional
        The share of the answers that each number has.

    Returns
    -------
    tuple of Code
        In increasing order, letters last. -1..-9 count where every other value is 0 or more;
        7, 8, 9, 91..99, 991, ... and 77, 88, 99, ... where a gap separates them from the values
        below; 81..89, 981, ... where such codes lie above them, too. With ``shares``, any number
        on top that is at least three times the next and that one in twenty has.

    Examples
    --------
    >>> suspicious_codes([1, 2, 3, 8, 9])
    (8, 9)
    >>> suspicious_codes([1, 2, 3, 4, 5, 6, 7])
    ()
    >>> suspicious_codes([0, 14, 61, 80, 999, -1])
    (-1, 999)
    >>> suspicious_codes([1, 5, 30, 85, 91, 93])
    (85, 91, 93)
    >>> suspicious_codes([1, 5, 30, 666], {1: 0.5, 5: 0.2, 30: 0.1, 666: 0.2})
    (666,)
    """
    values = list(values)
    letters = sorted({str(value) for value in values if is_lettered(value)})
    numbers = np.unique([n for value in values if (n := as_number(value)) is not None])
    negative = numbers[(numbers < 0) & (numbers >= -9) & (numbers == np.round(numbers))]
    if numbers.size and (numbers[numbers < 0].size != negative.size or numbers.max() < 0):
        negative = negative[:0]
    rest = numbers[numbers >= 0] if negative.size else numbers
    return (*(plain(float(n)) for n in (*negative, *_top_codes(rest, shares or {}))), *letters)


def _top_codes(numbers: np.ndarray, shares: Mapping[float, float]) -> list[float]:
    """Codes at the top of sorted distinct numbers, separated from the rest by a gap."""
    codes: list[float] = []
    while numbers.size > 1:
        top = _conventional_top(numbers) or _frequent_top(numbers, shares)
        if not top:
            break
        codes = top + codes
        numbers = numbers[numbers < top[0]]
    return codes


def _conventional_top(numbers: np.ndarray) -> list[float]:
    top: list[float] = []
    for number in map(float, numbers[:0:-1]):
        if not (_is_conventional(number) or (top and _is_edited(number, top[0]))):
            break
        top.insert(0, number)
    while top:
        if _stands_out(top[0], numbers[numbers < top[0]]):
            return top
        top.pop(0)
    return []


def _frequent_top(numbers: np.ndarray, shares: Mapping[float, float]) -> list[float]:
    top, below = float(numbers[-1]), numbers[:-1]
    next_one = float(below[-1])
    far = top >= _FAR_TIMES * next_one and top - next_one >= _FAR_GAP and next_one > 0
    if far and below.size >= _MIN_BELOW and shares.get(top, 0.0) >= _MANY_SHARE:
        return [top]
    return []


def _is_conventional(number: float) -> bool:
    """Whether a code is one of 7, 8, 9; 77, 88, 99; 91..99, 991..999, ... (used by NSDUH)."""
    digits = _digits(number)
    if len(set(digits)) == 1:
        return digits[0] in "789"
    return set(digits[:-1]) == {"9"} and digits[-1] != "0"


def _is_edited(number: float, above: float) -> bool:
    """Whether a code is one of 81..89, 981..989, ...: NSDUH's codes for edited answers."""
    digits = _digits(number)
    long_enough = 1 < len(digits) == len(_digits(above))
    return long_enough and digits[:-1] == "9" * (len(digits) - 2) + "8" and digits[-1] != "0"


def _digits(number: float) -> str:
    """Return the digits of a whole number of at least 7, else an empty string."""
    return str(int(number)) if number >= 7 and number == round(number) else ""


def _stands_out(code: float, below: np.ndarray) -> bool:
    """Whether a gap of at least 2, or a quarter of the code if larger, precedes a code."""
    gap = code - float(below.max())
    return gap >= max(2.0, _GAP_SHARE * code)
