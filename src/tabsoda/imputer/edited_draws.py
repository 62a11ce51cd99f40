"""Applies edits to imputed cells: repairs every draw and both point estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import keyed_uniforms, stream_key
from tabsoda.coding.engine import Engine
from tabsoda.edits.edit_set import EditSet
from tabsoda.edits.record import EditRecord
from tabsoda.edits.repair import Redraw, Repaired, Repairer, Scores, same_groups
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells
from tabsoda.imputer.rerouting import Fill, Rerouter
from tabsoda.routing.routes import gate_routes
from tabsoda.skips.rule_set import RuleSet
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Levels with a smaller probability are equally improbable.
_SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class EditedDraws:
    """Makes imputed cells satisfy the edits of a survey.

    Attributes
    ----------
    edits : EditSet
    engine : Engine
    table : CodedTable
        The table that was imputed.
    keys : ndarray of int64, shape (n_rows,)
        Keys of the rows' random numbers.
    rules : RuleSet or None
        Rules that draws follow; the route of a gate is not changed.
    policy : {"missing", "unconstrained"}
        What to do with cells that cannot satisfy an edit.
    """

    edits: EditSet
    engine: Engine
    table: CodedTable
    keys: NDArray[np.int64]
    rules: RuleSet | None
    policy: str

    def apply(self, cells: ImputedCells, events: EventLog) -> tuple[ImputedCells, EditRecord]:
        """Return the cells with every draw and both estimates repaired, and counts."""
        imputed = np.zeros(self.table.shape, dtype=bool)
        imputed[cells.rows, cells.positions] = True
        outcome = _Outcome(np.zeros((self.table.shape[0], len(self.edits.constraints)), dtype=bool))
        repaired = np.empty((cells.draws.shape[0] + 2, cells.rows.size))
        without = np.zeros(cells.rows.size, dtype=bool)
        for place, drawn in enumerate([cells.mode, cells.median, *cells.draws]):
            values = self.table.values.copy()
            values[cells.rows, cells.positions] = drawn
            found = self._repaired(values, imputed, place - 1)
            outcome.add(found.before, found.after, self.edits, in_point=place < 2)
            repaired[place] = found.values[cells.rows, cells.positions]
            blank = np.isnan(found.values) & ~self._skipped(found.values, values, imputed)
            if self.policy == "missing":
                blank |= self._to_leave(found, imputed)
            without |= blank[cells.rows, cells.positions]
        return self._finished(cells, repaired, without, outcome, events)

    def _repaired(self, values: Values, imputed: Mask, number: int) -> Repaired:
        """Repair one table: draw ``number``, or the mean (-1) or median (0) estimate."""
        routes = {} if self.rules is None else gate_routes(self.rules, self.table)
        groups = {position: one.of_values for position, one in routes.items()}
        scores = self._scores(imputed, number)
        repairer = Repairer(self.edits, imputed, frozenset(routes), same_groups(groups), scores)
        found = repairer.repair(values, self._redraw(imputed, number) if number > 0 else None)
        left = np.flatnonzero(found.after.any(axis=1))
        if self.rules is None or not left.size:
            return found
        implicated = repairer.implicated(found.after[left], found.values[left], left)
        left = left[implicated[:, sorted(routes)].any(axis=1)]
        unbound = Repairer(self.edits, imputed, scores=scores)
        free = Rerouter(self.table, self.rules, unbound, tuple(routes))
        rerouted = free.reroute(found.values, left, self._fill(number)) if left.size else left
        found.after[rerouted] = False
        return found

    def _fill(self, number: int) -> Fill:
        """Return a function that imputes the missing cells of some rows."""

        def fill(rows: NDArray[np.int64], part: CodedTable) -> Values:
            if number > 0:
                return self.engine.draw(part, number, self.keys[rows])
            cells = self.engine.impute(part, keys=self.keys[rows])
            values = part.values.copy()
            values[cells.rows, cells.positions] = cells.median if number == 0 else cells.mode
            return values

        return fill

    def _finished(
        self,
        cells: ImputedCells,
        repaired: Values,
        without: Mask,
        outcome: _Outcome,
        events: EventLog,
    ) -> tuple[ImputedCells, EditRecord]:
        """Leave out the cells that stay missing, in all tables alike, and count."""
        kept = ~without
        names = [self.table.names[at] for at in cells.positions[without]]
        observed = self.edits.violated(self.edits.named(self.table.values)).sum(axis=0)
        titles = [one.title for one in self.edits.constraints]
        record = EditRecord(
            self.policy,
            cells.draws.shape[0],
            _counted(titles, observed),
            dict(outcome.repaired),
            dict(outcome.repaired_in_point),
            _counted(titles, outcome.unsatisfied.sum(axis=0)),
            dict(Counter(names)),
        )
        log_edits(record, events)
        return (
            ImputedCells(
                cells.rows[kept],
                cells.positions[kept],
                repaired[2:, kept],
                repaired[0, kept],
                repaired[1, kept],
            ),
            record,
        )

    def _skipped(self, values: Values, drawn: Values, imputed: Mask) -> Mask:
        """Return the cells that are skipped in this table: as drawn, or by a gate changed since."""
        skipped = self.table.states.skipped | (imputed & np.isnan(drawn))
        targets = set() if self.rules is None else {rule.target for rule in self.rules.active}
        for name in targets - set(self.edits.derived):
            place = self.table.names.index(name)
            skipped[:, place] |= imputed[:, place] & np.isnan(values[:, place])
        for name, formula in self.edits.derived.items():
            parts = [self.edits.place[part] for part in formula.parts]
            skipped[:, self.edits.place[name]] |= skipped[:, parts].any(axis=1)
        return skipped

    def _to_leave(self, found: Repaired, imputed: Mask) -> Mask:
        """Return the cells to leave missing: gates only if nothing else can be left."""
        everybody = np.arange(self.table.shape[0])
        cells = Repairer(self.edits, imputed).implicated(found.after, found.values, everybody)
        gates = np.zeros(cells.shape[1], dtype=bool)
        if self.rules is not None:
            gates[list(gate_routes(self.rules, self.table))] = True
        others = cells & ~gates
        leave = np.where(others.any(axis=1, keepdims=True), others, cells)
        for name, formula in self.edits.derived.items():
            parts = [self.edits.place[part] for part in formula.parts]
            leave[:, self.edits.place[name]] |= leave[:, parts].any(axis=1)
        return leave & imputed

    def _redraw(self, imputed: Mask, number: int) -> Redraw:
        """Return a function that draws cells again, with random numbers for each attempt."""

        def redraw(
            rows: NDArray[np.int64], values: Values, open_cells: Mask, attempt: int
        ) -> Values:
            again = self._reopened(rows, values, imputed[rows], open_cells)
            keys = self.keys[rows] ^ np.int64(stream_key(0, "edit attempt", attempt))
            return self.engine.draw(again, number, keys)

        return redraw

    def _scores(self, imputed: Mask, number: int) -> Scores:
        """Return a function that scores the levels of nominal cells for each respondent.

        The level with the best score is the most probable one in point estimates; in draws, scores
        have Gumbel noise, so that the best of any set of levels is drawn with its probability.
        """

        def scores(
            rows: NDArray[np.int64], values: Values, open_cells: Mask
        ) -> Mapping[int, Values]:
            again = self._reopened(rows, values, imputed[rows], open_cells)
            found = {}
            for place, odds in self.engine.level_probabilities(again, self.keys[rows]).items():
                found[place] = np.log(np.maximum(odds, _SMALLEST))
                if number > 0:
                    found[place] += self._gumbel(rows, number, place, odds.shape[1])
            return found

        return scores

    def _gumbel(self, rows: NDArray[np.int64], number: int, place: int, n_levels: int) -> Values:
        noise = [
            keyed_uniforms(self.keys[rows], self.engine.seed, "edited level", number, place, level)
            for level in range(n_levels)
        ]
        return -np.log(-np.log(np.column_stack(noise)))

    def _reopened(
        self, rows: NDArray[np.int64], values: Values, imputed: Mask, open_cells: Mask
    ) -> CodedTable:
        """Return rows of a completed table in which some cells are missing again."""
        skipped = self.table.states.skipped[rows] | (imputed & np.isnan(values))
        answered = ~np.isnan(values) & ~open_cells
        part = CellStates.from_masks(
            answered, skipped & ~open_cells, self.table.names, self.table.states.reasons[rows]
        )
        return CodedTable(self.table.columns, np.where(answered, values, np.nan), part)


@dataclass(eq=False)
class _Outcome:
    """Counts over the tables repaired so far."""

    unsatisfied: Mask
    repaired: Counter[str] = field(default_factory=Counter)
    repaired_in_point: Counter[str] = field(default_factory=Counter)

    def add(self, before: Mask, after: Mask, edits: EditSet, *, in_point: bool) -> None:
        counts = self.repaired_in_point if in_point else self.repaired
        for constraint, n in zip(edits.constraints, (before & ~after).sum(axis=0), strict=True):
            if n:
                counts[constraint.title] += int(n)
        self.unsatisfied |= after


def _counted(titles: list[str], counts: NDArray[np.int64]) -> dict[str, int]:
    return {title: int(n) for title, n in zip(titles, counts, strict=True) if n}


def log_edits(record: EditRecord, events: EventLog) -> None:
    """Record what the edits decided."""
    for title, rows in record.observed.items():
        events.add("edit_violated_by_answers", edit=title, rows=rows)
    if record.repaired or record.repaired_in_point:
        events.add(
            "imputed_cells_edited",
            per_draw=record.mean_repaired,
            in_point=sum(record.repaired_in_point.values()),
            edits=len(record.repaired | record.repaired_in_point),
        )
    for title, rows in record.unsatisfied.items():
        events.add("edit_not_satisfied", edit=title, rows=rows, policy=record.policy)
    for column, cells in record.left_missing.items():
        events.add("cells_left_missing_by_edits", column=column, cells=cells)
