"""Grow all trees of a table: those of every question, and those of gates apart.

Nothing here needs torch, so that a process that grows trees beside a network starts soon.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from tabsoda.experts.gate_experts import GateExperts
from tabsoda.experts.settings import TreeExpertSettings
from tabsoda.experts.tree_experts import Report, TreeExperts
from tabsoda.table import CodedTable

_MANY_ROWS = 10_000


def grow_experts(
    table: CodedTable,
    trees: str,
    seed: int,
    weights: NDArray[np.float64] | None,
    followers: NDArray[np.bool_],
    n_threads: int,
    report: Report | None = None,
) -> tuple[TreeExperts, GateExperts | None]:
    """Grow the trees of every question, and those of gates that see no follower.

    Parameters
    ----------
    table : CodedTable
        All its answers may be seen.
    trees : str
        How thoroughly; see :meth:`TreeExpertSettings.named`.
    seed : int
    weights : ndarray of float64, shape (n_rows,), or None
    followers : ndarray of bool, shape (n_columns, n_columns)
        True at (gate, follower) where a gate is to be estimated without the follower.
    n_threads : int
        Used where the table is large.
    report : callable, optional
        Called as ``report(done, total, "trees")`` after every question.
    """

    def tell(done: int, total: int, _: str) -> None:
        if report is not None:
            report(done, total, "trees")

    grow = functools.partial(
        TreeExperts.fit,
        table,
        table.states.answered,
        TreeExpertSettings.named(trees),
        seed,
        # What a tree asks of its leaves is in units of rows, so only relations may matter.
        row_weights=None if weights is None else weights / weights.mean(),
        # Models side by side pay only where each has much to do.
        n_threads=n_threads if table.shape[0] > _MANY_ROWS else 1,
    )
    incomplete = table.states.missing.any(axis=0)
    gates = np.flatnonzero(followers.any(axis=1) & incomplete).tolist()
    apart = GateExperts.of(grow(columns=gates, barred=followers), followers) if gates else None
    return grow(report=tell), apart
