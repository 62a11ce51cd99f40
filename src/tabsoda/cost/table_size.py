"""The size of a table, for estimates of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

Floats = NDArray[np.float64]
# Maximum number of levels of a nominal question in a regression.
_MOST_INDICATORS = 15


def count_coordinates(columns: Sequence[Column]) -> int:
    """Count the coordinates of the columns as analog bits; numbers have one.

    Examples
    --------
    >>> region = Column("region", ColumnKind.NOMINAL, (1, 2, 3, 4))
    >>> count_coordinates([region, Column("age", ColumnKind.CONTINUOUS)])
    3
    """
    return sum(
        max(1, (column.n_levels - 1).bit_length()) if column.is_categorical else 1
        for column in columns
    )


@dataclass(frozen=True, eq=False)
class TableSize:
    """The properties of a table that the work depends on.

    Attributes
    ----------
    rows, coordinates, incomplete_rows : int
    answered, missing : ndarray of float64, shape (n_columns,)
        Cells of each column.
    levels : ndarray of float64, shape (n_columns,)
        0 for numbers.
    widths : ndarray of float64, shape (n_columns,)
        Number of predictors of a column in a regression.
    classes : ndarray of float64, shape (n_columns,)
        Linear predictors of a column's regression: one, or one per level of a nominal.
    """

    rows: int
    coordinates: int
    incomplete_rows: int
    answered: Floats
    missing: Floats
    levels: Floats
    widths: Floats
    classes: Floats

    @classmethod
    def of(cls, table: CodedTable) -> TableSize:
        """Count a table.

        Examples
        --------
        >>> from tabsoda.schema import Column
        >>> columns = (Column("a", ColumnKind.NOMINAL, (1, 2, 3)), Column("b", ColumnKind.ORDINAL,
        ...            (1, 2)))
        >>> size = TableSize.of(CodedTable.from_values(columns, np.array([[0, 1], [2, np.nan]])))
        >>> size.coordinates, size.missing.tolist(), size.widths.tolist(), size.classes.tolist()
        (3, [0.0, 1.0], [2.0, 1.0], [3.0, 1.0])
        """
        states = table.states
        levels = np.array([c.n_levels if c.is_categorical else 0 for c in table.columns], float)
        nominal = np.array([c.kind is ColumnKind.NOMINAL for c in table.columns]) & (levels > 2)
        indicators = np.where(nominal, np.minimum(levels - 1, _MOST_INDICATORS), 1.0)
        return cls(
            rows=table.shape[0],
            coordinates=count_coordinates(table.columns),
            incomplete_rows=int(states.missing.any(axis=1).sum()),
            answered=states.answered.sum(axis=0).astype(float),
            missing=states.missing.sum(axis=0).astype(float),
            levels=levels,
            widths=indicators + states.skipped.any(axis=0),
            classes=np.where(nominal, levels, 1.0),
        )

    @property
    def columns(self) -> int:
        """Number of columns."""
        return self.levels.size

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    @property
    def n_missing(self) -> float:
        """Number of cells to impute."""
        return float(self.missing.sum())

    @property
    def probabilities(self) -> float:
        """Numbers per row of an array of the probabilities of all levels of all columns."""
        categorical = np.count_nonzero(self.levels)
        return float(categorical * max(self.levels.max(initial=1), 1))

    def held_out(self, share: float) -> tuple[float, float]:
        """Return about how many cells a share of the answers is, and how many rows have one."""
        cells = share * self.answered.sum()
        per_row = self.answered.sum() / max(self.rows, 1)
        return float(cells), float(self.rows * (1 - (1 - share) ** per_row))
