"""Trees that grow while the network trains, in a process of their own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from multiprocessing import current_process
from types import TracebackType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.threads import SINGLE_THREADED, Threads
from tabsoda.em.advisers import Advisers
from tabsoda.events import EventLog
from tabsoda.settings import Settings
from tabsoda.table import CodedTable

# A process takes some seconds to start; trees of smaller tables have grown by then.
_FEWEST_CELLS = 30_000


def grows_beside(n_cells: int, threads: Threads, device: torch.device) -> bool:
    """Say whether trees of a table grow in a process of their own, beside the network."""
    # A daemon, such as a worker of multiprocessing.Pool, may not start processes.
    is_free = (device.type == "cuda" or threads.cores > 1) and not current_process().daemon
    return n_cells >= _FEWEST_CELLS and is_free


class Growing:
    """Grows trees in another process where there is a core for it, else when asked.

    While a GPU or one core trains the network, another core can grow the trees: in a process,
    because two threads that run Python wait for each other. The network leaves a core to it until
    the trees are asked for, because its threads wait for the slowest of them. The trees are the
    same wherever they grow.

    Parameters
    ----------
    table, seed, weights, followers
        As in :func:`~tabsoda.experts.growing.grow_experts`.
    settings : Settings
    threads : Threads
        Torch computes with ``threads.network`` already.
    device : torch.device
        Where the network trains.
    events : EventLog
    """

    def __init__(
        self,
        table: CodedTable,
        settings: Settings,
        seed: int,
        weights: NDArray[np.float64] | None,
        followers: NDArray[np.bool_],
        threads: Threads,
        device: torch.device,
        events: EventLog,
    ) -> None:
        self._threads = threads
        self._wanted = settings.experts.trees != "none"
        n_cells = table.shape[0] * table.shape[1]
        self._beside = self._wanted and grows_beside(n_cells, threads, device)
        at_a_time = threads.trees if self._beside else threads.cores
        self._arguments = (table, settings.experts.trees, seed, weights, followers, at_a_time)
        self._events = events
        self._executor: Any = None
        self._future: Future[Any] | None = None

    def __enter__(self) -> Growing:
        if self._beside:
            # Unlike the standard library's, its processes do not run the user's script again.
            from joblib.externals.loky import ProcessPoolExecutor

            from tabsoda.experts.growing import grow_experts

            try:
                self._executor = ProcessPoolExecutor(max_workers=1, env=SINGLE_THREADED)
                self._future = self._executor.submit(grow_experts, *self._arguments)
                torch.set_num_threads(self._threads.beside_trees)
            except OSError as error:
                self._grow_here(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        torch.set_num_threads(self._threads.network)
        if self._executor is not None:
            # Nobody waits for the trees of a training that was given up.
            self._executor.shutdown(wait=False, kill_workers=kind is not None)

    def result(self, report: Callable[[int, int, str], None] | None = None) -> Advisers:
        """Return the trees; ``report`` is told how many have grown, if they grow here."""
        torch.set_num_threads(self._threads.network)
        if not self._wanted:
            return Advisers()
        if report is not None:
            report(0, 1, "trees")
        if self._future is not None:
            try:
                return Advisers(*self._future.result())
            except BrokenExecutor as error:
                self._grow_here(error)
        from tabsoda.experts.growing import grow_experts

        return Advisers(*grow_experts(*self._arguments, report))

    def _grow_here(self, error: Exception) -> None:
        detail = f"no process of their own: {type(error).__name__}"
        self._events.add("train", "trees grown after the network", detail=detail)
        self._future = None
