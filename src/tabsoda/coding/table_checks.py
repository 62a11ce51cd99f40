"""Checks of a table before it is fitted or imputed: errors, and events about rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.coding.continuous import ContinuousCoder
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema.column import Column
from tabsoda.table import CodedTable

# The squares of larger numbers, summed over many rows, overflow.
_LARGEST = 1e100


def check_table(table: CodedTable) -> None:
    """Raise if the table is too small to fit, or a number is too large."""
    n_rows, n_columns = table.shape
    if n_rows < 2 or n_columns < 1:
        raise InputError(
            "The table is too small to fit a model",
            # scikit-learn's checks expect the words in brackets.
            found=f"{n_rows} rows (n_samples={n_rows}) and {n_columns} columns",
            expected="at least 2 rows and 1 column",
        )
    if not table.states.answered.any():
        raise InputError(
            "The table has no answered cell",
            next_step="Check that not every value is declared as a missing code",
        )
    with np.errstate(invalid="ignore"):
        huge = (np.abs(table.values) > _LARGEST).any(axis=0)
    if huge.any():
        position = int(np.flatnonzero(huge)[0])
        largest = float(np.nanmax(np.abs(table.values[:, position])))
        raise InputError(
            "contains a number that is too large",
            column=table.names[position],
            found=f"{largest:g} or its negative",
            expected=f"numbers of at most {_LARGEST:g}",
            next_step="Use larger units for the column, or list the number as a missing code",
        )


def check_columns(fitted: tuple[Column, ...], table: CodedTable) -> None:
    """Raise if a table's columns are not those that a model was fitted on."""
    for mine, theirs in zip(fitted, table.columns, strict=False):
        if (mine.name, mine.kind, mine.levels) != (theirs.name, theirs.kind, theirs.levels):
            raise InputError(
                "differs from the column the model was fitted on",
                column=theirs.name,
                found=f"{theirs.kind} with {theirs.n_levels} levels",
                expected=f"'{mine.name}', {mine.kind} with {mine.n_levels} levels",
                next_step="Use the same description for the new table as for the fit",
            )
    if len(fitted) != len(table.columns):
        raise InputError(
            "The table does not have the same number of columns as the model",
            found=str(len(table.columns)),
            expected=str(len(fitted)),
        )


def check_levels(
    values: NDArray[np.float64],
    usable: NDArray[np.bool_],
    n_levels: NDArray[np.int64],
    names: tuple[str, ...],
) -> None:
    """Raise if a usable categorical answer is a level that the encoding does not know.

    Parameters
    ----------
    values, usable : ndarray, shape (n, d)
    n_levels : ndarray of int64, shape (d,)
        0 for continuous columns, which are not checked.
    names : tuple of str
    """
    with np.errstate(invalid="ignore"):
        unknown = usable & (n_levels > 0) & ((values < 0) | (values >= n_levels))
    if unknown.any():
        row, position = np.argwhere(unknown)[0]
        raise InputError(
            "contains a level that the model does not know",
            column=names[position],
            found=f"position {values[row, position]:g} in row {row + 1}",
            expected=f"0 to {n_levels[position] - 1}",
            next_step="Describe the survey with the same levels as when the model was fitted",
        )


def checked_weights(weights: Any, table: CodedTable) -> NDArray[np.float64]:
    """Return the weights of the rows; raise if they are invalid."""
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "The sample weights are invalid",
            found=str(error),
            expected="numbers of at least 0, one of them above 0",
        ) from error
    if weights.shape != (table.shape[0],):
        raise InputError(
            "The sample weights do not match the table",
            found=f"shape {weights.shape}",
            expected=f"one weight for each of {table.shape[0]} rows",
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(
            "The sample weights are invalid",
            found="a weight that is negative or not a number, or only zeros",
            expected="numbers of at least 0, one of them above 0",
        )
    return weights


def log_empty_rows(table: CodedTable, events: EventLog) -> None:
    """Add one event with the number of rows that have missing cells but no answer.

    Examples
    --------
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
    coder: ContinuousCoder,
    events: EventLog,
) -> None:
    """Add an event for each column with answers that are clipped in the input of the model.

    Parameters
    ----------
    table : CodedTable
    columns : ndarray of int64, shape (k,)
        Positions of continuous columns.
    coder : ContinuousCoder
        Fitted to these columns.
    events : EventLog
    """
    counts = coder.clipped(table.values[:, columns]).sum(axis=0)
    for position, count in zip(columns, counts, strict=True):
        if count:
            name = table.names[position]
            events.add("answers_clipped_for_network", column=name, answers=int(count))
