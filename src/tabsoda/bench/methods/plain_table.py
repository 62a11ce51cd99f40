"""A table without skips, as a model sees it that knows answers and blanks alone."""

from __future__ import annotations

import numpy as np

from tabsoda.bench.methods.contract import SkipView, without_skips
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable


def plain_table(table: CodedTable, skip_view: SkipView) -> CodedTable:
    """Show skips to a model that knows none.

    ``BLIND``: they are blanks. ``LEVEL``: a categorical question gets one more level, in last
    place, which skipped cells answer; a number stays blank where it was skipped, and a yes/no
    column behind the others says that it was.

    Parameters
    ----------
    table : CodedTable
    skip_view : SkipView

    Returns
    -------
    CodedTable
        The same columns in the same places, then the added ones; nothing is skipped. A cell that
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
    for position in np.flatnonzero(skipped.any(axis=0)).tolist():
        column, here = table.columns[position], skipped[:, position]
        if column.is_categorical:
            # The extra level has no place in an order.
            levels = tuple(range(column.n_levels + 1))
            columns[position] = Column(column.name, ColumnKind.NOMINAL, levels)
            values[here, position] = column.n_levels
        else:
            columns.append(Column(f"{column.name} skipped", ColumnKind.NOMINAL, (0, 1)))
            values = np.column_stack([values, here.astype(np.float64)])
    return CodedTable.from_values(tuple(columns), values)
