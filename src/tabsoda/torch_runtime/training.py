"""Trains a network until the monitored loss stops improving, and keeps its best weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tabsoda._internal.randomness import stream_key
from tabsoda.events import EventLog
from tabsoda.progress import StageProgress
from tabsoda.torch_runtime.adam import Plateau
from tabsoda.torch_runtime.keyed_noise import torch_generator
from tabsoda.torch_runtime.layers import seed_dropout
from tabsoda.torch_runtime.optimizer_steps import LossOf, OptimizerSteps
from tabsoda.torch_runtime.processes import Processes

# watch(weights) returns the loss with these weights, in the order of the parameters.
Watch = Callable[[Sequence[torch.Tensor]], float]
# Fewer steps than this take less time than compiling one, see docs/decisions/0011-compiling.md.
_COMPILED_FROM_STEPS = 20_000


@dataclass(frozen=True)
class TrainingSchedule:
    """Number and size of training steps, learning rate and stopping.

    Attributes
    ----------
    batch_size : int
        Rows per step; smaller tables use fewer.
    max_epochs : int
    max_steps : int or None
    min_epoch_steps : int
        An epoch of a small table is several passes.
    learning_rate, weight_decay : float
    whole_passes : bool
        Whether the last pass of such an epoch is a whole one, too.
    schedule : {"plateau", "cosine"}
    average_decay : float
        Decay of the averaged weights; 0: weights as trained.
    patience : int
        Epochs without improvement before training stops.
    plateau_factor : float
    plateau_patience : int

    Examples
    --------
    >>> from dataclasses import replace
    >>> schedule = TrainingSchedule(
    ...     batch_size=64, max_epochs=9, max_steps=None, min_epoch_steps=5, learning_rate=1e-3)
    >>> schedule.steps(100)
    (50, 3, 6, 9)
    >>> replace(schedule, whole_passes=False).steps(100)
    (50, 3, 5, 9)
    """

    batch_size: int
    max_epochs: int
    max_steps: int | None
    min_epoch_steps: int
    learning_rate: float
    weight_decay: float = 0.0
    whole_passes: bool = True
    schedule: str = "plateau"
    average_decay: float = 0.0
    patience: int = 100
    plateau_factor: float = 0.9
    plateau_patience: int = 50

    def steps_per_pass(self, n_rows: int) -> int:
        """Return how many steps one pass over a table takes."""
        return math.ceil(n_rows / self.batch_size)

    def steps(self, n_rows: int) -> tuple[int, int, int, int]:
        """Return the rows per step, passes per epoch, steps per epoch, and epochs at most."""
        steps_per_pass = self.steps_per_pass(n_rows)
        passes = math.ceil(self.min_epoch_steps / steps_per_pass)
        max_epochs, steps_per_epoch = self.max_epochs, steps_per_pass * passes
        if not self.whole_passes:
            steps_per_epoch = max(steps_per_pass, self.min_epoch_steps)
        if self.max_steps is not None:
            steps_per_epoch = min(steps_per_epoch, self.max_steps)
            max_epochs = min(max_epochs, self.max_steps // steps_per_epoch)
        return n_rows // steps_per_pass, passes, steps_per_epoch, max_epochs


def worth_compiling(n_steps: int) -> bool:
    """Return whether this many steps take longer than compiling one.

    Examples
    --------
    >>> worth_compiling(4_000), worth_compiling(40_000)
    (False, True)
    """
    return n_steps >= _COMPILED_FROM_STEPS


class BestWeights:
    """The weights with the lowest loss so far.

    Parameters
    ----------
    parameters : sequence of tensor
        Parameters of the network, which finally gets the best weights.
    """

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self._parameters = parameters
        self._kept = [parameter.detach().clone() for parameter in parameters]
        self.loss, self.epoch = math.inf, 0

    @torch.no_grad()
    def offer(self, loss: float, epoch: int, weights: Sequence[torch.Tensor]) -> None:
        """Keep the weights of an epoch if their loss is the lowest."""
        if loss < self.loss:
            self.loss, self.epoch = loss, epoch
            for kept, weight in zip(self._kept, weights, strict=True):
                kept.copy_(weight)

    @torch.no_grad()
    def restore(self) -> None:
        """Set the network to its best weights."""
        for parameter, kept in zip(self._parameters, self._kept, strict=True):
            parameter.copy_(kept)


def train_network(
    network: nn.Module,
    schedule: TrainingSchedule,
    loss_of: LossOf,
    *,
    n_rows: int,
    seed: int,
    round_number: int,
    noise_uses: Sequence[str],
    device: torch.device,
    events: EventLog,
    diverged: Callable[[str], Exception],
    watch: Watch | None = None,
    fused_loss_of: LossOf | None = None,
    processes: Processes | None = None,
    precision: str = "auto",
    progress: StageProgress | None = None,
) -> dict[str, Any]:
    """Train a network in place; the same seed gives the same weights.

    Parameters
    ----------
    network : nn.Module
    schedule : TrainingSchedule
    loss_of : callable
        ``loss_of(rows, keys)`` returns the loss of some rows, a tensor of shape (). With
        ``processes`` it receives this process's rows of the batch and returns their part of the
        sum.
    n_rows : int
    seed, round_number : int
        Name the streams of batches, noise and dropout.
    noise_uses : sequence of str
        Purposes of a step's noise; ``keys`` has one key for each.
    device : torch.device
    events : EventLog
    diverged : callable
        Returns the error for a description of what went wrong.
    watch : callable, optional
        Returns the loss to monitor, given the weights; by default the training loss.
    fused_loss_of : callable, optional
        As in :class:`OptimizerSteps`.
    processes : Processes, optional
    precision : {"auto", "float32"}
        As in :func:`~tabsoda.torch_runtime.devices.matrix_precision`.
    progress : callable, optional

    Returns
    -------
    dict
        ``epochs``, ``steps``, ``best_epoch``, ``loss`` (the lowest monitored) and ``losses`` (one
        per epoch).
    """
    batch_size, _, steps_per_epoch, max_epochs = schedule.steps(n_rows)
    mine = slice(0, batch_size) if processes is None else slice(*processes.share(batch_size))
    part = None if processes is None else (mine.start, mine.stop, batch_size)
    seed_dropout(network, torch_generator(seed, "dropout", round_number, device=device), part)
    network.train()
    steps = OptimizerSteps(
        network,
        device,
        lambda rows, keys: loss_of(rows[mine], keys),
        fused_loss_of,
        batch_size=batch_size,
        n_keys=len(noise_uses),
        steps_per_epoch=steps_per_epoch,
        learning_rate=schedule.learning_rate,
        weight_decay=schedule.weight_decay,
        averages=schedule.average_decay > 0,
        events=events,
        processes=processes,
        precision=precision,
    )
    plateau = Plateau(schedule.plateau_patience)
    order = torch_generator(seed, "batches", round_number)
    parameters = list(network.parameters())
    weights = steps.averaged if schedule.average_decay > 0 else parameters
    best, losses = BestWeights(parameters), []
    for epoch in range(1, max_epochs + 1):
        if schedule.schedule == "cosine":
            steps.adam.learning_rate = cosine_rate(schedule.learning_rate, epoch, max_epochs)
        loss = steps.run_epoch(
            _epoch_rows(schedule, n_rows, order),
            _step_keys(seed, round_number, epoch, steps_per_epoch, noise_uses),
            _new_share(schedule.average_decay, (epoch - 1) * steps_per_epoch),
        )
        if watch is not None and math.isfinite(loss):
            # Averaged weights may be finite although a step gave NaN.
            loss = watch(weights)
        if processes is not None:
            loss = processes.agreed(loss, device)
        if not math.isfinite(loss):
            raise diverged(f"the loss became {loss} in round {round_number}, epoch {epoch}")
        losses.append(loss)
        if schedule.schedule == "plateau" and plateau.reached(loss):
            steps.adam.lower_rate(schedule.plateau_factor)
        best.offer(loss, epoch, weights)
        if progress is not None:
            progress(epoch, max_epochs)
        if epoch - best.epoch >= schedule.patience:
            break
    best.restore()
    network.eval()
    return {
        "epochs": epoch,
        "steps": epoch * steps_per_epoch,
        "best_epoch": best.epoch,
        "loss": best.loss,
        "losses": losses,
    }


def _epoch_rows(schedule: TrainingSchedule, n_rows: int, order: torch.Generator) -> torch.Tensor:
    """Return the rows of an epoch's steps, int64, shape (steps_per_epoch, batch_size)."""
    batch_size, passes, steps_per_epoch, _ = schedule.steps(n_rows)
    rows_per_pass = schedule.steps_per_pass(n_rows) * batch_size
    shuffled = [torch.randperm(n_rows, generator=order)[:rows_per_pass] for _ in range(passes)]
    rows = torch.cat(shuffled)[: steps_per_epoch * batch_size]
    return rows.view(steps_per_epoch, batch_size)


def _step_keys(
    seed: int, round_number: int, epoch: int, n_steps: int, noise_uses: Sequence[str]
) -> torch.Tensor:
    """Return the noise keys of an epoch's steps, int64, shape (n_steps, len(noise_uses))."""
    return torch.tensor(
        [
            [stream_key(seed, "training", round_number, epoch, step, use) for use in noise_uses]
            for step in range(n_steps)
        ]
    )


def cosine_rate(rate: float, epoch: int, max_epochs: int) -> float:
    """Return the learning rate of an epoch: half in the first, then along a cosine towards 0.

    Examples
    --------
    >>> [round(cosine_rate(1.0, epoch, 5), 2) for epoch in (1, 2, 5)]
    [0.5, 0.9, 0.1]
    """
    if epoch == 1:
        return rate / 2
    return rate * 0.5 * (1 + math.cos(math.pi * (epoch - 1) / max_epochs))


def _new_share(decay: float, steps_done: int) -> float:
    """Return the share of the newest weights in the average, large at first."""
    if decay == 0:
        return 1.0
    return 1.0 - min(decay, (1 + steps_done) / (10 + steps_done))
