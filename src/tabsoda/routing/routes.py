"""The routes of a gate: groups of answers that all rules treat alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Column
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition
from tabsoda.states.cell_states import CellState
from tabsoda.table import CodedTable

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GateRoutes:
    """One gate's answers, grouped by the followers they skip.

    Attributes
    ----------
    column : Column
    edges : ndarray of float64, shape (n_edges,)
        Bounds in the rules' conditions on a number, ascending; empty for levels.
    route_of_level : ndarray of int64, shape (n_levels,)
        The route of every level; empty for numbers.
    examples : ndarray of float64, shape (n_routes,)
        An answer of each route, coded as in :class:`~tabsoda.table.CodedTable`.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> smokes = Column("smokes", ColumnKind.NOMINAL, ("daily", "less", "never"))
    >>> routes = GateRoutes.of(smokes, [Condition("smokes", ("never",))])
    >>> routes.of_values(np.array([0.0, 1.0, 2.0])).tolist()
    [0, 0, 1]
    """

    column: Column
    edges: Values
    route_of_level: NDArray[np.int64]
    examples: Values

    @classmethod
    def of(cls, column: Column, conditions: list[Condition]) -> GateRoutes:
        """Group the answers of a column by the conditions they fulfil."""
        if column.is_categorical:
            edges, answers = np.empty(0), np.arange(column.n_levels, dtype=np.float64)
        else:
            bounds = {b for c in conditions for b in (c.above, c.up_to) if b is not None}
            edges = np.array(sorted(bounds), dtype=np.float64)
            # An answer on an edge belongs below it: conditions are above < answer <= up_to.
            answers = np.append(edges, _next_whole(edges[-1])) if edges.size else np.zeros(1)
        if not column.is_categorical:
            return cls(column, edges, np.empty(0, dtype=np.int64), answers)
        states = np.full(answers.size, CellState.ANSWERED, dtype=np.uint8)
        nothing_missing = np.zeros_like(states)
        held = [c.holds_for(column, answers, states, nothing_missing) for c in conditions]
        patterns = np.column_stack(held) if held else np.zeros((answers.size, 1), dtype=bool)
        # In order of appearance, so that routes do not depend on the order of the rules.
        _, first, inverse = np.unique(patterns, axis=0, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        return cls(column, edges, rank[inverse.ravel()].astype(np.int64), answers[np.sort(first)])

    @property
    def n_routes(self) -> int:
        """Number of routes."""
        return self.examples.size

    def of_values(self, values: Values) -> NDArray[np.int64]:
        """Return the route of each answer, shape (n,); -1 where there is no answer."""
        known = ~np.isnan(values)
        routes = np.full(values.shape, -1, dtype=np.int64)
        if self.column.is_categorical:
            routes[known] = self.route_of_level[values[known].astype(np.int64)]
        else:
            routes[known] = np.searchsorted(self.edges, values[known], side="left")
        return routes

    def only_answer(self) -> Values:
        """Return the answer of each route with only one answer, NaN for the others; (n_routes,)."""
        if not self.column.is_categorical:
            return np.full(self.n_routes, np.nan)
        counts = np.bincount(self.route_of_level, minlength=self.n_routes)
        return np.where(counts == 1, self.examples, np.nan)

    def observed(self, values: Values) -> Values:
        """Return the smallest and the largest number on each route, shape (n_routes, 2).

        NaN where nobody gave a number on the route, and for levels.
        """
        found = np.full((self.n_routes, 2), np.nan)
        if not self.column.is_categorical:
            taken = self.of_values(values)
            for route in np.unique(taken[taken >= 0]):
                numbers = values[taken == route]
                found[route] = numbers.min(), numbers.max()
        return found

    def nearest(self, values: Values, routes: NDArray[np.int64], observed: Values) -> Values:
        """Return the number on the given route that is nearest to each value.

        It lies within the observed numbers of the route, if there are any. Otherwise it is a whole
        number if the route contains one.

        Parameters
        ----------
        values : ndarray of float64, shape (n,)
        routes : ndarray of int64, shape (n,)
        observed : ndarray of float64, shape (n_routes, 2)
            See :meth:`observed`.

        Examples
        --------
        >>> from tabsoda.schema import ColumnKind
        >>> age = Column("age", ColumnKind.CONTINUOUS)
        >>> routes = GateRoutes.of(age, [Condition("age", up_to=17)])
        >>> given = routes.observed(np.array([12.0, 16.0, 19.0]))
        >>> routes.nearest(np.array([40.0, 3.0]), np.array([0, 1]), given).tolist()
        [16.0, 19.0]
        """
        lower = np.append(-np.inf, self.edges)[routes]
        upper = np.append(self.edges, np.inf)[routes]
        whole, middle = _next_whole(lower), (lower + upper) / 2
        # Adjacent floats have no midpoint; the upper one is on the route.
        above = np.where(whole <= upper, whole, np.where(middle > lower, middle, upper))
        smallest, largest = observed[routes].T
        first = np.where(np.isnan(smallest), above, smallest)
        last = np.where(np.isnan(largest), upper, largest)
        return np.where(values > upper, last, np.where(values <= lower, first, values))


def _next_whole(bound: Any) -> Any:
    """Return the next whole number above a bound; the next float if floats are sparser."""
    return np.maximum(np.floor(bound) + 1, np.nextafter(bound, np.inf))


def gate_routes(rules: RuleSet, table: CodedTable) -> dict[int, GateRoutes]:
    """Return the routes of every gate of an active rule, by its position in the table."""
    conditions: dict[str, list[Condition]] = {}
    for rule in rules.active:
        for path in rule.any_of:
            for condition in path:
                if condition.asks_for_answer:
                    conditions.setdefault(condition.column, []).append(condition)
    return {
        table.names.index(name): GateRoutes.of(table.columns[table.names.index(name)], found)
        for name, found in conditions.items()
    }


def sorted_descendants(rules: RuleSet, table: CodedTable) -> dict[int, list[int]]:
    """Return all direct and indirect followers of every gate, in questionnaire order."""
    place = {name: position for position, name in enumerate(table.names)}
    below: dict[int, set[int]] = {}
    # From the last target to the first: the followers of a target are known before its gates.
    for rule in reversed(rules.active):
        target = place[rule.target]
        for name in rule.gates:
            below.setdefault(place[name], set()).update({target}, below.get(target, set()))
    order = [place[column.name] for column in rules.columns if column.name in place]
    return {gate: [one for one in order if one in found] for gate, found in below.items()}
