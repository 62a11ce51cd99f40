"""Samples, for one draw, the route of each missing gate and the resulting skips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tabsoda.routing.choosing import choose
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.routes import gate_routes, sorted_descendants
from tabsoda.routing.unresolved import Unresolved, holds_once_filled
from tabsoda.skips.forward import was_asked
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.states.cell_states import CellState
from tabsoda.table import CodedTable

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SampledRoutes:
    """A table with sampled routes, before its answers are drawn.

    Attributes
    ----------
    table : CodedTable
        Followers are skipped or missing; gates are answered if their route has only one answer.
    routes : ndarray of int64, shape (n_rows, n_columns)
        The route of each missing gate; -1 elsewhere.
    stuck : dict of (int, int) to str
        The first gate of a row, by row and column, of which every answer skips a question that was
        asked, and a rule that it would break. Only numbers that some respondent gave count.
    counts : Counter of (rule, kind)
        See :class:`~tabsoda.routing.record.RoutingRecord`.
    """

    table: CodedTable
    routes: NDArray[np.int64]
    stuck: dict[tuple[int, int], str]
    counts: Counter[tuple[str, str]]


class RouteSampler:
    """Samples the routes of missing gates, one draw at a time.

    Parameters
    ----------
    table : CodedTable
        The rows with missing gates, with the rules applied.
    unresolved : Unresolved
        The unresolved cells of the same rows.
    rules : RuleSet
    models : RouteModels
    filled : ndarray of bool, shape (n_rows, n_columns)
        Cells that are imputed where they are missing.
    """

    def __init__(
        self,
        table: CodedTable,
        unresolved: Unresolved,
        rules: RuleSet,
        models: RouteModels,
        filled: Mask,
    ) -> None:
        self.table, self.unresolved, self.models, self._filled = table, unresolved, models, filled
        self.gate_routes = gate_routes(rules, table)
        self._asked = was_asked(table.states)
        self._place = {name: position for position, name in enumerate(table.names)}
        self._rules: dict[int, list[SkipRule]] = {}
        for rule in rules.active:
            self._rules.setdefault(self._place[rule.target], []).append(rule)
        # Columns of a rule set are in questionnaire order; those of the table may not be.
        self._order = [self._place[column.name] for column in rules.columns]
        self._below = sorted_descendants(rules, table)
        reasons = models.reasons
        self._free = reasons.free_cells(table.states, self._below)
        self._silent = {
            gate: reasons.uninformative(table.states, gate, targets)
            for gate, targets in self._below.items()
        }
        # Unanswered cells that a route may skip: blanks, and refusals that followed a refusal.
        self._open = ~self._asked | (self._free & filled)
        self._features = models.predictors.of_table(table, self.gate_routes)

    def sample(self, noise: NDArray[np.float64] | None) -> SampledRoutes:
        """Go through the questionnaire, choose a route for each missing gate, and apply its skips.

        The skips of a route are applied to the end of the questionnaire before the next gate is
        chosen, so that it is chosen given all of them.

        Parameters
        ----------
        noise : ndarray of float64, shape (n_rows, n_columns), or None
            From :func:`~tabsoda.routing.choosing.choosing_noise`; None for the most probable
            routes.
        """
        values, states = self.table.values.copy(), self.table.states.states.copy()
        features = self._features.copy()
        taken = np.full(self.table.shape, -1, dtype=np.int64)
        counts: Counter[tuple[str, str]] = Counter()
        stuck: dict[tuple[int, int], str] = {}
        stuck_rows = np.zeros(self.table.shape[0], dtype=bool)
        everybody = np.arange(self.table.shape[0])
        self._follow(everybody, self._order, values, states, counts)
        for position in self._order:
            if position not in self.gate_routes:
                continue
            was_missing = self.table.states.missing[:, position]
            skipped = np.flatnonzero(was_missing & (states[:, position] == CellState.SKIPPED))
            self.models.predictors.set_routes(
                features, skipped, position, np.full(skipped.size, -1)
            )
            still = states[:, position] == CellState.MISSING
            rows = np.flatnonzero(still & self.unresolved.gates[:, position])
            if not rows.size:
                continue
            odds = self.models.probabilities(features[rows], position)
            broken, left = self._consequences(rows, position, values, states)
            n_broken = np.sum(list(broken.values()), axis=0, initial=0)
            unseen = self._unseen(position)
            free = _least(n_broken, left, unseen)
            odds = np.where(free, odds, 0.0)
            uniforms = None if noise is None else noise[rows, position]
            route = choose(odds / odds.sum(axis=1, keepdims=True), uniforms)
            for name, leads_past in broken.items():
                counts[name, "ruled_out"] += int((leads_past & ~free).any(axis=1).sum())
            # Only the first stuck gate of a row is recorded: the row is sampled again without it.
            is_stuck = n_broken[:, ~unseen].min(axis=1) > 0
            for at in np.flatnonzero(is_stuck & ~stuck_rows[rows]):
                names = [name for name, leads_past in broken.items() if leads_past[at, route[at]]]
                stuck[int(rows[at]), position] = names[0]
                stuck_rows[rows[at]] = True
            taken[rows, position] = route
            values[rows, position] = self.gate_routes[position].examples[route]
            states[rows, position] = CellState.ANSWERED
            followed = states[rows]
            self._follow(rows, self._below[position], values[rows], followed, counts)
            states[rows] = followed
            self.models.predictors.set_routes(features, rows, position, route)
        self._count_kept(values, states, counts)
        # Unary plus drops the counts of 0.
        return SampledRoutes(self._table(values, states, taken), taken, stuck, +counts)

    def _unseen(self, position: int) -> Mask:
        """Return the routes of a gate on which nobody gave a number, shape (n_routes,).

        There is nothing to draw from on such a route. Levels are known without having been given.
        """
        unseen = np.isnan(self.models.observed[self.models.gate == position, 0])
        if self.table.columns[position].is_categorical or unseen.all():
            return np.zeros_like(unseen)
        return unseen

    def _holds(
        self,
        condition: Condition,
        rows: NDArray[np.int64],
        values: NDArray[np.float64],
        states: NDArray[np.uint8],
    ) -> Mask:
        gate = self._place[condition.column]
        reasons = self.table.states.reasons[rows, gate]
        return holds_once_filled(
            condition,
            self.table.columns[gate],
            values[:, gate],
            states[:, gate],
            reasons,
            self._filled[rows, gate],
        )

    def _consequences(
        self,
        rows: NDArray[np.int64],
        position: int,
        values: NDArray[np.float64],
        states: NDArray[np.uint8],
    ) -> tuple[dict[str, Mask], NDArray[np.int64]]:
        """Return the consequences of each route of a gate; a skipped follower can be a gate itself.

        Returns
        -------
        broken : dict of str to ndarray of bool, shape (n_rows, n_routes)
            By rule, where a route skips a question that was asked. Not counted: questions skipped
            before the gate and by every route, and questions asked because the gate was refused.
        left : ndarray of int64, shape (n_rows, n_routes)
            Number of skips known from codes or a mask that a route does not explain. A refusal of
            the gate is an explanation.
        """
        examples, below = self.gate_routes[position].examples, self._below[position]
        silent = self._silent[position][rows]
        before, _ = self._follow(rows, below, values[rows], states[rows], silent=silent)
        broken = {name: np.zeros((rows.size, examples.size), dtype=bool) for name in before}
        left = np.zeros((rows.size, examples.size), dtype=np.int64)
        for route, example in enumerate(examples):
            tried, trial = values[rows], states[rows]
            tried[:, position], trial[:, position] = example, CellState.ANSWERED
            fired, left[:, route] = self._follow(rows, below, tried, trial, silent=silent)
            for name, leads_past in fired.items():
                broken[name][:, route] = leads_past
        for name, leads_past in broken.items():
            # A rule that fires on a blank follower does not fire if a route skips the follower.
            leads_past &= ~(before[name] & leads_past.all(axis=1))[:, None]
        return broken, left

    def _follow(
        self,
        rows: NDArray[np.int64],
        targets: Sequence[int],
        values: NDArray[np.float64],
        states: NDArray[np.uint8],
        counts: Counter[tuple[str, str]] | None = None,
        silent: Mask | None = None,
    ) -> tuple[dict[str, Mask], NDArray[np.int64]]:
        """Apply the rules in questionnaire order, and mark the skips in ``states``.

        Parameters
        ----------
        rows, targets
            Rows and columns to apply the rules to.
        values, states : ndarray, shape (n_rows, n_columns)
            Values and states of these rows.
        counts : Counter, optional
            Receives the number of skips per rule.
        silent : ndarray of bool, shape (n_rows, n_targets), optional
            Cells that are not counted in the return values.

        Returns
        -------
        fired : dict of str to ndarray of bool, shape (n_rows,)
            By rule, where it skips a question that was asked.
        unexplained : ndarray of int64, shape (n_rows,)
            Number of known skips that no rule explains.
        """
        fired = {}
        unexplained = np.zeros(rows.size, dtype=np.int64)
        for place, target in enumerate(targets):
            speaks = np.ones(rows.size, dtype=bool) if silent is None else ~silent[:, place]
            binding = self._asked[rows, target] & speaks
            may_skip = self._open[rows, target]
            reason = np.zeros(rows.size, dtype=bool)
            for rule in self._rules.get(target, ()):
                fires = rule.fires_where(lambda c: self._holds(c, rows, values, states))
                newly = fires & may_skip & (states[:, target] == CellState.MISSING)
                states[newly, target] = CellState.SKIPPED
                if counts is not None:
                    counts[rule.identifier, "skipped"] += int(newly.sum())
                fired[rule.identifier] = fires & binding
                reason |= fires
            unexplained += self.table.states.skipped[rows, target] & ~reason & speaks
        return fired, unexplained

    def _count_kept(
        self,
        values: NDArray[np.float64],
        states: NDArray[np.uint8],
        counts: Counter[tuple[str, str]],
    ) -> None:
        """Count answers given after a refusal whose questions only the drawn gate skips."""
        answered = self._free & self.table.states.answered
        for target in map(int, np.flatnonzero(answered.any(axis=0))):
            rows = np.flatnonzero(answered[:, target])
            holds = partial(self._holds, rows=rows, values=values[rows], states=states[rows])
            for rule in self._rules.get(target, ()):
                newly = rule.fires_where(holds) & ~rule.fires(self.table)[rows]
                counts[rule.identifier, "kept"] += int(newly.sum())

    def _table(
        self, values: NDArray[np.float64], states: NDArray[np.uint8], taken: NDArray[np.int64]
    ) -> CodedTable:
        """Return the table with sampled skips; gates are answered if their route has one answer."""
        original = self.table.states
        answered = original.answered.copy()
        values = np.where(answered, values, np.nan)
        for position, routes in self.gate_routes.items():
            rows = np.flatnonzero(taken[:, position] >= 0)
            only = routes.only_answer()[taken[rows, position]]
            values[rows, position] = only
            answered[rows, position] = ~np.isnan(only)
        skipped = states == CellState.SKIPPED
        result = type(original).from_masks(answered, skipped, original.names, original.reasons)
        return CodedTable(self.table.columns, values, result)


def _least(broken: NDArray[np.int64], left: NDArray[np.int64], unseen: Mask) -> Mask:
    """Return the routes that break the fewest rules and, among them, leave fewest unexplained.

    Unseen routes are never among them.
    """
    score = broken * (left.max(initial=0) + 1) + left
    score = np.where(unseen, score.max(initial=0) + 1, score)
    return np.asarray(score == score.min(axis=1, keepdims=True))
