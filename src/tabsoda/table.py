"""The table that every stage after reading uses: answers as numbers, and cell states.

Needs only numpy, so that the engine runs without a data-frame library.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.schema.column import Column
from tabsoda.states.cell_states import CellStates


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Answers as numbers: a level's position for categorical questions, the value for others.

    Attributes
    ----------
    columns : tuple of Column
        The questions, in questionnaire order.
    values : ndarray of float64, shape (n_rows, n_columns)
        0 .. K-1 for a categorical answer (its position in ``Column.levels``), the number for a
        continuous one, NaN wherever the cell is not answered. Read-only.
    states : CellStates

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> gate = Column("smokes", ColumnKind.NOMINAL, levels=("yes", "no"))
    >>> table = CodedTable.from_values((gate,), np.array([[0.0], [1.0], [np.nan]]))
    >>> table.states.missing[:, 0].tolist()
    [False, False, True]
    """

    columns: tuple[Column, ...]
    values: NDArray[np.float64]
    states: CellStates

    def __post_init__(self) -> None:
        if self.values.shape != self.states.shape or self.values.shape[1] != len(self.columns):
            raise InputError(
                "The values do not fit the description and the states",
                found=f"values {self.values.shape}, states {self.states.shape}",
                expected=f"{len(self.columns)} columns in both",
            )
        answered = self.states.answered
        for position, column in enumerate(self.columns):
            answers = self.values[answered[:, position], position]
            if not np.isfinite(answers).all():
                raise InputError(
                    "contains an answer that is not a finite number",
                    column=column.name,
                    found=f"{int((~np.isfinite(answers)).sum())} such cells",
                    expected="finite numbers, or a blank",
                    next_step="Replace infinities, or list them as a missing code",
                )
            if column.is_categorical and answers.size:
                whole = (answers == np.floor(answers)).all()
                if not whole or answers.min() < 0 or answers.max() >= column.n_levels:
                    raise InputError(
                        "contains an answer outside its levels",
                        column=column.name,
                        found=f"positions {answers.min():g} to {answers.max():g}",
                        expected=f"0 to {column.n_levels - 1}",
                    )
        if not np.isnan(self.values[~answered]).all():
            cleaned = self.values.copy()
            cleaned[~answered] = np.nan
            object.__setattr__(self, "values", cleaned)
        self.values.setflags(write=False)

    @classmethod
    def from_values(
        cls,
        columns: tuple[Column, ...],
        values: NDArray[np.float64],
        skipped: NDArray[np.bool_] | None = None,
    ) -> CodedTable:
        """Build a table in which NaN means no answer; ``skipped`` marks the skips among them."""
        values = np.array(values, dtype=np.float64)
        answered = ~np.isnan(values)
        skips = np.zeros_like(answered) if skipped is None else skipped
        names = tuple(column.name for column in columns)
        return cls(tuple(columns), values, CellStates.from_masks(answered, skips, names))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.states.shape

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return self.states.names

    def with_states(self, states: CellStates) -> CodedTable:
        """Return the same answers with other states; cells no longer answered become NaN."""
        return CodedTable(self.columns, self.values.copy(), states)

    def select(self, names: tuple[str, ...]) -> CodedTable:
        """Keep the named columns, in the order given."""
        positions = [self.names.index(name) for name in names]
        return CodedTable(
            tuple(self.columns[p] for p in positions),
            self.values[:, positions].copy(),
            self.states.select(tuple(names)),
        )

    def rows(self, index: NDArray[np.intp]) -> CodedTable:
        """Keep the given rows, in the order given."""
        return CodedTable(self.columns, self.values[index].copy(), self.states.rows(index))
