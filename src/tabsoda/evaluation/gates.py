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

from tabsoda.schema.column import Column
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.skips.rules import SkipRule

BoolArray = NDArray[np.bool_]

# A level settles a follower's skip when at most this share of its rows says otherwise (slips).
_SLIP_SHARE = 0.01
# How unlikely a settled level must be if the level had nothing to do with the skip, and by how
# much the others' share of skips must differ for the leak to matter.
_CHANCE = 1e-6
_CONTRAST = 0.10
_BINS = 10


class Track(StrEnum):
    """What is known about the followers of a hidden gate: their skip state, or nothing."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"


def find_followers(table: CodedTable) -> BoolArray:
    """Derive from the skip states which questions gate which others.

    A question is a gate of a later one if, among those who answered it, some level settles the
    later one's skip state: practically everybody who gave that answer skipped it, or practically
    nobody did, while the others' share of skips differs by a tenth or more, and that is no
    accident. Numbers count by tenths of their distribution. This is what leaks: the follower's
    state excludes or implies answers of the gate, whether or not the routing asks it directly.

    Returns
    -------
    ndarray of bool, shape (n_columns, n_columns)
        True at (gate, follower).

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> table = make_survey(n_rows=2000, seed=1).true_table
    >>> gate, follower = table.names.index("MARITAL"), table.names.index("PARTNER")
    >>> bool(find_followers(table)[gate, follower])
    True
    """
    n_columns = table.shape[1]
    skipped = table.states.skipped.astype(np.float64)
    followers = np.zeros((n_columns, n_columns), dtype=bool)
    varies = table.states.skipped.any(axis=0) & ~table.states.skipped.all(axis=0)
    for gate, column in enumerate(table.columns):
        later = varies & (np.arange(n_columns) > gate)
        rows = np.flatnonzero(table.states.answered[:, gate])
        if not later.any() or not rows.size:
            continue
        groups = _groups(table.values[rows, gate], column)
        sizes = np.bincount(groups).astype(np.float64)[:, None]
        member = np.zeros((rows.size, sizes.shape[0]))
        member[np.arange(rows.size), groups] = 1.0
        followers[gate, later] = _settled(member.T @ skipped[rows][:, later], sizes)
    return followers


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


def unresolved_cells(hidden: BoolArray, followers: BoolArray) -> BoolArray:
    """Return the cells that follow a hidden gate of their row, shape (n_rows, n_columns)."""
    return (hidden.astype(np.float32) @ followers.astype(np.float32)) > 0


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


def _groups(answers: NDArray[np.float64], column: Column) -> NDArray[np.intp]:
    """Return the group of each answer: its level, or its tenth of the distribution."""
    if column.is_categorical:
        return np.unique(answers, return_inverse=True)[1]
    edges = np.unique(np.quantile(answers, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, answers), return_inverse=True)[1]


def _settled(skips: NDArray[np.float64], sizes: NDArray[np.float64]) -> BoolArray:
    """Say for each follower whether some group settles its skip; counts (n_groups, n_followers)."""
    others = sizes.sum() - sizes
    # Laplace's rule keeps the others' share off 0 and 1, where no number of rows would convince.
    elsewhere = (skips.sum(axis=0) - skips + 1.0) / (others + 2.0)
    slips = _SLIP_SHARE * sizes
    always = (sizes - skips <= slips) & (sizes * np.log(elsewhere) < np.log(_CHANCE))
    never = (skips <= slips) & (sizes * np.log1p(-elsewhere) < np.log(_CHANCE))
    matters = np.abs(skips / sizes - elsewhere) >= _CONTRAST
    return ((always | never) & matters).any(axis=0)
