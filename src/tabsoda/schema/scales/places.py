"""The position of labels on a scale, as intervals, and what they imply about their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

# Share of pairs whose order must be certain for an order of codes to be confirmed.
_CERTAIN_PAIRS = 0.6


@dataclass(frozen=True)
class Place:
    """An interval that contains the position of a label: "fairly good" is near "good".

    Examples
    --------
    >>> Place(18, 29).is_below(Place(29, 44)), Place(1, 3).is_below(Place(2, 4))
    (True, False)
    """

    low: float
    high: float

    def is_below(self, other: Place) -> bool:
        """Whether this place is certainly below another; intervals may touch."""
        return self.high < other.low or (
            self.high == other.low and (self.low, self.high) != (other.low, other.high)
        )

    def mirrored(self) -> Place:
        """Return the place on the other side of zero."""
        return Place(-self.high, -self.low)

    def times(self, factor: float) -> Place:
        """Return the place in another unit; the factor is positive."""
        return Place(self.low * factor, self.high * factor)


def span(places: Sequence[Place]) -> Place:
    """Return the smallest interval that contains all places."""
    return Place(min(place.low for place in places), max(place.high for place in places))


def rises(places: Sequence[Place | None]) -> bool:
    """Whether no certain pair contradicts an increasing order; None is unknown."""
    known = [place for place in places if place is not None]
    return not any(later.is_below(earlier) for earlier, later in combinations(known, 2))


def falls(places: Sequence[Place | None]) -> bool:
    """Whether no certain pair contradicts a decreasing order."""
    return rises(tuple(reversed(places)))


def is_confirmed(places: Sequence[Place | None]) -> bool:
    """Whether the places go one way, with most pairs in certain order.

    Examples
    --------
    >>> is_confirmed([Place(0, 0), Place(1, 3), Place(2, 4), Place(6, 6)])
    True
    >>> is_confirmed([Place(0, 0), Place(6, 6), Place(3, 3)])
    False
    """
    known = [place for place in places if place is not None]
    pairs = list(combinations(known, 2))
    certain = sum(a.is_below(b) or b.is_below(a) for a, b in pairs)
    return certain >= _CERTAIN_PAIRS * math.comb(len(known), 2) and (rises(known) or falls(known))


def certain_order(places: Sequence[Place | None]) -> tuple[int, ...] | None:
    """Return the positions from one end of the scale to the other, or None if not certain.

    The direction is the one that agrees with more pairs of the given sequence.

    Examples
    --------
    >>> certain_order([Place(3, 3), Place(-3, -3), Place(0, 0)])
    (0, 2, 1)
    >>> certain_order([Place(0, 1), Place(1, 3), Place(2, 4)]) is None
    True
    """
    if any(place is None for place in places):
        return None
    known = [place for place in places if place is not None]
    rising = 0
    for earlier, later in combinations(known, 2):
        if not (earlier.is_below(later) or later.is_below(earlier)):
            return None
        rising += 1 if earlier.is_below(later) else -1
    order = sorted(range(len(known)), key=lambda i: (known[i].low, known[i].high))
    return tuple(order if rising >= 0 else reversed(order))
