"""The answers of one respondent: which cells may change, and to what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.candidates import OUTSIDE, Cell
from tabsoda.edits.edit_set import Constraint, EditSet

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Cost of changing a cell at all, beside its distance.
CHANGE = 1.0
# Whole numbers that are listed one by one.
MOST_LISTED = 400


@dataclass(frozen=True, eq=False)
class Respondent:
    """One row of a completed table.

    Attributes
    ----------
    edits : EditSet
    drawn : ndarray of float64, shape (n_columns,)
    free : ndarray of bool, shape (n_columns,)
        Imputed cells, which may change; derived variables among them follow their parts.
    permitted : mapping of int to callable
        Of gates: ``permitted(values) -> bool``, which values keep the route.
    scores : mapping of int to ndarray of float64, shape (n_levels,)
        Of nominal columns: logarithms of the probabilities of levels.
    """

    edits: EditSet
    drawn: Values
    free: Mask
    permitted: Mapping[int, Callable[[Values], Mask]] = field(default_factory=dict)
    scores: Mapping[int, Values] = field(default_factory=dict)

    @cached_property
    def computed(self) -> dict[str, Mask]:
        """The cells of derived variables that follow their parts, each of shape (1,)."""
        return {name: self.free[[self.edits.place[name]]] for name in self.edits.derived}

    @cached_property
    def components(self) -> list[tuple[Constraint, ...]]:
        """The constraints with a free cell, in groups that share none with each other."""
        groups: list[tuple[set[str], list[Constraint]]] = []
        for constraint in self.edits.constraints:
            names = {n for n in self.edits.roots(constraint) if self.is_free(n)}
            if not names:
                continue
            joined = [constraint]
            for group in [one for one in groups if one[0] & names]:
                groups.remove(group)
                names, joined = names | group[0], [*group[1], *joined]
            groups.append((names, joined))
        return [tuple(constraints) for _, constraints in groups]

    def is_free(self, name: str) -> bool:
        """Return whether a cell may change; one without a value is skipped or stays missing."""
        place = self.edits.place[name]
        return bool(self.free[place] and not np.isnan(self.drawn[place]))

    def free_names(self, constraints: Sequence[Constraint]) -> list[str]:
        """Return the free cells of some constraints that are not derived, in file order."""
        used = {name for one in constraints for name in self.edits.roots(one)}
        used -= set(self.edits.derived)
        return [name for name in self.edits.involved if name in used and self.is_free(name)]

    def n_violated(self, values: Values) -> int:
        """Return how many constraints with a free cell a row violates, shape (n_columns,)."""
        violated = self.edits.violated(self.edits.named(values[None, :]))[0]
        counted = zip(self.edits.constraints, violated, strict=True)
        return sum(
            bool(wrong) and any(self.is_free(name) for name in self.edits.roots(one))
            for one, wrong in counted
        )

    def options(self, name: str, values: Values) -> tuple[Values, Values]:
        """Return values that one cell may take, given the others, and what they cost.

        Parameters
        ----------
        name : str
        values : ndarray of float64, shape (n_columns,)
            The row so far; NaN where a cell has not been decided.

        Returns
        -------
        tried, costs : ndarray of float64, shape (n_options,)
            The cheapest first.
        """
        place = self.edits.place[name]
        drawn = self.drawn[place]
        named = self.edits.named(values[None, :]) | {name: np.array([drawn])}
        scores = self.scores.get(place)
        cell = Cell(
            self.edits, name, named, self.computed, None if scores is None else scores[None, :]
        )
        tried, distance = (found[0] for found in cell.candidates())
        column, facts = self.edits.columns[name], self.edits.facts[name]
        listed = self._whole_numbers(name)
        if listed.size:
            away = OUTSIDE * ((listed < facts.low) | (listed > facts.high))
            tried = np.concatenate([tried, listed])
            distance = np.concatenate([distance, np.abs(listed - drawn) / facts.spread + away])
        kept = ~np.isnan(tried)
        if place in self.permitted:
            kept &= self.permitted[place](tried)
        tried, first = np.unique(tried[kept], return_index=True)
        costs = distance[kept][first]
        # The drawn answer is free, also if another level is more probable.
        costs = np.where(tried == drawn, 0.0 if column.is_categorical else costs, costs + CHANGE)
        order = np.argsort(costs, kind="stable")
        return tried[order], costs[order]

    def _whole_numbers(self, name: str) -> Values:
        """Return the whole numbers that a cell may take; none if there are too many."""
        column, facts = self.edits.columns[name], self.edits.facts[name]
        if column.is_categorical or not facts.is_whole or not np.isfinite(facts.low):
            return np.empty(0)
        low, high = facts.domain(column)
        low = max(low, min(facts.low, self.drawn[self.edits.place[name]]))
        high = min(high, max(facts.high, self.drawn[self.edits.place[name]]))
        return np.arange(np.ceil(low), high + 1) if high - low < MOST_LISTED else np.empty(0)
