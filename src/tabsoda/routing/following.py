"""Imputing so that every draw keeps to the rules: gates first, then what hangs on them."""

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
from tabsoda.routing.gate_draws import RouteSampler, Settled
from tabsoda.routing.reasons import ReasonRouting
from tabsoda.routing.record import RoutingRecord
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.routes import sorted_descendants
from tabsoda.routing.unimputable import find_kept
from tabsoda.routing.unresolved import Unresolved, find_unresolved
from tabsoda.schema.column import Reason
from tabsoda.skips.forward import ASKED_REASONS
from tabsoda.skips.rule_set import RuleSet
from tabsoda.states.cell_states import reason_code
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
# In one event; the record holds all.
_NAMED = 5
_SAID = {Reason.REFUSED: "refused", Reason.DONT_KNOW: 'answered with "don\'t know"'}
# By whether the followers tell the answer.
_AFTER_A_REFUSAL = {
    False: "missing gate drawn without regard to followers asked or skipped after the refusal",
    True: "missing gate drawn to fit its followers, asked of some who refused and not of others",
}


@dataclass(frozen=True, eq=False)
class GateFollowingImputer:
    """Imputes tables under rules.

    Rows in which nothing hangs on a missing gate are imputed as they are, by the engine alone.
    In the others a draw settles the routing first
    (:class:`~tabsoda.routing.gate_draws.RouteSampler`),
    and then lets the engine draw the answers under the states that follow.

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
        kept = find_kept(
            table,
            self.rules,
            self.models,
            self.engine.fillable,
            n_draws=n_draws,
            seed=self.engine.seed,
            keys=keys,
        )
        unresolved = find_unresolved(table, self.rules, kept.filled, self.models.reasons)
        concerned = np.flatnonzero(unresolved.rows)
        others = np.flatnonzero(~unresolved.rows)
        rows, positions = np.nonzero(table.states.missing & kept.filled)
        in_concerned = unresolved.rows[rows]
        estimates = np.empty((n_draws + 2, rows.size))
        share = others.size / max(table.shape[0], 1)
        told = _part(progress, 0.0, share)
        plain = self.engine.impute(
            table.rows(others), n_draws, told, events, keys=keys[others], keep=keep
        )
        wanted = kept.filled[others[plain.rows], plain.positions]
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
                kept.filled[concerned],
            )
            part = _Concerned(self.engine, sampler, keys[concerned], keep)
            told = _part(progress, share, 1.0)
            where = np.searchsorted(concerned, rows[in_concerned]), positions[in_concerned]
            mode, median, settled = part.point()
            skipped[0] = part.n_skipped(settled)
            estimates[0, in_concerned], estimates[1, in_concerned] = mode[where], median[where]
            for number in range(1, n_draws + 1):
                if told is not None:
                    told(number, n_draws + 1, f"draw {number} of {n_draws}, by the rules")
                drawn, settled = part.draw(number)
                estimates[number + 1, in_concerned] = drawn[where]
                skipped[number] = part.n_skipped(settled)
                counts.update(settled.counts)
        cells = ImputedCells(rows, positions, estimates[2:], estimates[0], estimates[1])
        record = RoutingRecord(
            "follow",
            int(unresolved.gates.sum()),
            int(unresolved.followers.sum()),
            int(unresolved.withheld.sum()),
            tuple(skipped[1:]),
            skipped[0],
            dict(counts),
            dict(kept.left),
        )
        if events is not None:
            tell_routing(record, events)
            tell_reasons(table, self.rules, unresolved, self.models.reasons, events)
        return cells, record


@dataclass(frozen=True, eq=False)
class _Concerned:
    """The rows of a table whose routing differs from draw to draw.

    Attributes
    ----------
    engine : Engine
    sampler : RouteSampler
    keys : ndarray of int64, shape (n_rows,)
        Those of the table as it was given, so that noise does not depend on what was settled.
    keep : Keep
    """

    engine: Engine
    sampler: RouteSampler
    keys: NDArray[np.int64]
    keep: Keep

    def n_skipped(self, settled: Settled) -> int:
        """Count the cells that were missing and are skipped now."""
        now = settled.table.states.skipped & self.sampler.table.states.missing
        return int(now.sum())

    def draw(self, number: int) -> tuple[Values, Settled]:
        """Draw every missing cell once; NaN at skips and in cells that were not missing."""
        settled = self.sampler.settle(self._by_noise(number))
        missing = self.sampler.table.states.missing
        values = np.full(missing.shape, np.nan)
        name = f"routed draw {number}"
        values[missing] = self.keep(name, lambda: self._drawn(settled, number)[missing])
        return values, settled

    def point(self) -> tuple[Values, Values, Settled]:
        """Estimate every missing cell under the most probable routes: mode, median, states."""
        settled = self.sampler.settle(most_probable)
        missing = self.sampler.table.states.missing
        both = np.full((2, *missing.shape), np.nan)
        both[:, missing] = self.keep("routed point", lambda: self._estimated(settled)[:, missing])
        return both[0], both[1], settled

    def _drawn(self, settled: Settled, number: int) -> Values:
        values = self.engine.draw(settled.table, number, self.keys)
        off, levels = self._off_route(values, settled, self._by_noise(number, "answer"))
        if off.any():
            rows = np.flatnonzero(off.any(axis=1))
            # All gates of the row are held, or the second draw might leave the route elsewhere.
            held = (settled.routes >= 0) & ~settled.table.states.skipped
            moved = _with_answers(settled.table, np.where(off, levels, values), held).rows(rows)
            values[rows] = self.engine.draw(moved, number, self.keys[rows])
        return values

    def _estimated(self, settled: Settled) -> Values:
        """Return mode and median of every cell, shape (2, n_rows, n_columns)."""
        cells = self.engine.impute(settled.table, keys=self.keys)
        estimates = []
        for values in (cells.mode, cells.median):
            filled = settled.table.values.copy()
            filled[cells.rows, cells.positions] = values
            off, levels = self._off_route(filled, settled, most_probable)
            estimates.append(np.where(off, levels, filled))
        return np.stack(estimates)

    def _by_noise(self, number: int, use: str = "route") -> Choose:
        n_columns = self.sampler.table.shape[1]
        return by_noise(self.engine.seed, number, self.keys, n_columns, use)

    def _off_route(
        self, values: Values, settled: Settled, choose: Choose
    ) -> tuple[NDArray[np.bool_], Values]:
        """Say which gates were drawn off their route, and which answer on it to take instead."""
        off = np.zeros(values.shape, dtype=bool)
        for position, routes in self.sampler.gate_routes.items():
            taken = settled.routes[:, position]
            off[:, position] = (taken >= 0) & (routes.of_values(values[:, position]) != taken)
        answers = np.full(values.shape, np.nan)
        concerned = np.flatnonzero(off.any(axis=1))
        levels = [p for p, r in self.sampler.gate_routes.items() if r.column.is_categorical]
        odds = (
            self.engine.level_probabilities(settled.table.rows(concerned), self.keys[concerned])
            if off[:, levels].any()
            else {}
        )
        for position, routes in self.sampler.gate_routes.items():
            rows = np.flatnonzero(off[:, position])
            taken = settled.routes[rows, position]
            if not routes.column.is_categorical:
                given = self.sampler.models.observed_at(position)
                answers[rows, position] = routes.nearest(values[rows, position], taken, given)
            elif rows.size:
                on_route = routes.route_of_level[None, :] == taken[:, None]
                known = odds.get(position, np.zeros((concerned.size, on_route.shape[1])))
                # A level with no chance at all still beats one that is off the route.
                weight = (known[np.searchsorted(concerned, rows)] + 1e-9) * on_route
                weight /= weight.sum(axis=1, keepdims=True)
                answers[rows, position] = choose(weight, position, rows)
        return off, answers


def tell_routing(record: RoutingRecord, events: EventLog) -> None:
    """Record what following the rules decided."""
    if record.gates:
        detail = (
            f"{record.gates} missing gates, {record.followers} cells hang on them;"
            f" {record.mean_skipped:.1f} cells skipped on average over {len(record.skipped)} draws"
        )
        events.add("routing", "followers settled by drawn gates", detail=detail)
    if record.withheld:
        detail = f"{record.withheld} cells of respondents who were not there, but led past"
        events.add("routing", "skipped in completed tables", detail=detail)
    draws = max(len(record.skipped), 1)
    if record.total("ruled_out"):
        detail = f"{record.total('ruled_out') / draws:.1f} times a draw, by followers asked"
        events.add("routing", "answers of gates ruled out", detail=detail)
    if record.total("kept"):
        detail = f"{record.total('kept') / draws:.1f} a draw, to questions asked after a refusal"
        events.add("routing", "answers kept that a drawn gate leads past", detail=detail)
    for column, rules in record.left_by_column.items():
        named = ", ".join(rules) if len(rules) <= _NAMED else f"{len(rules)} rules"
        detail = f"{sum(rules.values())} cells: any answer would go against {named}"
        events.add("routing", "left missing", column=column, detail=detail)


def tell_reasons(
    table: CodedTable,
    rules: RuleSet,
    unresolved: Unresolved,
    reasons: ReasonRouting,
    events: EventLog,
) -> None:
    """Record of which refused gates the followers say nothing, and which they tell."""
    informative = unresolved.contested | (unresolved.undecided & table.states.skipped)
    for gate, targets in sorted_descendants(rules, table).items():
        for reason in ASKED_REASONS:
            code = reason_code(reason)
            rows = unresolved.gates[:, gate] & (table.states.reasons[:, gate] == code)
            known = [t for t in targets if informative[rows, t].any()]
            exceptions = set(reasons.exceptions(gate, code).tolist())
            for telling, decision in _AFTER_A_REFUSAL.items():
                names = [table.names[t] for t in known if (t in exceptions) == telling]
                if names:
                    named = names if len(names) <= _NAMED else [*names[: _NAMED - 1], "others"]
                    detail = f"{int(rows.sum())} {_SAID[reason]}: {', '.join(named)}"
                    events.add("routing", decision, column=table.names[gate], detail=detail)


def _with_answers(table: CodedTable, answers: Values, where: NDArray[np.bool_]) -> CodedTable:
    """Return the table with some missing cells answered."""
    states = table.states
    answered = states.answered | where
    new = type(states).from_masks(answered, states.skipped, states.names, states.reasons)
    return CodedTable(table.columns, np.where(where, answers, table.values), new)


def _part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Return the progress of one part of the work."""
    if progress is None:
        return None

    def tell(done: int, total: int, what: str) -> None:
        progress(round(1000 * (start + (end - start) * done / total)), 1000, what)

    return tell
