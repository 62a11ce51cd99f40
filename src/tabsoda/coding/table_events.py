"""Events about rows and answers that need special treatment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.table import CodedTable


def log_empty_rows(table: CodedTable, events: EventLog) -> None:
    """Add one event with the number of rows that have missing cells but no answer.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> values = np.array([[3.0], [np.nan], [4.0]])
    >>> log = EventLog()
    >>> log_empty_rows(CodedTable.from_values((Column("a", ColumnKind.CONTINUOUS),), values), log)
    >>> [dict(event.counts) for event in log]
    [{'rows': 1, 'of_rows': 3}]
    """
    states = table.states
    empty = int((states.missing.any(axis=1) & ~states.answered.any(axis=1)).sum())
    if empty:
        events.add("rows_without_answers", rows=empty, of_rows=table.shape[0])


def log_no_skips(table: CodedTable, events: EventLog) -> None:
    """Add an event if cells are missing and none is known to be a skip.

    Otherwise the skips of a questionnaire without rules would be imputed silently.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns, values = (Column("a", ColumnKind.CONTINUOUS),), np.array([[3.0], [np.nan]])
    >>> log = EventLog()
    >>> log_no_skips(CodedTable.from_values(columns, values), log)
    >>> next(iter(log)).kind
    'every_blank_taken_as_missing'
    >>> log_no_skips(CodedTable.from_values(columns, values, np.array([[False], [True]])), log)
    >>> len(log.events)
    1
    """
    if table.states.missing.any() and not table.states.skipped.any():
        events.add("every_blank_taken_as_missing")


def log_clipped_answers(
    table: CodedTable,
    columns: NDArray[np.int64],
    counts: NDArray[np.int64],
    events: EventLog,
) -> None:
    """Add an event for each column with answers that are clipped in the input of the model.

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
            name = table.names[position]
            events.add("answers_clipped_for_network", column=name, answers=int(count))
