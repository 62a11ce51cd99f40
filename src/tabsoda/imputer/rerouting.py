"""Changes the drawn answer of a gate where no answer on its route satisfies the edits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.repair import Repairer
from tabsoda.routing.routes import sorted_descendants
from tabsoda.skips.forward import route, was_asked
from tabsoda.skips.rule_set import RuleSet
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Imputes the missing cells of some rows: fill(rows, table) -> values, shape (n, d).
Fill = Callable[[NDArray[np.int64], CodedTable], Values]
# A question that a changed gate skips may be a gate itself.
_DEEPEST = 10


@dataclass(frozen=True, eq=False)
class Rerouter:
    """Moves gates to another route, with the questions that follow from it.

    Attributes
    ----------
    table : CodedTable
        The table that was imputed.
    rules : RuleSet
    repairer : Repairer
        Without restrictions on gates.
    gates : tuple of int
        Positions of the gates.
    """

    table: CodedTable
    rules: RuleSet
    repairer: Repairer
    gates: tuple[int, ...]

    def reroute(self, values: Values, rows: NDArray[np.int64], fill: Fill) -> NDArray[np.int64]:
        """Change gates in ``values`` where that satisfies all edits and breaks no rule.

        Parameters
        ----------
        values : ndarray of float64, shape (n_rows, n_columns)
            A completed table.
        rows : ndarray of int64
            Rows that violate an edit in which a gate was imputed.
        fill : callable

        Returns
        -------
        ndarray of int64
            The rows that were changed.
        """
        tried = self.repairer.replaced(values, rows)
        moved = np.zeros(self.table.shape, dtype=bool)
        for gate in self.gates:
            moved[rows, gate] = tried[rows, gate] != values[rows, gate]
        rows = rows[moved[rows].any(axis=1) & ~self.repairer.violations(tried[rows], rows).any(1)]
        if not rows.size:
            return rows
        open_cells = np.zeros((rows.size, self.table.shape[1]), dtype=bool)
        for gate, below in sorted_descendants(self.rules, self.table).items():
            open_cells[:, list(below)] |= moved[rows, [gate]][:, None]
        open_cells &= self.repairer.imputed[rows] & ~moved[rows]
        new = np.where(open_cells, np.nan, tried[rows])
        filled = fill(rows, self._followed(new, rows, open_cells))
        new = self._without_skips(np.where(open_cells, filled, new), rows, open_cells)
        new = self.repairer.derived(new, rows)
        fits = ~self.repairer.violations(new, rows).any(axis=1)
        fits &= self._broken(new, rows) <= self._broken(values[rows], rows)
        values[rows[fits]] = new[fits]
        return rows[fits]

    def _completed(self, values: Values, rows: NDArray[np.int64]) -> CodedTable:
        """Return rows with all values as answers."""
        states = self.table.states.rows(rows)
        answered = ~np.isnan(values)
        new = CellStates.from_masks(
            answered, states.skipped & ~answered, states.names, states.reasons
        )
        return CodedTable(self.table.columns, values.copy(), new)

    def _followed(self, values: Values, rows: NDArray[np.int64], open_cells: Mask) -> CodedTable:
        """Return rows in which open cells are skipped where a rule says so, and missing elsewhere.

        Other imputed cells without a value stay skipped, as drawn.
        """
        part = self._completed(values, rows)
        blank = np.isnan(values) & self.repairer.imputed[rows] & ~open_cells
        part = part.with_states(part.states.with_skips(part.states.skipped | blank))
        skipped = part.states.skipped | (route(self.rules, part).explained & open_cells)
        return part.with_states(part.states.with_skips(skipped))

    def _without_skips(self, values: Values, rows: NDArray[np.int64], open_cells: Mask) -> Values:
        """Blank the open cells that a rule skips, given all answers."""
        for _ in range(_DEEPEST):
            routing = route(self.rules, self._completed(values, rows))
            skipped = np.zeros(values.shape, dtype=bool)
            for rule in self.rules.active:
                target = self.table.names.index(rule.target)
                skipped[:, target] |= routing.fired[rule.identifier]
            now = skipped & open_cells & ~np.isnan(values)
            if not now.any():
                break
            values = np.where(now, np.nan, values)
        return values

    def _broken(self, values: Values, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the questions of each row that were asked although a rule skips them."""
        routing = route(self.rules, self._completed(values, rows))
        asked = was_asked(self.table.states)[rows] | ~np.isnan(values)
        broken = np.zeros(rows.size, dtype=np.int64)
        for rule in self.rules.active:
            target = self.table.names.index(rule.target)
            broken += routing.fired[rule.identifier] & asked[:, target]
        return broken
