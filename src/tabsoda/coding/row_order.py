"""The order of rows in training, independent of the file's order, and the held-out cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator, row_keys
from tabsoda.table import CodedTable


def canonical_order(
    table: CodedTable, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of the rows that depends only on their content, and the keys in that order.

    Training visits rows in this order, so that shuffling the file changes nothing. Rows with equal
    answers are ordered by their weights.
    """
    first = np.arange(table.shape[0]) if weights is None else np.argsort(weights, kind="stable")
    keys = row_keys(table.values[first], table.states.states[first])
    order = np.argsort(keys, kind="stable")
    return first[order], keys[order]


def hold_out_cells(
    visible: NDArray[np.bool_],
    columns: NDArray[np.bool_],
    share: float,
    seed: int,
    levels: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Choose ``ceil(share * n)`` visible cells of each of the given columns (appendix C).

    One cell fewer for every level that would otherwise lose its last visible answer.

    Parameters
    ----------
    visible : ndarray of bool, shape (n, d)
        Rows in canonical order.
    columns : ndarray of bool, shape (d,)
        Columns to choose cells from.
    share : float
    seed : int
    levels : ndarray of float64, shape (n, d), optional
        Level positions, NaN in columns that have no levels.

    Returns
    -------
    ndarray of bool, shape (n, d)
    """
    held_out = np.zeros_like(visible)
    if share == 0:
        return held_out
    for position in np.flatnonzero(columns):
        candidates = np.flatnonzero(visible[:, position])
        # At least two cells must stay visible, or the column could not be modelled.
        count = min(int(np.ceil(share * candidates.size)), candidates.size - 2)
        if count > 0:
            generator = numpy_generator(seed, "held out", int(position))
            chosen = generator.choice(candidates, size=count, replace=False)
            held_out[chosen, position] = True
            if levels is not None:
                kept = np.setdiff1d(candidates, chosen)
                held_out[_last_answers(levels[:, position], chosen, kept), position] = False
    return held_out


def _last_answers(
    levels: NDArray[np.float64], chosen: NDArray[np.int64], kept: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the first chosen row of each level that does not occur in the other rows."""
    found, first = np.unique(levels[chosen], return_index=True)
    lost = ~np.isin(found, levels[kept]) & ~np.isnan(found)
    return chosen[first[lost]]
