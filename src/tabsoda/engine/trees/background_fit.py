"""Fits the trees in a separate process while the network trains."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from multiprocessing import current_process
from types import TracebackType
from typing import Any

import torch

from tabsoda._internal.threads import SINGLE_THREADED, Threads
from tabsoda.engine.training_table import TrainingTable
from tabsoda.engine.trees.fit import fit_trees
from tabsoda.engine.trees.trees import Trees
from tabsoda.events import EventLog

# A process takes seconds to start; trees of smaller tables are fitted faster than that.
_FEWEST_CELLS = 30_000


def fits_beside(n_cells: int, threads: Threads, device: torch.device) -> bool:
    """Return whether the trees of a table are fitted in a separate process."""
    # A daemon, such as a worker of multiprocessing.Pool, may not start processes.
    is_free = (device.type == "cuda" or threads.cores > 1) and not current_process().daemon
    return n_cells >= _FEWEST_CELLS and is_free


class BackgroundTreeFit:
    """Fits trees in another process if there is a core for it, otherwise on request.

    While a GPU or one core trains the network, another core can fit the trees, in a process
    because Python threads block each other. The network uses one core less until the trees are
    requested, because its threads wait for the slowest of them. The trees do not depend on where
    they are fitted.

    Parameters
    ----------
    training : TrainingTable
    effort : {"none", "quick", "full"}
    seed : int
    threads : Threads
        Torch already uses ``threads.network`` threads.
    device : torch.device
        Where the network trains.
    events : EventLog
    """

    def __init__(
        self,
        training: TrainingTable,
        effort: str,
        seed: int,
        threads: Threads,
        device: torch.device,
        events: EventLog,
    ) -> None:
        self._threads = threads
        self._training = training
        self._is_wanted = effort != "none"
        n_rows, n_columns = training.shown.shape
        self._is_beside = self._is_wanted and fits_beside(n_rows * n_columns, threads, device)
        self._arguments = (
            training.shown,
            effort,
            seed,
            training.weights,
            training.followers,
            threads.trees if self._is_beside else threads.cores,
        )
        self._events = events
        self._executor: Any = None
        self._future: Future[Any] | None = None

    def __enter__(self) -> BackgroundTreeFit:
        if self._is_beside:
            # Unlike the standard library, it does not run the user's script again.
            from joblib.externals.loky import ProcessPoolExecutor

            try:
                self._executor = ProcessPoolExecutor(max_workers=1, env=SINGLE_THREADED)
                self._future = self._executor.submit(fit_trees, *self._arguments)
                torch.set_num_threads(self._threads.beside_trees)
            except OSError as error:
                self._fit_here(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        torch.set_num_threads(self._threads.network)
        if self._executor is not None:
            # After an error the trees are not needed.
            self._executor.shutdown(wait=False, kill_workers=kind is not None)

    def result(self, progress: Callable[[int, int, str], None] | None = None) -> Trees | None:
        """Return the trees, or None if the effort is "none"."""
        torch.set_num_threads(self._threads.network)
        if not self._is_wanted:
            return None
        if progress is not None:
            progress(0, 1, "trees")
        found = None
        if self._future is not None:
            try:
                found = self._future.result()
            except BrokenExecutor as error:
                self._fit_here(error)
        if found is None:
            found = fit_trees(*self._arguments, progress)
        models, gate_models = found
        return Trees.of(self._training.codec, models, gate_models, self._training.followers)

    def _fit_here(self, error: Exception) -> None:
        self._events.add("trees_fitted_after_network", error=type(error).__name__)
        self._future = None
