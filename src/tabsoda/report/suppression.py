"""Withholds small counts, so that a published report cannot identify respondents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tabsoda.event_texts import FREE_TEXTS

# A whole number that stands alone: not part of a decimal, a name, a percentage or a hash.
_COUNT = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})*(?![\w]|[.,]\d|\s?%)")


def withhold(counts: Sequence[int], below: int) -> list[int | None]:
    """Replace counts from 1 to ``below`` - 1 by None, and one more if they could be computed.

    The counts of a question add up to a known total, so a single withheld count could be computed
    from the others; the next smallest is then withheld as well.

    Examples
    --------
    >>> withhold([120, 3, 40], below=10)
    [120, None, None]
    >>> withhold([120, 3, 4], below=10)
    [120, None, None]
    >>> withhold([120, 0, 40], below=10)
    [120, 0, 40]
    """
    hidden = {place for place, count in enumerate(counts) if 0 < count < below}
    if len(hidden) == 1:
        others = [p for p, count in enumerate(counts) if count > 0 and p not in hidden]
        hidden |= {min(others, key=lambda place: counts[place])} if others else set()
    return [None if place in hidden else int(count) for place, count in enumerate(counts)]


def withhold_named(counts: Mapping[str, int], below: int) -> dict[str, int | None]:
    """Do the same for counts with names."""
    return dict(zip(counts, withhold(list(counts.values()), below), strict=True))


def withhold_alone(count: int, below: int) -> int | None:
    """Return a count that is not part of a total, or None if it is small."""
    return None if 0 < count < below else int(count)


def withhold_in_text(text: str, below: int) -> str:
    """Replace small whole numbers in a finished sentence.

    Examples
    --------
    >>> withhold_in_text("3 of 1,200 cells, temperature 0.5", below=10)
    'fewer than 10 of 1,200 cells, temperature 0.5'
    """
    if below < 2:
        return text

    def masked(found: re.Match[str]) -> str:
        count = int(found.group().replace(",", ""))
        return f"fewer than {below}" if 0 < count < below else found.group()

    return _COUNT.sub(masked, text)


def withhold_counts(counts: Mapping[str, Any], below: int) -> dict[str, Any]:
    """Replace the small whole numbers of an event by a text, and those in sentences it holds.

    Examples
    --------
    >>> withhold_counts({"cells": 3, "rows": 1200, "answers": (2, 40), "share": 0.5}, below=10)
    {'cells': 'fewer than 10', 'rows': 1200, 'answers': ['fewer than 10', 40], 'share': 0.5}
    """
    return {
        name: _withheld(value, below, is_sentence=name in FREE_TEXTS)
        for name, value in counts.items()
    }


def _withheld(value: Any, below: int, *, is_sentence: bool) -> Any:
    if isinstance(value, list | tuple):
        return [_withheld(entry, below, is_sentence=is_sentence) for entry in value]
    if isinstance(value, str):
        return withhold_in_text(value, below) if is_sentence else value
    return f"fewer than {below}" if isinstance(value, int) and 0 < value < below else value


def share(count: int | None, total: int | None) -> float | None:
    """Return a share; None if its count is withheld or there is no total."""
    return None if count is None or not total else round(count / total, 5)


def plain(value: Any) -> Any:
    """Convert numpy numbers to plain ones, and NaN and infinity to None, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
