"""Trees that grow while the network trains, and stop where training is given up."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from types import TracebackType

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.em.advisers import Advisers
from tabsoda.em.preparing import fit_experts
from tabsoda.settings import Settings
from tabsoda.table import CodedTable


class _GivenUpError(Exception):
    """Nobody waits for the trees any more."""


class Growing:
    """Grows trees in a thread of their own where there is a core for it, else when asked.

    While a GPU or one core trains the network, another core can grow the trees. What grows does
    not depend on it.

    Parameters
    ----------
    table, settings, seed, weights, followers
        As in :func:`~tabsoda.em.preparing.fit_experts`.
    device : torch.device
        Where the network trains.
    """

    def __init__(
        self,
        table: CodedTable,
        settings: Settings,
        seed: int,
        weights: NDArray[np.float64] | None,
        followers: NDArray[np.bool_],
        device: torch.device,
    ) -> None:
        self._arguments = (table, settings, seed, weights, followers)
        self._beside = device.type == "cuda" or torch.get_num_threads() > 1
        self._pool = ThreadPoolExecutor(1)
        self._given_up = Event()
        self._future: Future[Advisers] | None = None

    def __enter__(self) -> Growing:
        if self._beside:
            self._future = self._pool.submit(fit_experts, *self._arguments, self._check)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._given_up.set()
        self._pool.shutdown()

    def result(self) -> Advisers:
        """Return the trees."""
        return fit_experts(*self._arguments) if self._future is None else self._future.result()

    def _check(self, done: int, total: int, name: str) -> None:
        """Stop after a model where the network's training was given up."""
        if self._given_up.is_set():
            raise _GivenUpError
