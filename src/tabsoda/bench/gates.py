"""Gates and their followers, and a track in which a hidden gate leaks nothing.

When a gate is hidden but its follower is still marked as skipped (or answered), the follower
reveals the gate's answer. Metrics are therefore also computed for gates and other questions
separately, and in the track "unresolved" the followers of a hidden gate are missing too. Needs
numpy alone.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tabsoda.followers import unresolved_cells
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

BoolArray = NDArray[np.bool_]


class Track(StrEnum):
    """What is known about the followers of a hidden gate: their skip state, or nothing."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"


def seen_table(
    table: CodedTable, hidden: BoolArray, followers: BoolArray, track: Track | str
) -> tuple[CodedTable, BoolArray]:
    """Return the table a method is shown, and the cells on which it is scored.

    In the track "unresolved", followers of a hidden gate are missing, whatever they were, and
    they are not scored. Mind that a missing follower beside a visible gate was applicable for
    sure, while beside a hidden gate it need not be: a method that takes blankness itself for
    information (boosting on NaN) learns the first and is misled by the second.
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
