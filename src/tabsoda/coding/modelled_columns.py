"""Columns that cannot be modelled: they are not encoded but filled with a constant or left empty.

Input: a table and its visible cells. Output: which columns are modelled, and a value for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

# A nominal whose answers are nearly all different is more likely an identifier than a question.
NEAR_UNIQUE_SHARE = 0.9
_NEAR_UNIQUE_MIN_ANSWERS = 20


@dataclass(frozen=True, eq=False)
class ModelledColumns:
    """Which columns are modelled, and the constant for the others.

    Attributes
    ----------
    modelled : ndarray of bool, shape (d,)
    constants : ndarray of float64, shape (d,)
        The one visible answer of a constant column; NaN for modelled columns and if nothing is
        visible (missing cells then stay missing).
    """

    modelled: NDArray[np.bool_]
    constants: NDArray[np.float64]


def find_modelled_columns(
    table: CodedTable, visible: NDArray[np.bool_], events: EventLog
) -> ModelledColumns:
    """Find the columns that cannot be modelled: fewer than two distinct visible answers.

    Parameters
    ----------
    table : CodedTable
    visible : ndarray of bool, shape (n, d)
    events : EventLog
        Gets one event for each, and ``"nominal_nearly_unique"`` for modelled columns that look
        like identifiers.

    Returns
    -------
    ModelledColumns

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> table = CodedTable.from_values((Column("wave", ColumnKind.CONTINUOUS),),
    ...                                np.array([[3.0], [np.nan], [3.0]]))
    >>> log = EventLog()
    >>> find_modelled_columns(table, table.states.answered, log).constants.tolist()
    [3.0]
    >>> [(event.kind, event.counts["answer"]) for event in log]
    [('constant_column_not_modelled', '3')]
    """
    constants = np.full(table.shape[1], np.nan)
    modelled = np.ones(table.shape[1], dtype=bool)
    for position, column in enumerate(table.columns):
        seen = visible[:, position]
        distinct = np.unique(table.values[seen, position])
        if distinct.size > 1:
            alike = NEAR_UNIQUE_SHARE * max(int(seen.sum()), _NEAR_UNIQUE_MIN_ANSWERS)
            if column.is_categorical and distinct.size > alike:
                events.add(
                    "nominal_nearly_unique",
                    column=column.name,
                    different=distinct.size,
                    answers=int(seen.sum()),
                )
            continue
        modelled[position] = False
        if distinct.size == 1:
            constants[position] = distinct[0]
            answer = (
                column.describe_level(column.levels[int(distinct[0])])
                if column.is_categorical
                else f"{distinct[0]:g}"
            )
            events.add("constant_column_not_modelled", column=column.name, answer=answer)
        else:
            _log_nothing_visible(table, position, events)
    return ModelledColumns(modelled, constants)


def _log_nothing_visible(table: CodedTable, position: int, events: EventLog) -> None:
    states, name = table.states, table.names[position]
    if states.skipped[:, position].all():
        events.add("skipped_column_not_modelled", column=name)
    elif states.answered[:, position].any():
        events.add("held_out_column_not_modelled", column=name)
    else:
        events.add("blank_column_not_modelled", column=name)


def check_visible(table: CodedTable, visible: NDArray[np.bool_]) -> None:
    """Raise unless every visible cell is answered."""
    if visible.shape != table.shape:
        raise InputError(
            "The mask of visible cells does not match the table",
            found=f"{visible.shape}",
            expected=f"{table.shape}",
        )
    wrong = visible & ~table.states.answered
    if wrong.any():
        position = int(np.flatnonzero(wrong.any(axis=0))[0])
        raise InputError(
            "has visible cells without an answer",
            column=table.names[position],
            found=f"{int(wrong[:, position].sum())} such cells",
            expected="answers in all visible cells",
            next_step="Use the mask of the same table",
        )


def count_levels(values: NDArray[np.float64], n_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the answers per level; NaN does not count.

    Returns
    -------
    ndarray of int64, shape (d, max_levels)
        0 in the padding and for continuous columns; at least two levels wide.

    Examples
    --------
    >>> count_levels(np.array([[0.0, 3.5], [1.0, np.nan], [1.0, 2.0]]), np.array([2, 0])).tolist()
    [[1, 2], [0, 0]]
    """
    width = int(n_levels.max(initial=2))
    counts = np.zeros((n_levels.size, width), dtype=np.int64)
    for position in np.flatnonzero(n_levels):
        answers = values[~np.isnan(values[:, position]), position].astype(np.int64)
        counts[position] = np.bincount(answers, minlength=width)
    return counts
