"""Whole numbers on the command line: "1.5" is refused, not rounded."""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import Parameter, Token


def _whole(type_: object, tokens: Sequence[Token]) -> int:
    """Parse a whole number of the command line; raise ValueError if it is not one.

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


# Annotation for options that take a whole number.
WHOLE = Parameter(converter=_whole)
