"""Which questions decide whether others are asked, derived from the skip states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Column
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

BoolArray = NDArray[np.bool_]

# A level determines a follower's skip if at most this share of its rows are exceptions (slips).
_SLIP_SHARE = 0.01
# How unlikely such a level must be by chance, and by how much the share of skips at the other
# levels must differ for the leak to matter.
_CHANCE = 1e-6
_CONTRAST = 0.10
_BINS = 10
# Followers whose state is known less often than this share of the usual count as unresolved.
_UNRESOLVED_RATIO = 0.5


def find_followers(table: CodedTable, *, known_only: bool = False) -> BoolArray:
    """Derive from the skip states which questions gate which others.

    A question is a gate of a later one if some level of it determines the later one's skip state:
    practically everybody who gave that answer skipped it, or practically nobody did, while the
    share of skips at the other levels differs by a tenth or more, and this is not due to chance.
    Numbers are grouped by tenths of their distribution. This is what leaks: the follower's state
    excludes or implies answers of the gate, whether or not the questionnaire routes by it
    directly.

    Parameters
    ----------
    table : CodedTable
    known_only : bool
        Ignore missing followers. Otherwise they count as asked, which is right if a codebook marks
        every skip; if it does not, a follower of two gates may be missing next to one answered
        gate because the other gate is missing.

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
    n_rows, n_columns = table.shape
    followers = np.zeros((n_columns, n_columns), dtype=bool)
    skipped = table.states.skipped
    vary = np.flatnonzero(skipped.any(axis=0) & ~skipped.all(axis=0))
    skips = skipped[:, vary].astype(np.float32)
    known = ~table.states.missing[:, vary] if known_only else np.ones(skips.shape, dtype=bool)
    counted = known.astype(np.float32)
    for gate, column in enumerate(table.columns):
        later = vary > gate
        rows = np.flatnonzero(table.states.answered[:, gate])
        if not later.any() or not rows.size:
            continue
        groups = _groups(table.values[rows, gate], column)
        # Respondents without an answer are in no group; products of whole columns are faster than
        # copies of rows.
        member = np.zeros((groups.max() + 1, n_rows), dtype=np.float32)
        member[groups, rows] = 1.0
        determined = _determined(*((member @ part).astype(np.float64) for part in (skips, counted)))
        followers[gate, vary[later]] = determined[later]
    return followers


def unresolved_cells(hidden: BoolArray, followers: BoolArray) -> BoolArray:
    """Return the cells that follow a hidden gate of their row, shape (n_rows, n_columns)."""
    return (hidden.astype(np.float32) @ followers.astype(np.float32)) > 0


def unresolved_followers(table: CodedTable, followers: BoolArray) -> BoolArray:
    """Keep the followers that are unresolved where their gate is missing.

    A codebook's mask marks who skipped a follower even where the gate is missing. Rules cannot:
    there the follower is missing too, asked or not, and its blank carries no information about
    the gate. Which case applies is inferred from how often the follower is known (answered or
    skipped) where the gate is missing.

    Parameters
    ----------
    table : CodedTable
    followers : ndarray of bool, shape (n_columns, n_columns)
        True at (gate, follower).

    Returns
    -------
    ndarray of bool, shape (n_columns, n_columns)
        The followers whose state is unknown where the gate is missing.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "ab")
    >>> values = np.array([[0, np.nan]] * 30 + [[1, 1]] * 30 + [[np.nan, np.nan]] * 30)
    >>> skipped = np.zeros((90, 2), dtype=bool)
    >>> skipped[:30, 1] = True
    >>> gate = np.array([[False, True], [False, False]])
    >>> unresolved_followers(CodedTable.from_values(columns, values, skipped), gate)[0].tolist()
    [False, True]
    >>> skipped[60:80, 1] = True
    >>> unresolved_followers(CodedTable.from_values(columns, values, skipped), gate)[0].tolist()
    [False, False]
    """
    kept = followers.copy()
    known = ~table.states.missing
    for gate in np.flatnonzero(followers.any(axis=1)):
        missing, answered = table.states.missing[:, gate], table.states.answered[:, gate]
        if missing.any() and answered.any():
            usual = known[answered].mean(axis=0)
            kept[gate] &= known[missing].mean(axis=0) < _UNRESOLVED_RATIO * usual
    return kept


def unresolved_gates(followers: BoolArray, states: CellStates) -> BoolArray:
    """Return the missing gates whose followers are all missing, shape (n, d).

    If a gate is answered, a missing follower was asked; if the gate is missing, it is unknown
    whether the follower was asked. A model fitted to the first kind of rows would read a missing
    follower as a sign that the gate leads to it.

    Parameters
    ----------
    followers : ndarray of bool, shape (d, d)
        True at (gate, follower).
    states : CellStates

    Examples
    --------
    >>> answered = np.array([[True, False], [False, True], [False, False]])
    >>> states = CellStates.from_masks(answered, np.zeros((3, 2), dtype=bool), ("a", "b"))
    >>> unresolved_gates(np.array([[False, True], [False, False]]), states)[:, 0].tolist()
    [False, False, True]
    """
    known = (states.answered | states.skipped).astype(np.float32)
    resolved = known @ followers.T.astype(np.float32) > 0
    return states.missing & ~resolved & followers.any(axis=1)


def _groups(answers: NDArray[np.float64], column: Column) -> NDArray[np.intp]:
    """Return the group of each answer: its level, or its tenth of the distribution."""
    if column.is_categorical:
        return np.unique(answers, return_inverse=True)[1]
    edges = np.unique(np.quantile(answers, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, answers), return_inverse=True)[1]


def _determined(skips: NDArray[np.float64], sizes: NDArray[np.float64]) -> BoolArray:
    """Return whether some group determines the skip of each follower; (n_groups, n_followers)."""
    others = sizes.sum(axis=0) - sizes
    # Laplace smoothing keeps the others' share away from 0 and 1, where the logarithm diverges.
    elsewhere = (skips.sum(axis=0) - skips + 1.0) / (others + 2.0)
    slips = _SLIP_SHARE * sizes
    always = (sizes - skips <= slips) & (sizes * np.log(elsewhere) < np.log(_CHANCE))
    never = (skips <= slips) & (sizes * np.log1p(-elsewhere) < np.log(_CHANCE))
    # An empty group never passes the tests above, whatever its share.
    matters = np.abs(skips / np.maximum(sizes, 1.0) - elsewhere) >= _CONTRAST
    return ((always | never) & matters).any(axis=0)
