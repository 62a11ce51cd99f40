"""Turn a table with skips into predictors for methods without skip support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.contract import SkipView, without_skips
from tabsoda.bench.methods.point_estimates import center
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]


def as_shown(table: CodedTable, skip_view: SkipView) -> CodedTable:
    """Return the table without skips if the view is blind, else unchanged."""
    return without_skips(table) if skip_view is SkipView.BLIND else table


def skip_constants(table: CodedTable) -> Numbers:
    """Return the value that stands in a number's skipped cells, shape (n_columns,).

    The same for every method that is shown skips as a level, each of which also gets a flag: the
    mean of the answers, so that the constant neither stretches the scale of a network's input nor
    draws averages away from the answers; 0 if there are none. NaN for categorical questions, whose
    skips are a level.

    Examples
    --------
    >>> from tabsoda.schema import Column
    >>> columns = Column("days", ColumnKind.CONTINUOUS), Column("q", ColumnKind.NOMINAL, ("a", "b"))
    >>> values = np.array([[2.0, 0.0], [6.0, 1.0], [np.nan, 0.0]])
    >>> skip_constants(CodedTable.from_values(columns, values, np.isnan(values))).tolist()
    [4.0, nan]
    """
    categorical = [column.is_categorical for column in table.columns]
    return np.where(categorical, np.nan, _means(table))


def skip_flags(table: CodedTable) -> NDArray[np.intp]:
    """Return the numbers with skipped cells: the positions of the columns that need a flag."""
    categorical = np.array([column.is_categorical for column in table.columns], dtype=bool)
    return np.flatnonzero(table.states.skipped.any(axis=0) & ~categorical)


def _means(table: CodedTable) -> Numbers:
    return np.array(
        [center(column) for column in np.where(table.states.answered, table.values, np.nan).T]
    )


def tree_values(table: CodedTable) -> Numbers:
    """Return the predictors for trees that take NaN; shape (n_rows, n_columns + n_flags).

    Missing cells are NaN. A skip is one more level: the last one of a nominal question, one below
    the others of an ordinal one. A skipped number is a constant (:func:`skip_constants`), with a
    flag in an added column, in the order of :func:`skip_flags`.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns = (Column("a", ColumnKind.NOMINAL, levels=(1, 2)),
    ...            Column("b", ColumnKind.ORDINAL, levels=(1, 2, 3)),
    ...            Column("c", ColumnKind.CONTINUOUS))
    >>> skipped = np.array([[False] * 3, [True] * 3])
    >>> values = np.array([[0.0, 2.0, 7.0], [np.nan] * 3])
    >>> tree_values(CodedTable.from_values(columns, values, skipped)).tolist()
    [[0.0, 2.0, 7.0, 0.0], [2.0, -1.0, 7.0, 1.0]]
    """
    values, skipped = table.values.copy(), table.states.skipped
    constants = skip_constants(table)
    for position, column in enumerate(table.columns):
        if column.kind is ColumnKind.NOMINAL:
            constants[position] = column.n_levels
        elif column.kind is ColumnKind.ORDINAL:
            constants[position] = -1.0
        values[skipped[:, position], position] = constants[position]
    return np.column_stack([values, skipped[:, skip_flags(table)]])


@dataclass(frozen=True, eq=False)
class Predictors:
    """A filled table as a plain matrix, and which columns of it belong to which question.

    Attributes
    ----------
    matrix : ndarray of float64, shape (n_rows, n_predictors)
    column_of : ndarray of int64, shape (n_predictors,)
        The question each predictor comes from.
    """

    matrix: Numbers
    column_of: NDArray[np.int64]

    def without(self, position: int) -> Numbers:
        """Return the predictors of one question: those of all others."""
        return self.matrix[:, self.column_of != position]


@dataclass(frozen=True, eq=False)
class PredictorForm:
    """Turns filled values into predictors; used again whenever the fill changes.

    A nominal question with three or more levels becomes an indicator per level except the first (or
    stays one number when it has more than ``max_indicators`` levels). Numbers and ordinals stay
    one number, with a constant where skipped. Questions with skips add an indicator of the skip.

    Attributes
    ----------
    table : CodedTable
        As shown; see :func:`as_shown`.
    constants : ndarray of float64, shape (n_columns,)
        The values of skipped cells.
    max_indicators : int

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns = (Column("a", ColumnKind.NOMINAL, levels=(1, 2, 3)),
    ...            Column("b", ColumnKind.CONTINUOUS))
    >>> skipped = np.array([[False, False], [False, True]])
    >>> table = CodedTable.from_values(columns, np.array([[2.0, 7.0], [1.0, np.nan]]), skipped)
    >>> predictors = PredictorForm(table, np.array([0.0, 7.0])).of(table.values)
    >>> predictors.matrix.tolist(), predictors.column_of.tolist()
    ([[0.0, 1.0, 7.0, 0.0], [1.0, 0.0, 7.0, 1.0]], [0, 0, 1, 1])
    """

    table: CodedTable
    constants: Numbers
    max_indicators: int = 16

    @classmethod
    def of_table(cls, table: CodedTable) -> PredictorForm:
        """Build the form of a table: skipped numbers and ordinals at the mean of their answers."""
        return cls(table, _means(table))

    def of(self, filled: Numbers) -> Predictors:
        """Return the predictors of a table whose missing cells are filled."""
        blocks = [self.block(filled[:, p], p) for p in range(len(self.table.columns))]
        widths = [block.shape[1] for block in blocks]
        return Predictors(np.concatenate(blocks, axis=1), np.repeat(np.arange(len(blocks)), widths))

    def block(self, values: Numbers, position: int) -> Numbers:
        """Return one question's predictors; shape (n_rows, width), with a fixed width."""
        column, skipped = self.table.columns[position], self.table.states.skipped[:, position]
        nominal = column.kind is ColumnKind.NOMINAL
        if nominal and 2 < column.n_levels <= self.max_indicators:
            block = (values[:, None] == np.arange(1, column.n_levels)).astype(np.float64)
            block[skipped] = 0.0
        else:
            block = np.where(skipped, self.constants[position], values)[:, None]
        if skipped.any():
            block = np.column_stack([block, skipped])
        return block
