"""Fast sequences of optimiser steps.

On a CUDA device the whole step (noise, two passes, backward, Adam) is captured as one graph: the
arithmetic of a step takes less time than launching its operations one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from tabsoda.events import EventLog
from tabsoda.torch_runtime.adam import Adam
from tabsoda.torch_runtime.devices import matrix_precision
from tabsoda.torch_runtime.layers import SeededDropout
from tabsoda.torch_runtime.processes import Processes

# loss_of(rows, keys) returns a tensor of shape ().
LossOf = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

_WARM_UP_STEPS = 3


class OptimizerSteps:
    """Runs Adam on a loss that reads its batch from tables on the device.

    Parameters
    ----------
    network : nn.Module
        Trained in place.
    device : torch.device
        Where the network is.
    loss_of : callable
        ``loss_of(rows, keys)`` returns a tensor of shape ().
    fused_loss_of : callable, optional
        The same, compiled; used on CUDA devices if it works. Leave it out if compiling would take
        longer than it saves.
    batch_size, n_keys, steps_per_epoch : int
        Fix the shapes of a step.
    learning_rate, weight_decay : float
    averages : bool
        Whether to also compute averaged weights.
    events : EventLog
    processes : Processes, optional
        The processes that train together. The loss is then this process's part of the sum, and
        gradients are summed.
    precision : {"auto", "float32"}
        As in :func:`~tabsoda.torch_runtime.devices.matrix_precision`; on CUDA devices only.
    """

    def __init__(
        self,
        network: nn.Module,
        device: torch.device,
        loss_of: LossOf,
        fused_loss_of: LossOf | None,
        *,
        batch_size: int,
        n_keys: int,
        steps_per_epoch: int,
        learning_rate: float,
        weight_decay: float,
        averages: bool,
        events: EventLog,
        processes: Processes | None = None,
        precision: str = "auto",
    ) -> None:
        self.network = network
        self.precision = precision
        self.device = device
        self.events = events
        self._processes = processes
        self._averages = averages
        on_gpu = device.type == "cuda"
        self.adam = Adam(network.parameters(), learning_rate, weight_decay, device)
        self.averaged = [p.detach().clone() for p in network.parameters()]
        self._new_share = torch.ones((), device=device)
        self._rows = torch.zeros(steps_per_epoch, batch_size, dtype=torch.int64, device=device)
        self._keys = torch.zeros(steps_per_epoch, n_keys, dtype=torch.int64, device=device)
        self._step = torch.zeros(1, dtype=torch.int64, device=device)
        self._loss = torch.zeros((), device=device)
        self._loss_of = loss_of
        self._graph: torch.cuda.CUDAGraph | None = None
        if processes is not None:
            events.add("batches_shared_between_processes", processes=processes.size)
        elif on_gpu:
            fused = () if fused_loss_of is None else (("compiled", fused_loss_of),)
            self._capture((*fused, ("captured", loss_of)))

    def run_epoch(self, rows: torch.Tensor, keys: torch.Tensor, new_share: float) -> float:
        """Take one step per row of the tables and return the mean loss.

        Parameters
        ----------
        rows : int64 tensor, shape (steps, batch_size)
        keys : int64 tensor, shape (steps, n_keys)
        new_share : float
            Share of the newest weights in the averaged ones.
        """
        self._rows.copy_(rows)
        self._keys.copy_(keys)
        self._step.zero_()
        self._loss.zero_()
        self._new_share.fill_(new_share)
        for _ in range(rows.shape[0]):
            if self._graph is None:
                self._advance()
            else:
                self._graph.replay()
        return float(self._loss) / rows.shape[0]

    def _advance(self) -> None:
        rows = self._rows.index_select(0, self._step)[0]
        keys = self._keys.index_select(0, self._step)[0]
        self.adam.clear_gradients()
        with torch.autocast("cuda", torch.bfloat16, enabled=self._in_bfloat16):
            loss = self._loss_of(rows, keys)
        loss.backward()
        if self._processes is not None:
            self._processes.add_gradients(self.network.parameters())
            loss = self._processes.total(loss)
        self.adam.step()
        with torch.no_grad():
            if self._averages:
                for average, new in zip(self.averaged, self.adam.parameters, strict=True):
                    average.lerp_(new, self._new_share)
            self._loss += loss.detach()
            self._step.add_(1).remainder_(self._rows.shape[0])

    @property
    def _in_bfloat16(self) -> bool:
        on_gpu = self.device.type == "cuda"
        return on_gpu and matrix_precision(self.device, self.precision) is torch.bfloat16

    def _capture(self, ways: Sequence[tuple[str, LossOf]]) -> None:
        """Capture a step in the first way that works; if none does, steps run eagerly."""
        for name, loss_of in ways:
            self._loss_of = loss_of
            try:
                self._graph = self._captured()
            except torch.OutOfMemoryError:
                raise
            except (RuntimeError, OSError, ImportError, NotImplementedError) as error:
                self.events.add(
                    "training_step_not_captured",
                    way=name,
                    error=type(error).__name__,
                    message=next(iter(str(error).strip().splitlines()), ""),
                )
            else:
                return

    def _captured(self) -> torch.cuda.CUDAGraph:
        """Capture a step; its warm-up must not change weights and moments."""
        parameters = list(self.network.parameters())
        before = [parameter.detach().clone() for parameter in parameters]
        graph = torch.cuda.CUDAGraph()
        for module in self.network.modules():
            if isinstance(module, SeededDropout) and module.generator is not None:
                graph.register_generator_state(module.generator)
                break
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(_WARM_UP_STEPS):
                    self._advance()
            torch.cuda.current_stream().wait_stream(side)
            self.adam.clear_gradients()
            with torch.cuda.graph(graph):
                self._advance()
        finally:
            with torch.no_grad():
                for parameter, average, saved in zip(
                    parameters, self.averaged, before, strict=True
                ):
                    parameter.copy_(saved)
                    average.copy_(saved)
                self.adam.forget()
        return graph
