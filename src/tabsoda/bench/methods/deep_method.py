"""Base of the token models: settings, input and output."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from tabsoda.bench.methods.column_tensors import ColumnTensors
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.plain_table import plain_table
from tabsoda.bench.methods.point_estimates import fill
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.devices import resolve_device


class Prediction(NamedTuple):
    """A model's predictions for all rows of its :class:`ColumnTensors`.

    Attributes
    ----------
    numbers : float64 tensor, shape (n, q)
        In the units of the answers.
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
        numbers = prediction.numbers.cpu().numpy()
        values[np.ix_(data.order, layout.continuous_columns)] = numbers
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
