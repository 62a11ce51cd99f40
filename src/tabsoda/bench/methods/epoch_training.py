"""Train a network for a number of epochs, as the released code of the deep baselines does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from tabsoda.errors import TabSODAError
from tabsoda.torch_runtime.keyed_noise import torch_generator
from tabsoda.torch_runtime.training import BestWeights

# loss_of(rows, progress) returns what is minimised and what is watched, tensors of shape ().
LossOf = Callable[[torch.Tensor, float], tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True)
class EpochPlan:
    """Length, batches, learning rate and final weights of a training.

    Attributes
    ----------
    epochs : int
        Passes over the table, so that the steps grow with its rows.
    batch_size : int
        The last batch of an epoch may be smaller.
    learning_rate, weight_decay : float
        Of Adam.
    max_steps : int, optional
        Fewer epochs if they would take more steps than this.
    milestones : tuple of float
        Shares of the epochs after which the learning rate falls to a tenth.
    plateau : tuple of float and int, optional
        The rate is multiplied by the first when the watched loss has not improved for more epochs
        than the second.
    patience : int, optional
        Training stops after this many epochs without improvement, and the best weights are kept;
        if not given, the last ones.
    average_decay : float
        If above 0, the final weights are an exponential average over epochs with this decay, which
        starts from the initial weights.

    Examples
    --------
    >>> plan = EpochPlan(epochs=10, batch_size=100, learning_rate=1e-3)
    >>> plan.steps(90), plan.steps(250)
    (10, 30)
    >>> EpochPlan(epochs=10, batch_size=100, learning_rate=1e-3, max_steps=20).steps(250)
    20
    """

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float = 0.0
    max_steps: int | None = None
    milestones: tuple[float, ...] = ()
    plateau: tuple[float, int] | None = None
    patience: int | None = None
    average_decay: float = 0.0

    def epoch_steps(self, n_rows: int) -> int:
        """Return the number of batches in an epoch."""
        return math.ceil(n_rows / self.batch_size)

    def steps(self, n_rows: int) -> int:
        """Return the number of optimiser steps, at most."""
        wanted = self.epochs * self.epoch_steps(n_rows)
        return wanted if self.max_steps is None else min(wanted, self.max_steps)


class AveragedWeights:
    """An exponential average of a network's weights, which starts from the current ones.

    Parameters
    ----------
    network : Module
    decay : float
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._parameters, self._decay = list(network.parameters()), decay
        self.values = [parameter.detach().clone() for parameter in self._parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Move the average towards the network's weights."""
        for average, parameter in zip(self.values, self._parameters, strict=True):
            average.lerp_(parameter, 1 - self._decay)

    @torch.no_grad()
    def restore(self) -> None:
        """Give the network its average weights."""
        for average, parameter in zip(self.values, self._parameters, strict=True):
            parameter.copy_(average)


def train(network: nn.Module, plan: EpochPlan, loss_of: LossOf, n_rows: int, seed: int) -> int:
    """Minimise a loss over batches of rows by Adam, in place.

    Parameters
    ----------
    network : Module
    plan : EpochPlan
    loss_of : callable
        ``loss_of(rows, progress)`` returns the loss to minimise and the one to watch; progress is
        the share of the epochs done.
    n_rows : int
    seed : int
        Draws the batches.

    Returns
    -------
    int
        The steps taken.
    """
    parameters = list(network.parameters())
    device = parameters[0].device
    batches = torch_generator(seed, "batches", device=device)
    optimizer = torch.optim.Adam(
        parameters, plan.learning_rate, weight_decay=plan.weight_decay, fused=True
    )
    steps, per_epoch = plan.steps(n_rows), plan.epoch_steps(n_rows)
    epochs = math.ceil(steps / per_epoch)
    lower = _rate_schedule(optimizer, plan, epochs)
    average = AveragedWeights(network, plan.average_decay) if plan.average_decay else None
    best = BestWeights(parameters) if plan.patience is not None else None
    network.train()
    done = 0
    for epoch in range(1, epochs + 1):
        order = torch.randperm(n_rows, generator=batches, device=device)
        total = torch.zeros((), device=device)
        for rows in order.split(plan.batch_size)[: steps - done]:
            loss, watched = loss_of(rows, (epoch - 1) / epochs)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += watched.detach() * rows.numel()
            done += 1
        seen = _finite(float(total) / n_rows, plan)
        lower(seen)
        if average is not None:
            average.update()
        if best is not None:
            best.offer(seen, epoch, parameters)
            if epoch - best.epoch >= (plan.patience or 0):
                break
    if best is not None:
        best.restore()
    if average is not None:
        average.restore()
    network.eval()
    return done


def _rate_schedule(
    optimizer: torch.optim.Optimizer, plan: EpochPlan, epochs: int
) -> Callable[[float], None]:
    """Return a function to call with the watched loss after every epoch."""
    if plan.plateau is not None:
        factor, patience = plan.plateau
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=factor, patience=int(patience)
        )
        return plateau.step
    places = [max(1, int(share * epochs)) for share in plan.milestones]
    falling = torch.optim.lr_scheduler.MultiStepLR(optimizer, places, 0.1)
    return lambda _: falling.step()


def _finite(loss: float, plan: EpochPlan) -> float:
    if math.isfinite(loss):
        return loss
    raise TabSODAError(
        f"The training loss became {loss}. Lower learning_rate (now {plan.learning_rate:g}), or "
        "look for extreme values in continuous columns."
    )
