"""Hiding small counts, so that a page can be shown to people who may not see the data."""

from __future__ import annotations

from collections.abc import Sequence


def hide_small(counts: Sequence[int], below: int) -> tuple[int | None, ...]:
    """Replace counts from 1 to ``below - 1`` by None, and a second one where one would not do.

    A single hidden count could be found from the total and the others, so the smallest of the
    others is hidden with it.

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
