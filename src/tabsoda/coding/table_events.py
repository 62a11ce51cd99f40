"""Events about rows and answers that an engine cannot take as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.table import CodedTable


def log_empty_rows(table: CodedTable, events: EventLog) -> None:
    """Add one event with the number of rows that have something to impute and no answer at all.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> values = np.array([[3.0], [np.nan], [4.0]])
    >>> log = EventLog()
    >>> log_empty_rows(CodedTable.from_values((Column("a", ColumnKind.CONTINUOUS),), values), log)
    >>> next(iter(log)).detail
    '1 of 3 rows; their cells are imputed from what is common in the whole table'
    """
    states = table.states
    empty = int((states.missing.any(axis=1) & ~states.answered.any(axis=1)).sum())
    if empty:
        detail = (
            f"{empty} of {table.shape[0]} rows; their cells are imputed from what is common in "
            "the whole table"
        )
        events.add("impute", "rows without any answer", detail=detail)


def log_no_skips(table: CodedTable, events: EventLog) -> None:
    """Add an event where something is missing and nothing is known to be a skip.

    Otherwise the skips of a questionnaire without rules would be imputed silently.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns, values = (Column("a", ColumnKind.CONTINUOUS),), np.array([[3.0], [np.nan]])
    >>> log = EventLog()
    >>> log_no_skips(CodedTable.from_values(columns, values), log)
    >>> next(iter(log)).decision
    'every blank taken for missing'
    >>> log_no_skips(CodedTable.from_values(columns, values, np.array([[False], [True]])), log)
    >>> len(log.events)
    1
    """
    if table.states.missing.any() and not table.states.skipped.any():
        detail = "no rule, mask or code marks a cell as skipped; see tabsoda mine, or skips='mine'"
        events.add("skips", "every blank taken for missing", detail=detail)


def log_clipped_answers(
    table: CodedTable,
    columns: NDArray[np.int64],
    counts: NDArray[np.int64],
    events: EventLog,
) -> None:
    """Add an event for each column with answers so extreme that the model sees nearer ones.

    Parameters
    ----------
    table : CodedTable
    columns : ndarray of int64, shape (k,)
        Positions of continuous columns.
    counts : ndarray of int64, shape (k,)
        Their answers outside the fitted range.
    events : EventLog
    """
    for position, count in zip(columns, counts, strict=True):
        if count:
            detail = f"{count} answers, far from those fitted; in the result they stay as they are"
            decision = "answers clipped for the network"
            events.add("impute", decision, column=table.names[position], detail=detail)
