"""What the engine does with rows and answers it cannot take as they are, told as events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.encoding.table_codec import TableCodec
from tabsoda.events import EventLog
from tabsoda.table import CodedTable


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
