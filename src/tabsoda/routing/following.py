"""Imputes such that every draw obeys the rules: gates first, then their followers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import row_keys
from tabsoda.coding.engine import Engine
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells, Keep, keep_nothing
from tabsoda.progress import Progress, StagedProgress
from tabsoda.routing.choosing import choose, choosing_noise
from tabsoda.routing.gate_draws import RouteSampler, SampledRoutes
from tabsoda.routing.record import RoutingRecord
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.routes import sorted_descendants
from tabsoda.routing.unimputable import find_imputable
from tabsoda.routing.unresolved import find_unresolved
from tabsoda.skips.rule_set import RuleSet
from tabsoda.table import CodedTable

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GateFollowingImputer:
    """Imputes tables under rules.

    Rows in which nothing depends on a missing gate are imputed by the engine alone. In the other
    rows, a draw samples the routes first (:class:`~tabsoda.routing.gate_draws.RouteSampler`); the
    engine then draws the answers given the resulting states.

    Attributes
    ----------
    engine : Engine
    rules : RuleSet
    models : RouteModels
    """

    engine: Engine
    rules: RuleSet
    models: RouteModels

    def impute(
        self,
        table: CodedTable,
        n_draws: int = 0,
        progress: Progress | None = None,
        events: EventLog | None = None,
        *,
        keys: NDArray[np.int64] | None = None,
        keep: Keep = keep_nothing,
    ) -> tuple[ImputedCells, RoutingRecord]:
        """Estimate every missing cell and draw it; NaN where a cell is skipped.

        Parameters
        ----------
        table : CodedTable
            With the rules applied; see :func:`~tabsoda.routing.unresolved.reopened`.
        n_draws : int
        progress : callable, optional
        events : EventLog, optional
        keys : ndarray of int64, shape (n_rows,), optional
            As in :meth:`tabsoda.coding.engine.Engine.draw`.
        keep : Keep
            As in :meth:`tabsoda.coding.engine.Engine.impute`.
        """
        if keys is None:
            keys = row_keys(table.values, table.states.states)
        imputable = find_imputable(
            table,
            self.rules,
            self.models,
            self.engine.fillable,
            n_draws=n_draws,
            seed=self.engine.seed,
            keys=keys,
        )
        unresolved = find_unresolved(table, self.rules, imputable.filled, self.models.reasons)
        concerned = np.flatnonzero(unresolved.rows)
        others = np.flatnonzero(~unresolved.rows)
        rows, positions = np.nonzero(table.states.missing & imputable.filled)
        in_concerned = unresolved.rows[rows]
        estimates = np.empty((n_draws + 2, rows.size))
        share = others.size / max(table.shape[0], 1)
        stage = StagedProgress(progress, {"others": share, "concerned": 1 - share}).stage
        plain = self.engine.impute(
            table.rows(others), n_draws, stage("others"), events, keys=keys[others], keep=keep
        )
        wanted = imputable.filled[others[plain.rows], plain.positions]
        found = np.vstack([plain.mode, plain.median, plain.draws])
        estimates[:, ~in_concerned] = found[:, wanted]
        skipped, counts = [0] * (n_draws + 1), Counter[tuple[str, str]]()
        if concerned.size:
            sampler = RouteSampler(
                table.rows(concerned),
                unresolved.of_rows(concerned),
                self.rules,
                self.models,
                imputable.filled[concerned],
            )
            part = _Concerned(self.engine, sampler, keys[concerned], keep)
            where = np.searchsorted(concerned, rows[in_concerned]), positions[in_concerned]
            estimates[:, in_concerned], skipped, counts = part.impute(
                where, n_draws, stage("concerned")
            )
        cells = ImputedCells(rows, positions, estimates[2:], estimates[0], estimates[1])
        record = RoutingRecord(
            "follow",
            int(unresolved.gates.sum()),
            int(unresolved.followers.sum()),
            int(unresolved.withheld.sum()),
            tuple(skipped[1:]),
            skipped[0],
            dict(counts),
            dict(imputable.left),
        )
        if events is not None:
            record.log(events)
            informative = unresolved.contested | (unresolved.undecided & table.states.skipped)
            below = sorted_descendants(self.rules, table)
            self.models.reasons.log(table, below, unresolved.gates, informative, events)
        return cells, record


@dataclass(frozen=True, eq=False)
class _Concerned:
    """The rows of a table whose routes differ between draws.

    Attributes
    ----------
    engine : Engine
    sampler : RouteSampler
    keys : ndarray of int64, shape (n_rows,)
        Keys of the rows before any route is sampled, so that noise does not depend on routes.
    keep : Keep
    """

    engine: Engine
    sampler: RouteSampler
    keys: NDArray[np.int64]
    keep: Keep

    def impute(
        self,
        where: tuple[NDArray[np.int64], NDArray[np.int64]],
        n_draws: int,
        progress: Progress,
    ) -> tuple[Values, list[int], Counter[tuple[str, str]]]:
        """Estimate some missing cells under the most probable routes, and draw them.

        Parameters
        ----------
        where : pair of ndarray of int64, shape (n_cells,)
            Rows and columns of the cells.
        n_draws : int
        progress : callable

        Returns
        -------
        estimates : ndarray of float64, shape (n_draws + 2, n_cells)
            Mode, median and draws; NaN at skips.
        skipped : list of int
            Missing cells that are skipped in the point estimate and in every draw.
        counts : Counter
            Of all draws; see :class:`~tabsoda.routing.record.RoutingRecord`.
        """
        missing = self.sampler.table.states.missing
        # Finished draws are stored as the values of all missing cells, in this order.
        order = np.full(missing.shape, -1)
        order[missing] = np.arange(missing.sum())
        cells = order[where]
        sampled = self.sampler.sample(None)
        skipped, counts = [_n_skipped(sampled, missing)], Counter[tuple[str, str]]()
        estimates = np.empty((n_draws + 2, cells.size))
        points = self.keep("routed point", lambda: self._estimated(sampled)[:, missing])
        estimates[:2] = points[:, cells]
        for number in range(1, n_draws + 1):
            progress(number, n_draws + 1, f"draw {number} of {n_draws}, by the rules")
            sampled = self.sampler.sample(self._noise(number))
            drawn = self.keep(f"routed draw {number}", partial(self._drawn, sampled, number))
            estimates[number + 1] = drawn[cells]
            skipped.append(_n_skipped(sampled, missing))
            counts.update(sampled.counts)
        return estimates, skipped, counts

    def _drawn(self, sampled: SampledRoutes, number: int) -> Values:
        """Draw the cells that were missing before routes were sampled, shape (n_missing,)."""
        values = self.engine.draw(sampled.table, number, self.keys)
        off, levels = self._off_route(values, sampled, self._noise(number, "answer"))
        if off.any():
            rows = np.flatnonzero(off.any(axis=1))
            # All gates of the row are fixed; otherwise the second draw might leave another route.
            held = (sampled.routes >= 0) & ~sampled.table.states.skipped
            moved = _with_answers(sampled.table, np.where(off, levels, values), held).rows(rows)
            values[rows] = self.engine.draw(moved, number, self.keys[rows])
        return values[self.sampler.table.states.missing]

    def _estimated(self, sampled: SampledRoutes) -> Values:
        """Return mode and median of every cell, shape (2, n_rows, n_columns)."""
        cells = self.engine.impute(sampled.table, keys=self.keys)
        estimates = []
        for values in (cells.mode, cells.median):
            filled = sampled.table.values.copy()
            filled[cells.rows, cells.positions] = values
            off, levels = self._off_route(filled, sampled, None)
            estimates.append(np.where(off, levels, filled))
        return np.stack(estimates)

    def _noise(self, number: int, use: str = "route") -> Values:
        n_columns = self.sampler.table.shape[1]
        return choosing_noise(self.engine.seed, number, self.keys, n_columns, use)

    def _off_route(
        self, values: Values, sampled: SampledRoutes, noise: Values | None
    ) -> tuple[NDArray[np.bool_], Values]:
        """Return which gates were drawn off their route, and an answer on the route instead."""
        off = np.zeros(values.shape, dtype=bool)
        for position, routes in self.sampler.gate_routes.items():
            taken = sampled.routes[:, position]
            off[:, position] = (taken >= 0) & (routes.of_values(values[:, position]) != taken)
        answers = np.full(values.shape, np.nan)
        concerned = np.flatnonzero(off.any(axis=1))
        levels = [p for p, r in self.sampler.gate_routes.items() if r.column.is_categorical]
        odds = (
            self.engine.level_probabilities(sampled.table.rows(concerned), self.keys[concerned])
            if off[:, levels].any()
            else {}
        )
        for position, routes in self.sampler.gate_routes.items():
            rows = np.flatnonzero(off[:, position])
            taken = sampled.routes[rows, position]
            if not routes.column.is_categorical:
                models = self.sampler.models
                given = models.observed[models.gate == position]
                answers[rows, position] = routes.nearest(values[rows, position], taken, given)
            elif rows.size:
                on_route = routes.route_of_level[None, :] == taken[:, None]
                known = odds.get(position, np.zeros((concerned.size, on_route.shape[1])))
                # A level of probability 0 is still better than one off the route.
                weight = (known[np.searchsorted(concerned, rows)] + 1e-9) * on_route
                weight /= weight.sum(axis=1, keepdims=True)
                uniforms = None if noise is None else noise[rows, position]
                answers[rows, position] = choose(weight, uniforms)
        return off, answers


def _n_skipped(sampled: SampledRoutes, missing: NDArray[np.bool_]) -> int:
    """Count the cells that were missing and are skipped now."""
    return int((sampled.table.states.skipped & missing).sum())


def _with_answers(table: CodedTable, answers: Values, where: NDArray[np.bool_]) -> CodedTable:
    """Return the table with some missing cells answered."""
    states = table.states
    answered = states.answered | where
    new = type(states).from_masks(answered, states.skipped, states.names, states.reasons)
    return CodedTable(table.columns, np.where(where, answers, table.values), new)
