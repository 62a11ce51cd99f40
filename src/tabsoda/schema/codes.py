"""Compare codes: 1, 1.0 and "1" are the same code, two different texts are not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tabsoda.schema.column import Code

# Texts that mean an empty cell unless a description lists them.
BLANK_WORDS = frozenset({"", ".", "na", "n/a", "#n/a", "nan", "null", "<na>", "__na__"})


def is_blank_word(value: object) -> bool:
    """Whether a text conventionally stands for an empty cell.

    Examples
    --------
    >>> is_blank_word(" NA "), is_blank_word("None")
    (True, False)
    """
    return isinstance(value, str) and value.strip().lower() in BLANK_WORDS


def as_number(code: object) -> float | None:
    """Return the number a code stands for, or None for a text.

    Examples
    --------
    >>> as_number("-1.0"), as_number(" 07"), as_number("yes"), as_number("nan")
    (-1.0, 7.0, None, None)
    """
    if isinstance(code, str) and "_" in code:
        return None  # Python reads "1_0" as ten; in a survey it is text.
    try:
        number = float(code)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def plain(code: Code) -> Code:
    """Write a whole number as an integer: 1.0 becomes 1.

    Examples
    --------
    >>> plain(1.0), plain(2.5), plain("1")
    (1, 2.5, '1')
    """
    if isinstance(code, float) and math.isfinite(code) and code == int(code):
        return int(code)
    return int(code) if isinstance(code, bool) else code


def numeric_if_possible(code: Code) -> Code:
    """Return the number a text spells, or the text.

    Examples
    --------
    >>> numeric_if_possible("-1.0"), numeric_if_possible(""), numeric_if_possible(".S")
    (-1, '', '.S')
    """
    number = as_number(code)
    return code if number is None else plain(number)


class CodeBook:
    """Finds a value of the file among declared codes.

    An equal text has priority; otherwise an equal number, unless two declared texts spell it.

    Examples
    --------
    >>> book = CodeBook((1, 2, "x"))
    >>> book.find("1"), book.find(2.0), book.find("x"), book.find(3)
    (1, 2, 'x', None)
    >>> CodeBook(("1", "01")).find("01")
    '01'
    """

    def __init__(self, codes: Iterable[Code]) -> None:
        self._exact: dict[str, Code] = {}
        self._number: dict[float, Code] = {}
        ambiguous: set[float] = set()
        for code in codes:
            self._exact[str(code)] = code
            number = as_number(code)
            if number is None:
                continue
            if number in self._number:
                ambiguous.add(number)
            self._number[number] = code
        for number in ambiguous:
            del self._number[number]

    def spells(self, value: object) -> bool:
        """Whether a value of the file is literally a declared code."""
        return isinstance(value, str) and value in self._exact

    def find(self, value: object) -> Code | None:
        """Return the declared code that equals a value of the file, or None."""
        if isinstance(value, str) and value in self._exact:
            return self._exact[value]
        number = as_number(value)
        if number is not None and number in self._number:
            return self._number[number]
        return self._exact.get(value.strip()) if isinstance(value, str) else None


def match_keys(labels: Mapping[str, str], codes: Iterable[Code]) -> dict[Code, str]:
    """Match labels keyed by text to their codes; other keys become numbers where possible.

    Examples
    --------
    >>> match_keys({"1": "Yes", "9": "Refused"}, (1, 2))
    {1: 'Yes', 9: 'Refused'}
    """
    book = CodeBook(codes)
    result: dict[Code, str] = {}
    for key, label in labels.items():
        code = book.find(key)
        result[numeric_if_possible(key) if code is None else code] = label
    return result
