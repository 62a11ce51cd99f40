"""One table as tensors on the device, with rows in canonical order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import stream_key
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.latents import interval_means, truncated_normal_draw
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms


@dataclass(frozen=True, eq=False)
class WorkingTable:
    """The input of training and sampling; p coordinates, d columns, n rows.

    Attributes
    ----------
    encoded : float32 tensor, shape (n, p)
        Unstandardised visible entries (ordinals at their interval means), 0 elsewhere.
    levels : int64 tensor, shape (n, d)
        Visible categorical answers; 0 elsewhere, valid only under ``visible_columns``.
    visible, to_impute, applicable : bool tensor, shape (n, p)
        ``applicable`` is their union; other entries are skipped.
    visible_columns, held_out_columns : bool tensor, shape (n, d)
    held_out_encoded, held_out_levels : tensor, shape (n, p) and (n, d)
        The answers of held-out cells, 0 elsewhere; only the stopping rule and the temperatures
        may use them.
    row_keys : int64 tensor, shape (n,)
    row_weights : float32 tensor, shape (n,)
        Mean 1.
    """

    encoded: torch.Tensor
    levels: torch.Tensor
    visible: torch.Tensor
    to_impute: torch.Tensor
    applicable: torch.Tensor
    visible_columns: torch.Tensor
    held_out_columns: torch.Tensor
    held_out_encoded: torch.Tensor
    held_out_levels: torch.Tensor
    row_keys: torch.Tensor
    row_weights: torch.Tensor

    @classmethod
    def build(
        cls,
        table: CodedTable,
        codec: TableCodec,
        keys: NDArray[np.int64],
        device: torch.device,
        held_out: NDArray[np.bool_] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> WorkingTable:
        """Encode a table; cells of columns that the codec passes through have no coordinates."""
        held = np.zeros(table.shape, dtype=bool) if held_out is None else held_out
        visible = table.states.answered & ~held
        applicable = ~table.states.skipped
        values = np.where(visible, table.values, np.nan)
        layout = codec.layout
        wide_visible = layout.widen(visible)
        wide_applicable = layout.widen(applicable)
        row_weights = np.ones(table.shape[0]) if weights is None else weights / weights.mean()

        def tensor(array: NDArray[np.generic], dtype: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

        # Only a fit has held-out cells; otherwise an expanded zero needs no memory.
        n_rows, n_coordinates = table.shape[0], layout.n_coordinates
        held_encoded = torch.zeros((1, 1), device=device).expand(n_rows, n_coordinates)
        held_levels = torch.zeros((1, 1), dtype=torch.int64, device=device).expand(*table.shape)
        if held_out is not None:
            held_values = np.where(held, table.values, np.nan)
            held_encoded = tensor(codec.encode(held_values), torch.float32)
            held_levels = tensor(_whole(held_values), torch.int64)
        return cls(
            encoded=tensor(codec.encode(values), torch.float32),
            levels=tensor(_whole(values), torch.int64),
            visible=tensor(wide_visible, torch.bool),
            to_impute=tensor(wide_applicable & ~wide_visible, torch.bool),
            applicable=tensor(wide_applicable, torch.bool),
            visible_columns=tensor(visible, torch.bool),
            held_out_columns=tensor(held, torch.bool),
            held_out_encoded=held_encoded,
            held_out_levels=held_levels,
            row_keys=tensor(keys, torch.int64),
            row_weights=tensor(row_weights, torch.float32),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.encoded.shape[0]

    def incomplete_rows(self) -> torch.Tensor:
        """Return the rows that have an entry to impute; only these are sampled."""
        return torch.nonzero(self.to_impute.any(dim=1)).ravel()

    def with_interval_means(
        self, cutpoints: torch.Tensor, columns: torch.Tensor, coordinates: torch.Tensor
    ) -> WorkingTable:
        """Return the table with its visible latents at the interval means of other cutpoints.

        Parameters as in :meth:`draw_latents`.
        """
        means = interval_means(cutpoints).T.gather(0, self.levels[:, columns])
        encoded = self.encoded.clone()
        encoded[:, coordinates] = torch.where(self.visible[:, coordinates], means, 0.0)
        return replace(self, encoded=encoded)

    def draw_latents(
        self, cutpoints: torch.Tensor, columns: torch.Tensor, coordinates: torch.Tensor, key: int
    ) -> torch.Tensor:
        """Return ``encoded`` with the ordinal latents drawn within their intervals.

        Parameters
        ----------
        cutpoints : float tensor, shape (n_latent, max_cutpoints)
        columns, coordinates : int64 tensor, shape (n_latent,)
        key : int
            From :func:`tabsoda._internal.randomness.stream_key`.
        """
        if not columns.numel():
            return self.encoded
        uniforms = keyed_uniforms(key, self.row_keys, columns.numel())
        latents = truncated_normal_draw(self.levels[:, columns], cutpoints, uniforms)
        encoded = self.encoded.clone()
        encoded[:, coordinates] = torch.where(self.visible[:, coordinates], latents, 0.0)
        return encoded


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return values as integers; 0 for NaN. Numbers of continuous columns are never read."""
    return np.nan_to_num(values).clip(0, 2**31).astype(np.int64)


def chain_key(seed: int, chain: int, round_number: int | None) -> int:
    """Return the key of one reverse process of an EM round; None: the same in every round."""
    if round_number is None:
        return stream_key(seed, "chain", chain)
    return stream_key(seed, "chain", chain, "round", round_number)
