"""What the engine does with rows and answers it cannot take as they are, told as events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.encoding.table_codec import TableCodec
from tabsoda.events import EventLog
from tabsoda.table import CodedTable


def tell_empty_rows(table: CodedTable, events: EventLog) -> None:
    """Add one event with the number of rows that have something to impute and no answer at all.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> values = np.array([[3.0], [np.nan], [4.0]])
    >>> log = EventLog()
    >>> tell_empty_rows(CodedTable.from_values((Column("a", ColumnKind.CONTINUOUS),), values), log)
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


def tell_no_skips(table: CodedTable, events: EventLog) -> None:
    """Add an event where something is missing and nothing is known to be a skip.

    Whoever forgot the rules of a questionnaire would else have its skips imputed in silence.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns, values = (Column("a", ColumnKind.CONTINUOUS),), np.array([[3.0], [np.nan]])
    >>> log = EventLog()
    >>> tell_no_skips(CodedTable.from_values(columns, values), log)
    >>> next(iter(log)).decision
    'every blank taken for missing'
    >>> tell_no_skips(CodedTable.from_values(columns, values, np.array([[False], [True]])), log)
    >>> len(log.events)
    1
    """
    if table.states.missing.any() and not table.states.skipped.any():
        detail = "no rule, mask or code marks a cell as skipped; see tabsoda mine, or skips='mine'"
        events.add("skips", "every blank taken for missing", detail=detail)


def tell_clipped_answers(table: CodedTable, codec: TableCodec, events: EventLog) -> None:
    """Add an event for each column with answers so far out that the network sees nearer ones."""
    columns = codec.layout.continuous_columns
    clipped = codec.continuous.clipped(table.values[:, columns]).sum(axis=0)
    for position, count in zip(columns, clipped, strict=True):
        if count:
            detail = f"{count} answers, far from those fitted; in the result they stay as they are"
            decision = "answers clipped for the network"
            events.add("impute", decision, column=table.names[position], detail=detail)


def tell_means_for_medians(table: CodedTable, codec: TableCodec, events: EventLog) -> None:
    """Say that the table of medians holds means of numbers: these settings know no distribution."""
    numbers = codec.layout.continuous_columns
    if table.states.missing[:, numbers].any():
        detail = "the settings have no decoder heads, which give the distribution of a number"
        events.add("impute", "means of numbers in the median table, too", detail=detail)


def tell_unresolved_gates(
    followers: NDArray[np.bool_], table: CodedTable, events: EventLog
) -> None:
    """Say which gates are estimated without their followers; True at (gate, follower)."""
    gates = followers.any(axis=1) & table.states.missing.any(axis=0)
    for gate in np.flatnonzero(gates):
        events.add(
            "train",
            "gate estimated without its followers",
            column=table.names[gate],
            detail="where it is missing, so are they, whether or not they were asked",
        )
