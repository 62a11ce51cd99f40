"""Imputes such that every draw obeys the rules: gates first, then their followers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import row_keys
from tabsoda.engines import Engine
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells, Keep, keep_nothing
from tabsoda.progress import Progress
from tabsoda.routing.choosing import Choose, by_noise, most_probable
from tabsoda.routing.gate_draws import RouteSampler, SampledRoutes
from tabsoda.routing.reasons import ReasonRouting
from tabsoda.routing.record import RoutingRecord
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.routes import sorted_descendants
from tabsoda.routing.unimputable import find_imputable
from tabsoda.routing.unresolved import Unresolved, find_unresolved
from tabsoda.skips.forward import ASKED_REASONS
from tabsoda.skips.rule_set import RuleSet
from tabsoda.states.cell_states import reason_code
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
# Names listed in one event; the record contains all.
_NAMED = 5


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
            As in :meth:`tabsoda.paper.engine.PaperEngine.draw`.
        keep : Keep
            As in :meth:`tabsoda.paper.engine.PaperEngine.impute`.
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
        part_progress = _part(progress, 0.0, share)
        plain = self.engine.impute(
            table.rows(others), n_draws, part_progress, events, keys=keys[others], keep=keep
        )
        wanted = imputable.filled[others[plain.rows], plain.positions]
        found = np.vstack([plain.mode, plain.median, plain.draws])
        estimates[:, ~in_concerned] = found[:, wanted]
        counts: Counter[tuple[str, str]] = Counter()
        skipped = [0] * (n_draws + 1)
        if concerned.size:
            sampler = RouteSampler(
                table.rows(concerned),
                unresolved.of_rows(concerned),
                self.rules,
                self.models,
                imputable.filled[concerned],
            )
            part = _Concerned(self.engine, sampler, keys[concerned], keep)
            part_progress = _part(progress, share, 1.0)
            where = np.searchsorted(concerned, rows[in_concerned]), positions[in_concerned]
            mode, median, sampled = part.point()
            skipped[0] = part.n_skipped(sampled)
            estimates[0, in_concerned], estimates[1, in_concerned] = mode[where], median[where]
            for number in range(1, n_draws + 1):
                if part_progress is not None:
                    part_progress(number, n_draws + 1, f"draw {number} of {n_draws}, by the rules")
                drawn, sampled = part.draw(number)
                estimates[number + 1, in_concerned] = drawn[where]
                skipped[number] = part.n_skipped(sampled)
                counts.update(sampled.counts)
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
            log_routing(record, events)
            log_refusals(table, self.rules, unresolved, self.models.reasons, events)
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

    def n_skipped(self, sampled: SampledRoutes) -> int:
        """Count the cells that were missing and are skipped now."""
        now = sampled.table.states.skipped & self.sampler.table.states.missing
        return int(now.sum())

    def draw(self, number: int) -> tuple[Values, SampledRoutes]:
        """Draw every missing cell once; NaN at skips and in cells that were not missing."""
        sampled = self.sampler.sample(self._by_noise(number))
        missing = self.sampler.table.states.missing
        values = np.full(missing.shape, np.nan)
        name = f"routed draw {number}"
        values[missing] = self.keep(name, lambda: self._drawn(sampled, number)[missing])
        return values, sampled

    def point(self) -> tuple[Values, Values, SampledRoutes]:
        """Estimate every missing cell under the most probable routes: mode, median, states."""
        sampled = self.sampler.sample(most_probable)
        missing = self.sampler.table.states.missing
        both = np.full((2, *missing.shape), np.nan)
        both[:, missing] = self.keep("routed point", lambda: self._estimated(sampled)[:, missing])
        return both[0], both[1], sampled

    def _drawn(self, sampled: SampledRoutes, number: int) -> Values:
        values = self.engine.draw(sampled.table, number, self.keys)
        off, levels = self._off_route(values, sampled, self._by_noise(number, "answer"))
        if off.any():
            rows = np.flatnonzero(off.any(axis=1))
            # All gates of the row are fixed; otherwise the second draw might leave another route.
            held = (sampled.routes >= 0) & ~sampled.table.states.skipped
            moved = _with_answers(sampled.table, np.where(off, levels, values), held).rows(rows)
            values[rows] = self.engine.draw(moved, number, self.keys[rows])
        return values

    def _estimated(self, sampled: SampledRoutes) -> Values:
        """Return mode and median of every cell, shape (2, n_rows, n_columns)."""
        cells = self.engine.impute(sampled.table, keys=self.keys)
        estimates = []
        for values in (cells.mode, cells.median):
            filled = sampled.table.values.copy()
            filled[cells.rows, cells.positions] = values
            off, levels = self._off_route(filled, sampled, most_probable)
            estimates.append(np.where(off, levels, filled))
        return np.stack(estimates)

    def _by_noise(self, number: int, use: str = "route") -> Choose:
        n_columns = self.sampler.table.shape[1]
        return by_noise(self.engine.seed, number, self.keys, n_columns, use)

    def _off_route(
        self, values: Values, sampled: SampledRoutes, choose: Choose
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
                given = self.sampler.models.observed_at(position)
                answers[rows, position] = routes.nearest(values[rows, position], taken, given)
            elif rows.size:
                on_route = routes.route_of_level[None, :] == taken[:, None]
                known = odds.get(position, np.zeros((concerned.size, on_route.shape[1])))
                # A level of probability 0 is still better than one off the route.
                weight = (known[np.searchsorted(concerned, rows)] + 1e-9) * on_route
                weight /= weight.sum(axis=1, keepdims=True)
                answers[rows, position] = choose(weight, position, rows)
        return off, answers


def log_routing(record: RoutingRecord, events: EventLog) -> None:
    """Record what following the rules decided."""
    if record.gates:
        events.add(
            "followers_settled_by_drawn_gates",
            gates=record.gates,
            followers=record.followers,
            skipped=float(record.mean_skipped),
            draws=len(record.skipped),
        )
    if record.withheld:
        events.add("absent_respondents_skipped", cells=record.withheld)
    draws = max(len(record.skipped), 1)
    if record.total("ruled_out"):
        events.add("gate_answers_ruled_out", per_draw=record.total("ruled_out") / draws)
    if record.total("kept"):
        per_draw = record.total("kept") / draws
        events.add("answers_kept_despite_drawn_gates", per_draw=per_draw)
    for column, rules in record.left_by_column.items():
        few = len(rules) <= _NAMED
        events.add(
            "cells_left_missing",
            column=column,
            cells=sum(rules.values()),
            rules=list(rules) if few else None,
            n_rules=None if few else len(rules),
        )


def log_refusals(
    table: CodedTable,
    rules: RuleSet,
    unresolved: Unresolved,
    reasons: ReasonRouting,
    events: EventLog,
) -> None:
    """Log whether the followers of refused gates were used to draw the gate."""
    informative = unresolved.contested | (unresolved.undecided & table.states.skipped)
    for gate, targets in sorted_descendants(rules, table).items():
        for reason in ASKED_REASONS:
            code = reason_code(reason)
            rows = unresolved.gates[:, gate] & (table.states.reasons[:, gate] == code)
            known = [t for t in targets if informative[rows, t].any()]
            exceptions = set(reasons.exceptions(gate, code).tolist())
            regardless = [table.names[t] for t in known if t not in exceptions]
            if regardless:
                events.add(
                    "gate_drawn_regardless_of_followers",
                    column=table.names[gate],
                    respondents=int(rows.sum()),
                    reason=reason.value,
                    followers=_some_names(regardless),
                )
            fitting = [table.names[t] for t in known if t in exceptions]
            if fitting:
                events.add(
                    "gate_drawn_to_fit_followers",
                    column=table.names[gate],
                    respondents=int(rows.sum()),
                    reason=reason.value,
                    followers=_some_names(fitting),
                )


def _some_names(names: list[str]) -> list[str]:
    return names if len(names) <= _NAMED else [*names[: _NAMED - 1], "others"]


def _with_answers(table: CodedTable, answers: Values, where: NDArray[np.bool_]) -> CodedTable:
    """Return the table with some missing cells answered."""
    states = table.states
    answered = states.answered | where
    new = type(states).from_masks(answered, states.skipped, states.names, states.reasons)
    return CodedTable(table.columns, np.where(where, answers, table.values), new)


def _part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Return a callback that reports one part of the work as a part of the whole."""
    if progress is None:
        return None

    def update(done: int, total: int, what: str) -> None:
        progress(round(1000 * (start + (end - start) * done / total)), 1000, what)

    return update
