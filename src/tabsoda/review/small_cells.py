"""Suppress small counts, so that the page can be shown to people without data access."""

from __future__ import annotations

from collections.abc import Sequence


def hide_small(counts: Sequence[int], below: int) -> tuple[int | None, ...]:
    """Replace counts from 1 to ``below - 1`` by None, with secondary suppression.

    A single hidden count could be computed from the total and the others, so the smallest of the
    others is then hidden as well.

    Parameters
    ----------
    counts : sequence of int
        Counts whose total may be known.
    below : int
        The smallest count that may be shown; 0 or 1 shows everything.

    Examples
    --------
    >>> hide_small([500, 3, 40, 0], below=10)
    (500, None, None, 0)
    >>> hide_small([500, 3, 40, 0], below=0)
    (500, 3, 40, 0)
    """
    hidden = {place for place, count in enumerate(counts) if 0 < count < below}
    others = [place for place, count in enumerate(counts) if count and place not in hidden]
    if len(hidden) == 1 and others:
        hidden.add(min(others, key=lambda place: counts[place]))
    return tuple(None if place in hidden else count for place, count in enumerate(counts))
