"""Columns with nothing to learn: they are not encoded, and an event says what becomes of them.

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
    """Which columns are modelled, and what the others get.

    Attributes
    ----------
    modelled : ndarray of bool, shape (d,)
    fill : ndarray of float64, shape (d,)
        The one visible answer of a constant column; NaN where nothing is visible (its missing
        cells stay missing) and for modelled columns.
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
        Gets ``"column passed through"`` for each, and ``"nominal is nearly unique"`` for modelled
        columns that look like identifiers.

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
    >>> next(iter(log)).detail
    'the one visible answer is 3; missing cells get it'
    """
    fill = np.full(table.shape[1], np.nan)
    modelled = np.ones(table.shape[1], dtype=bool)
    for position, column in enumerate(table.columns):
        seen = visible[:, position]
        distinct = np.unique(table.values[seen, position])
        if distinct.size > 1:
            alike = NEAR_UNIQUE_SHARE * max(int(seen.sum()), _NEAR_UNIQUE_MIN_ANSWERS)
            if column.is_categorical and distinct.size > alike:
                detail = f"{distinct.size} different answers among {int(seen.sum())}; still encoded"
                events.add("encode", "nominal is nearly unique", column=column.name, detail=detail)
            continue
        modelled[position] = False
        if distinct.size == 1:
            fill[position] = distinct[0]
            answer = (
                column.describe_level(column.levels[int(distinct[0])])
                if column.is_categorical
                else f"{distinct[0]:g}"
            )
            detail = f"the one visible answer is {answer}; missing cells get it"
        else:
            detail = f"{_why_nothing_is_visible(table, position)}; missing cells stay missing"
        events.add("encode", "column passed through", column=column.name, detail=detail)
    return PassThrough(modelled, fill)


def _why_nothing_is_visible(table: CodedTable, position: int) -> str:
    states = table.states
    if states.skipped[:, position].all():
        return "every cell is skipped"
    if states.answered[:, position].any():
        return "every answer is held out"
    return "no cell is answered"
