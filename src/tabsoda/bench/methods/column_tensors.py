"""A table as tensors: numbers and levels by column, and which of them are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.coding.row_order import canonical_order
from tabsoda.events import EventLog
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.settings import EncodingSettings
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class ColumnTensors:
    """The input of the token models; n rows, q numbers, c categorical columns.

    Columns with fewer than two distinct answers are excluded. The order of rows depends only on
    their content, so that shuffling the file changes nothing.

    Attributes
    ----------
    codec : TableCodec
        The binary encoding; maps its columns to those of the table.
    order : ndarray of int64, shape (n,)
        For each row, its row in the table.
    row_keys : int64 tensor, shape (n,)
    encoded : float32 tensor, shape (n, p)
        Numbers, then bits; 0 where not known.
    numbers : float32 tensor, shape (n, q)
        At unit variance; 0 where not known.
    levels : int64 tensor, shape (n, c)
        0 where not known.
    numbers_known, levels_known : bool tensor, shape (n, q) and (n, c)
    level_valid : bool tensor, shape (c, max_levels)
        Which levels each column has.
    """

    codec: TableCodec
    order: NDArray[np.int64]
    row_keys: torch.Tensor
    encoded: torch.Tensor
    numbers: torch.Tensor
    levels: torch.Tensor
    numbers_known: torch.Tensor
    levels_known: torch.Tensor
    level_valid: torch.Tensor

    @classmethod
    def build(
        cls, table: CodedTable, continuous: str, device: torch.device, events: EventLog
    ) -> ColumnTensors:
        """Encode a table without skips.

        Parameters
        ----------
        table : CodedTable
        continuous : {"standard", "normal_score"}
            How numbers are brought to unit variance.
        device : torch.device
        events : EventLog
        """
        order, keys = canonical_order(table)
        table = table.rows(order)
        answered = table.states.answered
        settings = EncodingSettings(ordinal="bits", continuous=continuous)
        codec = TableCodec.fit(table, answered, settings, events)
        layout = codec.layout
        encoded = codec.encode(table.values)
        levels = np.nan_to_num(table.values[:, layout.bit_columns]).astype(np.int64)

        def tensor(array: NDArray[np.generic]) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), device=device)

        return cls(
            codec=codec,
            order=order,
            row_keys=tensor(keys),
            encoded=tensor(encoded),
            numbers=tensor(encoded[:, layout.continuous_coordinates]),
            levels=tensor(levels),
            numbers_known=tensor(answered[:, layout.continuous_columns]),
            levels_known=tensor(answered[:, layout.bit_columns]),
            level_valid=tensor(layout.level_valid),
        )

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.numbers.device

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.numbers.shape[0]

    @property
    def n_columns(self) -> int:
        """Numbers and categorical columns together: the tokens of a row."""
        return self.numbers.shape[1] + self.levels.shape[1]

    @property
    def known(self) -> torch.Tensor:
        """Which cells are known, numbers first; bool, shape (n, q + c)."""
        return torch.cat([self.numbers_known, self.levels_known], dim=1)

    def incomplete_rows(self) -> torch.Tensor:
        """Return the rows with unknown cells."""
        return torch.nonzero(~self.known.all(dim=1)).ravel()

    def decoded(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return numbers (n, q) in the units of the answers, not rounded; float64."""
        units = self.codec.continuous.decode(numbers.double().cpu().numpy(), whole_numbers=False)
        return torch.as_tensor(units, device=self.device)

    def mean_filled(self) -> torch.Tensor:
        """Return the numbers with unknown ones at their column's mean, as released code does.

        Returns
        -------
        float32 tensor, shape (n, q)
        """
        count = self.numbers_known.sum(dim=0).clamp(min=1)
        means = self.numbers.masked_fill(~self.numbers_known, 0.0).sum(dim=0) / count
        return torch.where(self.numbers_known, self.numbers, means)

    def drawn_levels(self, seed: int) -> torch.Tensor:
        """Return the levels with unknown ones drawn from the answers of their column.

        Returns
        -------
        int64 tensor, shape (n, c)
        """
        uniforms = numpy_generator(seed, "fill").random(self.levels.shape)
        # Known rows first in every column, then pick one of them.
        donors = torch.sort((~self.levels_known).to(torch.int8), dim=0, stable=True).indices
        place = torch.as_tensor(uniforms, device=self.device) * self.levels_known.sum(dim=0)
        place = place.long().clamp(max=self.n_rows - 1)
        return torch.where(
            self.levels_known, self.levels, self.levels.gather(0, donors.gather(0, place))
        )
