"""Whole numbers on the command line: "1.5" is refused, not rounded."""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import Parameter, Token


def _whole(type_: object, tokens: Sequence[Token]) -> int:
    """Return the number that a word of the command line is; ValueError where it is none.

    Examples
    --------
    >>> _whole(int, [Token(value="12")])
    12
    """
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"found '{word}', expected a whole number") from None


# To annotate options with, beside what else is to be said of them.
WHOLE = Parameter(converter=_whole)
