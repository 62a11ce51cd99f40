"""Columns that cannot be modelled: they are not encoded but filled with a constant or left empty.

Input: a table and its visible cells. Output: which columns are modelled, and a value for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.table import CodedTable

# A nominal whose answers are nearly all different is more likely an identifier than a question.
NEAR_UNIQUE_SHARE = 0.9
_NEAR_UNIQUE_MIN_ANSWERS = 20


@dataclass(frozen=True, eq=False)
class PassThrough:
    """Which columns are modelled, and the constant for the others.

    Attributes
    ----------
    modelled : ndarray of bool, shape (d,)
    fill : ndarray of float64, shape (d,)
        The one visible answer of a constant column; NaN for modelled columns and if nothing is
        visible (missing cells then stay missing).
    """

    modelled: NDArray[np.bool_]
    fill: NDArray[np.float64]


def find_pass_through(
    table: CodedTable, visible: NDArray[np.bool_], events: EventLog
) -> PassThrough:
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
    PassThrough

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> table = CodedTable.from_values((Column("wave", ColumnKind.CONTINUOUS),),
    ...                                np.array([[3.0], [np.nan], [3.0]]))
    >>> log = EventLog()
    >>> find_pass_through(table, table.states.answered, log).fill.tolist()
    [3.0]
    >>> [(event.kind, event.counts["answer"]) for event in log]
    [('constant_column_not_modelled', '3')]
    """
    fill = np.full(table.shape[1], np.nan)
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
            fill[position] = distinct[0]
            answer = (
                column.describe_level(column.levels[int(distinct[0])])
                if column.is_categorical
                else f"{distinct[0]:g}"
            )
            events.add("constant_column_not_modelled", column=column.name, answer=answer)
        else:
            _log_nothing_visible(table, position, events)
    return PassThrough(modelled, fill)


def _log_nothing_visible(table: CodedTable, position: int, events: EventLog) -> None:
    states, name = table.states, table.names[position]
    if states.skipped[:, position].all():
        events.add("skipped_column_not_modelled", column=name)
    elif states.answered[:, position].any():
        events.add("held_out_column_not_modelled", column=name)
    else:
        events.add("blank_column_not_modelled", column=name)
