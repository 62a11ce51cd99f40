"""Values that one cell could take to satisfy the constraints of its row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.column_facts import ColumnFacts
from tabsoda.edits.edit_set import Constraint, EditSet, Named
from tabsoda.schema.column import Column, ColumnKind

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Different donors that are always tried, spread evenly over the observed answers.
_EVEN_DONORS = 40
_SECANT_STEPS = 8
# Added to the distance of a number outside the observed range: others are preferred.
OUTSIDE = 10.0
# Added to the distance of a level that nobody chose.
_NEVER_CHOSEN = 1000.0
_SMALLEST_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class Cell:
    """One column of some rows, whose other answers stay as they are.

    Attributes
    ----------
    edits : EditSet
    name : str
        The column.
    values : dict of str to ndarray of float64, shape (n_rows,)
        All involved columns.
    computed : dict of str to ndarray of bool, shape (n_rows,)
        Cells of derived variables that follow their parts.
    scores : ndarray of float64, shape (n_rows, n_levels), optional
        How well each level of a nominal column fits: logarithms of probabilities.
    """

    edits: EditSet
    name: str
    values: Named
    computed: dict[str, Mask]
    scores: Values | None = None

    def with_values(self, tried: Values) -> Named:
        """Return all columns with other values in this one, and what is derived from it."""
        return self.edits.derive(self.values | {self.name: tried}, self.computed)

    def candidates(self) -> tuple[Values, Values]:
        """Return values to try and their distance from the drawn ones, each (n_rows, n_tried).

        NaN where there are fewer. A nominal level is nearer the more probable it is, an ordinal
        level or a number the nearer it is.
        """
        column, facts = self.edits.columns[self.name], self.edits.facts[self.name]
        drawn = self.values[self.name]
        if column.is_categorical:
            tried = np.tile(facts.donors, (drawn.size, 1))
            return tried, level_distances(column, facts, drawn, self.scores)
        low, high = facts.domain(column)
        places = np.linspace(0, facts.donors.size - 1, _EVEN_DONORS).round().astype(np.int64)
        even = np.unique(facts.donors[places]) if facts.donors.size else facts.donors
        bounds = [bound for bound in (column.minimum, column.maximum) if bound is not None]
        fixed = np.concatenate([even, bounds])
        tried = np.column_stack([drawn, np.tile(fixed, (drawn.size, 1)), *self._near_limits()])
        tried = np.sort(np.where((tried >= low) & (tried <= high), tried, np.nan), axis=1)
        tried[:, 1:][np.diff(tried, axis=1) == 0] = np.nan
        outside = (tried < facts.low) | (tried > facts.high)
        return tried, np.abs(tried - drawn[:, None]) / facts.spread + OUTSIDE * outside

    def _near_limits(self) -> list[Values]:
        """Return, for every comparison, its limit, the values next to it and the next donors."""
        facts = self.edits.facts[self.name]
        found: list[Values] = []
        for constraint in self.edits.constraints:
            if self.name not in self.edits.roots(constraint):
                continue
            for limit in self._limits(constraint):
                step = 10.0**-facts.decimals
                below = np.floor(limit / step + 1e-9) * step
                above = np.ceil(limit / step - 1e-9) * step
                found += [np.round(below, facts.decimals), np.round(above, facts.decimals)]
                found += [np.round(below - step, facts.decimals)]
                found += [np.round(above + step, facts.decimals)]
                if not facts.is_whole:
                    found.append(limit)
                if facts.donors.size:
                    place = np.searchsorted(facts.donors, np.nan_to_num(limit))
                    for offset in (-2, -1, 0, 1):
                        near = (place + offset).clip(0, facts.donors.size - 1)
                        found.append(np.where(np.isnan(limit), np.nan, facts.donors[near]))
        return found

    def _limits(self, constraint: Constraint) -> list[Values]:
        """Return where each comparison of a constraint becomes an equality, shape (n_rows,)."""
        drawn = self.values[self.name]
        n_residuals = len(constraint.residuals(self.values))

        def residual(number: int) -> Callable[[Values], Values]:
            return lambda tried: constraint.residuals(self.with_values(tried))[number] + 0 * tried

        step = max(1.0, 0.1 * self.edits.facts[self.name].spread)
        return [_root(residual(number), drawn, drawn + step) for number in range(n_residuals)]


def level_distances(
    column: Column, facts: ColumnFacts, drawn: Values, scores: Values | None = None
) -> Values:
    """Return the distance of every level from the drawn one, shape (n_rows, n_levels).

    Of ordinals, the levels between them; of nominals, how much less probable a level is than the
    best one (in logarithms), by ``scores`` or else by the observed shares.

    Examples
    --------
    >>> from tabsoda.schema.column import ColumnKind
    >>> region = Column("region", ColumnKind.NOMINAL, ("n", "s"))
    >>> facts = ColumnFacts.of(region, np.array([0.0, 0, 0, 1]))
    >>> level_distances(region, facts, np.array([0.0])).round(2).tolist()
    [[0.0, 1.1]]
    """
    if column.kind is ColumnKind.ORDINAL:
        distance = np.abs(facts.donors[None, :] - drawn[:, None])
    else:
        known = np.full((drawn.size, facts.donors.size), np.nan) if scores is None else scores
        with np.errstate(divide="ignore"):
            shares = np.log(np.maximum(facts.shares, _SMALLEST_SHARE))
        known = np.where(np.isnan(known), shares, known)
        distance = known.max(axis=1, keepdims=True) - known
    # A level that nobody chose is the last resort.
    return np.asarray(distance + _NEVER_CHOSEN * (facts.shares == 0))


def _root(function: Callable[[Values], Values], first: Values, second: Values) -> Values:
    """Return where a function is 0, row by row, by the secant method; NaN where it finds nothing.

    Examples
    --------
    >>> _root(lambda x: x - np.array([3.0, 5.0]), np.zeros(2), np.ones(2)).tolist()
    [3.0, 5.0]
    """
    with np.errstate(all="ignore"):
        before, at = function(first), function(second)
        for _ in range(_SECANT_STEPS):
            slope = (at - before) / (second - first)
            move = np.where((at == 0) | (slope == 0), 0.0, at / slope)
            first, before = second, at
            second = second - move
            at = function(second)
            if not (np.abs(move) > 1e-10 * np.maximum(1, np.abs(second))).any():
                break
            # Where the method has converged, both points coincide; the next slope is 0 / 0.
            first = np.where(second == first, second + 1e-6, first)
            before = np.where(second == first + 1e-6, function(first), before)
    near_zero = np.abs(at) <= 1e-6 * np.maximum(1, np.abs(second))
    return np.where(near_zero, second, np.nan)
