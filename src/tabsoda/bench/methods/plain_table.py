"""A table without skips, for models that only handle answers and blanks."""

from __future__ import annotations

import numpy as np

from tabsoda.bench.methods.contract import SkipView, without_skips
from tabsoda.bench.methods.skip_views import skip_constants, skip_flags
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable


def plain_table(table: CodedTable, skip_view: SkipView) -> CodedTable:
    """Represent skips for a model that does not support them.

    ``BLIND``: they are blanks. ``LEVEL``: a categorical question gets one more level at the end,
    the answer of skipped cells; a skipped number is a constant, the same as for every other method
    (:func:`~tabsoda.bench.methods.skip_views.skip_constants`), and an added yes/no column marks the
    skips.

    Parameters
    ----------
    table : CodedTable
    skip_view : SkipView

    Returns
    -------
    CodedTable
        The same columns in the same order, then the added ones; no cell is skipped. A cell that
        was missing still is, so it differs from a skipped one.

    Examples
    --------
    >>> column = Column("per_day", ColumnKind.NOMINAL, ("few", "many"))
    >>> table = CodedTable.from_values(
    ...     (column,), np.array([[0.0], [1.0], [np.nan]]), np.array([[False], [False], [True]]))
    >>> plain_table(table, SkipView.LEVEL).values.ravel().tolist()
    [0.0, 1.0, 2.0]
    """
    skipped = table.states.skipped
    if SkipView(skip_view) is SkipView.BLIND or not skipped.any():
        return without_skips(table)
    columns = list(table.columns)
    values = np.where(table.states.answered, table.values, np.nan)
    constants, flags = skip_constants(table), skip_flags(table)
    for position in np.flatnonzero(skipped.any(axis=0)).tolist():
        column, here = table.columns[position], skipped[:, position]
        values[here, position] = constants[position]
        if column.is_categorical:
            # The extra level has no position in an order.
            levels = tuple(range(column.n_levels + 1))
            columns[position] = Column(column.name, ColumnKind.NOMINAL, levels)
            values[here, position] = column.n_levels
    for position in flags.tolist():
        name = f"{table.columns[position].name} skipped"
        columns.append(Column(name, ColumnKind.NOMINAL, (0, 1)))
    return CodedTable.from_values(tuple(columns), np.column_stack([values, skipped[:, flags]]))
