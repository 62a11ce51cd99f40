"""Fits all trees of a table: those of every question, and separate ones for gates.

Nothing here needs torch, so that a process that only fits trees starts quickly.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.trees.settings import TreeSettings
from tabsoda.engine.trees.tree_models import Progress, TreeModels
from tabsoda.table import CodedTable

# Fitting models in parallel is faster only for large tables.
_MANY_ROWS = 10_000


def fit_trees(
    table: CodedTable,
    effort: str,
    seed: int,
    weights: NDArray[np.float64] | None,
    followers: NDArray[np.bool_],
    n_threads: int,
    progress: Progress | None = None,
) -> tuple[TreeModels, TreeModels | None]:
    """Fit the trees of every incomplete question, and of gates without their followers.

    Parameters
    ----------
    table : CodedTable
        All answers are used.
    effort : {"quick", "full"}
    seed : int
    weights : ndarray of float64, shape (n_rows,), or None
    followers : ndarray of bool, shape (n_columns, n_columns)
        True at (gate, follower) if the gate must be predicted without the follower.
    n_threads : int
        Used for large tables.
    progress : callable, optional
        Called as ``progress(done, total, "trees")`` after every question.
    """

    def update(done: int, total: int, _: str) -> None:
        if progress is not None:
            progress(done, total, "trees")

    fit = functools.partial(
        TreeModels.fit,
        table,
        table.states.answered,
        TreeSettings.named(effort),
        seed,
        # The minimum leaf size is in rows, so weights are scaled to a mean of 1.
        row_weights=None if weights is None else weights / weights.mean(),
        n_threads=n_threads if table.shape[0] > _MANY_ROWS else 1,
    )
    gates = np.flatnonzero(followers.any(axis=1) & table.states.missing.any(axis=0)).tolist()
    of_gates = fit(columns=gates, barred=followers) if gates else None
    return fit(progress=update), of_gates
