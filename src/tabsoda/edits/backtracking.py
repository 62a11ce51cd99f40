"""Searches for answers cell by cell, for constraints that are not linear.

An unknown answer leaves a constraint undecided, so a constraint that is already violated by the
cells decided so far rules out everything that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.edit_set import Constraint
from tabsoda.edits.respondent import Respondent

Values = NDArray[np.float64]
# Cells decided at most, over all attempts for one respondent.
MOST_STEPS = 2_000


def found_by_search(respondent: Respondent, constraints: Sequence[Constraint]) -> Values | None:
    """Return a row that satisfies some constraints at the least cost that the search finds.

    Depth first, the cheapest values first. It ends when everything was tried, or after 2,000
    decisions with the best row so far.

    Parameters
    ----------
    respondent : Respondent
    constraints : sequence of Constraint
        A component of :attr:`Respondent.components`.

    Returns
    -------
    ndarray of float64, shape (n_columns,), or None
    """
    names = respondent.free_names(constraints)
    search = _Search(respondent, constraints, names)
    undecided = respondent.drawn.copy()
    undecided[[respondent.edits.place[name] for name in names]] = np.nan
    search.decide(undecided, 0, 0.0)
    return search.best


@dataclass(eq=False)
class _Search:
    respondent: Respondent
    constraints: Sequence[Constraint]
    names: list[str]
    best: Values | None = None
    cost: float = np.inf
    steps: int = 0

    def decide(self, values: Values, depth: int, cost: float) -> None:
        """Try the values of the next cell, given those decided so far."""
        if depth == len(self.names):
            self.best, self.cost = values, cost
            return
        self.steps += 1
        name = self.names[depth]
        tried, costs = self.respondent.options(name, values)
        fits = self._fits(name, values, tried)
        for value, own in zip(tried[fits], costs[fits], strict=True):
            if cost + own >= self.cost or self.steps >= MOST_STEPS:
                return
            following = values.copy()
            following[self.respondent.edits.place[name]] = value
            self.decide(self._derived(following), depth + 1, cost + own)

    def _fits(self, name: str, values: Values, tried: Values) -> NDArray[np.bool_]:
        """Return which values violate no constraint yet, shape (n_tried,)."""
        edits = self.respondent.edits
        named = {n: np.repeat(v, tried.size) for n, v in edits.named(values[None, :]).items()}
        where = {n: np.repeat(v, tried.size) for n, v in self.respondent.computed.items()}
        named = edits.derive(named | {name: tried}, where)
        truths = [constraint.truth(named) for constraint in self.constraints]
        return np.asarray((np.array(truths) != 0).all(axis=0))

    def _derived(self, values: Values) -> Values:
        edits = self.respondent.edits
        named = edits.derive(edits.named(values[None, :]), self.respondent.computed)
        values = values.copy()
        for name in edits.derived:
            values[edits.place[name]] = named[name][0]
        return values
