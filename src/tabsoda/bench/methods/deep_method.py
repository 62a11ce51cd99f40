"""Base of the token models: settings, input, training loop and output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import nn

from tabsoda.bench.methods.column_tensors import ColumnTensors
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.filling import fill
from tabsoda.bench.methods.plain_table import plain_table
from tabsoda.errors import InputError, TabSODAError
from tabsoda.events import EventLog
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.devices import resolve_device
from tabsoda.torch_runtime.keyed_noise import torch_generator


class Prediction(NamedTuple):
    """A model's predictions for all rows of its :class:`ColumnTensors`.

    Attributes
    ----------
    numbers : float tensor, shape (n, q)
        At unit variance, like the input.
    probabilities : float tensor, shape (n, c, max_levels)
        0 for levels that do not exist.
    """

    numbers: torch.Tensor
    probabilities: torch.Tensor


class DeepMethod:
    """A token model under comparison; subclasses implement the prediction.

    Parameters
    ----------
    budget : {"full", "reduced"}
        The settings as published, or small ones for a CPU.
    settings : dict, optional
        Overrides, by the fields of ``settings_type``.
    device : str
    """

    name: ClassVar[str]
    knows_skips = False
    settings_type: ClassVar[type]
    reduced: ClassVar[dict[str, Any]]
    continuous: ClassVar[str] = "standard"

    def __init__(
        self,
        *,
        budget: str = "full",
        settings: dict[str, Any] | None = None,
        device: str = "auto",
    ) -> None:
        if budget not in ("full", "reduced"):
            raise InputError("Unknown budget", found=repr(budget), expected="'full' or 'reduced'")
        names = [item.name for item in fields(self.settings_type)]
        for option in settings or {}:
            if option not in names:
                raise InputError(
                    f"{self.name} has no setting called '{option}'",
                    expected=f"one of {', '.join(names)}",
                )
        start = self.reduced if budget == "reduced" else {}
        self.settings = self.settings_type(**{**start, **(settings or {})})
        self.device = device
        self.events = EventLog()

    def impute(
        self, table: CodedTable, seed: int, skip_view: SkipView = SkipView.BLIND
    ) -> Estimates:
        """Estimate every missing cell of a table."""
        self.events = EventLog()
        device = resolve_device(self.device, self.events)
        plain = plain_table(table, skip_view)
        data = ColumnTensors.build(plain, self.continuous, device, self.events)
        codec, layout = data.codec, data.codec.layout
        values = np.tile(codec.pass_value, (plain.shape[0], 1))
        if data.n_columns == 0 or not data.incomplete_rows().numel():
            return fill(table, values, {})
        prediction = self.predict(data, seed)
        numbers = prediction.numbers.double().cpu().numpy()
        values[np.ix_(data.order, layout.continuous_columns)] = codec.continuous.decode(numbers)
        given = np.empty(prediction.probabilities.shape)
        given[data.order] = prediction.probabilities.double().cpu().numpy()
        probabilities = {
            position: given[:, place]
            for place, position in enumerate(layout.bit_columns.tolist())
            if position < len(table.columns)
        }
        return fill(table, values, probabilities)

    def predict(self, data: ColumnTensors, seed: int) -> Prediction:
        """Train on the known cells and predict the others."""
        raise NotImplementedError


def train(
    network: nn.Module,
    loss_of: Callable[[torch.Tensor, float], torch.Tensor],
    n_rows: int,
    *,
    steps: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
) -> None:
    """Minimise a loss over batches of rows by Adam, in place.

    The learning rate falls to a tenth after 75 % of the steps, and again after 90 %.

    Parameters
    ----------
    network : Module
    loss_of : callable
        ``loss_of(rows, progress)`` returns a tensor of shape (); progress runs from 0 to 1.
    n_rows, steps, batch_size : int
    learning_rate : float
    seed : int
        Draws the batches.
    """
    device = next(network.parameters()).device
    batches = torch_generator(seed, "batches", device=device)
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate, fused=True)
    milestones = [max(1, int(0.75 * steps)), max(2, int(0.9 * steps))]
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones, 0.1)
    batch_size = min(batch_size, n_rows)
    per_pass = n_rows // batch_size
    total = torch.zeros((), device=device)
    network.train()
    for step in range(steps):
        place = step % per_pass
        if place == 0:
            order = torch.randperm(n_rows, generator=batches, device=device)
        loss = loss_of(order[place * batch_size : (place + 1) * batch_size], step / steps)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.detach()
    network.eval()
    if not torch.isfinite(total):
        raise TabSODAError(
            f"The training loss became {float(total)}. Lower learning_rate "
            f"(now {learning_rate:g}), or look for extreme values in continuous columns."
        )
