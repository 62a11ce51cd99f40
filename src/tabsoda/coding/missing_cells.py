"""The missing cells of a table that an engine can fill, and the loop over estimates and draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import row_keys
from tabsoda.imputed_cells import ImputedCells, Keep
from tabsoda.progress import Progress, StageProgress
from tabsoda.table import CodedTable

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MissingCells:
    """The cells of a table that are filled: by a constant of their column, or by a model.

    Attributes
    ----------
    table : CodedTable
    rows, positions : ndarray of int64, shape (n_cells,)
    constants : ndarray of float64, shape (n_cells,)
        The constant of each cell's column; NaN where a model fills it.
    open_rows : ndarray of int64, shape (n_open,)
        The rows in which a model fills a cell.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in ("age", "wave", "empty"))
    >>> values = np.array([[np.nan, 1.0, np.nan], [50.0, np.nan, np.nan]])
    >>> table = CodedTable.from_values(columns, values)
    >>> cells = MissingCells.of(table, np.array([0]), np.array([np.nan, 1.0, np.nan]))
    >>> cells.rows.tolist(), cells.positions.tolist(), cells.open_rows.tolist()
    ([0, 1], [0, 1], [0])
    >>> cells.complete(np.array([[41.0, 1.0, np.nan]]))
    array([[41.,  1., nan],
           [50.,  1., nan]])
    """

    table: CodedTable
    rows: NDArray[np.int64]
    positions: NDArray[np.int64]
    constants: Values
    open_rows: NDArray[np.int64]

    @classmethod
    def of(
        cls, table: CodedTable, modelled: NDArray[np.int64 | np.bool_], constants: Values
    ) -> MissingCells:
        """Find the cells of a table.

        Parameters
        ----------
        table : CodedTable
            With d columns.
        modelled : ndarray
            The columns that a model fills, as positions or as a mask.
        constants : ndarray of float64, shape (d,)
            The value for missing cells of the other columns; NaN: they stay missing.
        """
        missing = table.states.missing
        fillable = ~np.isnan(constants)
        fillable[modelled] = True
        rows, positions = np.nonzero(missing & fillable)
        open_rows = np.flatnonzero(missing[:, modelled].any(axis=1))
        return cls(table, rows, positions, constants[positions], open_rows)

    def open_part(self, keys: NDArray[np.int64] | None) -> tuple[CodedTable, NDArray[np.int64]]:
        """Return the open rows and their keys: those given for the table, or the rows' own."""
        if keys is None:
            keys = row_keys(self.table.values, self.table.states.states)
        return self.table.rows(self.open_rows), keys[self.open_rows]

    def without_model(self, n_draws: int) -> ImputedCells:
        """Return the constants as the point estimates and as every draw."""
        draws = np.tile(self.constants, (n_draws, 1))
        return ImputedCells(self.rows, self.positions, draws, self.constants, self.constants)

    def impute(
        self,
        n_draws: int,
        points: Callable[[StageProgress], tuple[Values, Values]],
        draw: Callable[[int, StageProgress], Values],
        keep: Keep,
        progress: Progress | None,
    ) -> ImputedCells:
        """Estimate the cells, and draw them ``n_draws`` times.

        Parameters
        ----------
        n_draws : int
        points : callable
            Called as ``points(progress)``; returns the point estimates by mode and by median, each
            of shape (n_open, d).
        draw : callable
            Called as ``draw(number, progress)`` for draws 1, 2, ...; returns shape (n_open, d).
        keep : Keep
        progress : callable, optional
        """
        place = np.full(self.table.shape[0], -1)
        place[self.open_rows] = np.arange(self.open_rows.size)
        # Rows whose only missing cells are in constant columns need no prediction.
        is_open = place[self.rows] >= 0

        def cells_of(values: Values) -> Values:
            cells = self.constants.copy()
            cells[is_open] = values[place[self.rows[is_open]], self.positions[is_open]]
            return cells

        def update(number: int, done: int, total: int) -> None:
            if progress is not None:
                what = f"draw {number} of {n_draws}" if number else "point estimate"
                progress(round(1000 * (number + done / total) / (1 + n_draws)), 1000, what)

        def estimate() -> Values:
            return np.stack([cells_of(values) for values in points(partial(update, 0))])

        def draw_cells(number: int) -> Values:
            return cells_of(draw(number, partial(update, number)))

        mode, median = keep("point", estimate)
        update(0, 1, 1)
        draws = np.empty((n_draws, self.rows.size))
        for number in range(1, n_draws + 1):
            draws[number - 1] = keep(f"draw {number}", partial(draw_cells, number))
            update(number, 1, 1)
        return ImputedCells(self.rows, self.positions, draws, mode, median)

    def complete(self, predicted: Values | None = None) -> Values:
        """Return the table's values with its missing cells filled, shape (n_rows, d).

        Parameters
        ----------
        predicted : ndarray of float64, shape (n_open, d), optional
            The values of the open rows. Without it, only constants are filled in.
        """
        values = np.where(self.table.states.skipped, np.nan, self.table.values)
        values[self.rows, self.positions] = self.constants
        if predicted is not None:
            fill = self.table.states.missing[self.open_rows] & ~np.isnan(predicted)
            values[self.open_rows] = np.where(fill, predicted, values[self.open_rows])
        return values
