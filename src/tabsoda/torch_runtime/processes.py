"""Training in several processes, each with a part of every batch.

The processes draw the same batches, because batches are keyed; each computes the loss of its own
rows, divided by the weight of all rows, and gradients are summed. The result differs from training
in one process only by rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import distributed

from tabsoda.errors import InputError


@dataclass(frozen=True)
class Processes:
    """The processes that train one model.

    Attributes
    ----------
    rank : int
        Number of this process, from 0.
    size : int
    """

    rank: int
    size: int

    @classmethod
    def joined(cls) -> Processes | None:
        """Return the processes of torch's process group; None if there is none.

        Examples
        --------
        >>> Processes.joined() is None
        True
        """
        if not distributed.is_available() or not distributed.is_initialized():
            return None
        size = distributed.get_world_size()
        return cls(distributed.get_rank(), size) if size > 1 else None

    def share(self, n_rows: int) -> tuple[int, int]:
        """Return the start and the end of this process's rows in a batch.

        Examples
        --------
        >>> [Processes(rank, 3).share(10) for rank in range(3)]
        [(0, 3), (3, 6), (6, 10)]
        """
        if n_rows < self.size:
            raise InputError(
                "There are more processes than rows in a batch",
                found=f"{self.size} processes, batches of {n_rows} rows",
                next_step="Start fewer processes",
            )
        return self.rank * n_rows // self.size, (self.rank + 1) * n_rows // self.size

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum of values over the processes, without gradient."""
        summed = values.detach().clone()
        distributed.all_reduce(summed)
        return summed

    def add_gradients(self, parameters: Iterable[torch.Tensor]) -> None:
        """Replace gradients by their sum over the processes, in one message."""
        gradients = [p.grad for p in parameters if p.grad is not None]
        together = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(together)
        parts = together.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def agreed(self, number: float, device: torch.device) -> float:
        """Return the value of the first process, so that all processes decide alike."""
        shared = torch.tensor([number], dtype=torch.float32, device=device)
        distributed.broadcast(shared, src=0)
        return float(shared)
