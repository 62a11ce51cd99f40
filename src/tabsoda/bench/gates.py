"""Gates and their followers, and a track in which a hidden gate leaks nothing.

When a gate is hidden but its follower still stands there as skipped (or not), the gate's answer
can be read off the follower. Metrics therefore tell gates from other questions, and in the track
"unresolved" the followers of a hidden gate become missing too. Needs numpy alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.followers import unresolved_cells
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.skips.rules import SkipRule

BoolArray = NDArray[np.bool_]


class Track(StrEnum):
    """What is known about the followers of a hidden gate: their skip state, or nothing."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"


def followers_of_rules(rules: Iterable[SkipRule], names: tuple[str, ...]) -> BoolArray:
    """Return the gates and followers that rules name, followers of followers included.

    Returns
    -------
    ndarray of bool, shape (n_columns, n_columns)
        True at (gate, follower); rules about columns that are not there are left aside.
    """
    followers = np.zeros((len(names), len(names)), dtype=bool)
    position = {name: number for number, name in enumerate(names)}
    for rule in rules:
        for gate in rule.gates:
            if gate in position and rule.target in position:
                followers[position[gate], position[rule.target]] = True
    # A follower that gates others passes on what its gate decided.
    for middle in range(len(names)):
        followers |= followers[:, [middle]] & followers[middle]
    np.fill_diagonal(followers, False)
    return followers


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


def gate_names(followers: BoolArray, names: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Write the gates down by name, each with its followers."""
    return {
        names[gate]: tuple(names[f] for f in np.flatnonzero(followers[gate]))
        for gate in np.flatnonzero(followers.any(axis=1))
    }
