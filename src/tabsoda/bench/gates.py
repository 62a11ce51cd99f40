"""Show methods a table in which the followers of a hidden gate do not reveal its answer."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tabsoda.followers import unresolved_cells
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

BoolArray = NDArray[np.bool_]


class Track(StrEnum):
    """What a method sees of the followers of a hidden gate: their skip state, or nothing."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"


def seen_table(
    table: CodedTable, hidden: BoolArray, followers: BoolArray, track: Track | str
) -> tuple[CodedTable, BoolArray]:
    """Return the table a method is shown, and the cells on which it is scored.

    If a gate is hidden but its follower is still marked as skipped (or answered), the follower
    reveals the gate's answer. Metrics are therefore also computed for gates and other questions
    separately, and in the track "unresolved" all followers of a hidden gate are missing and not
    scored. Note that a missing follower of a visible gate was certainly applicable, while one of a
    hidden gate need not be: a method that uses missingness as information (boosting on NaN) learns
    the first and is misled by the second.
    """
    if Track(track) is Track.RESOLVED:
        return table.with_states(table.states.hide(hidden)), hidden
    open_cells = unresolved_cells(hidden, followers)
    states = CellStates.from_masks(
        table.states.answered & ~hidden & ~open_cells,
        table.states.skipped & ~open_cells,
        table.names,
        np.where(open_cells, 0, table.states.reasons).astype(np.uint8),
    )
    return table.with_states(states), hidden & ~open_cells
