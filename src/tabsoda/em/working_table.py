"""One table as tensors on the device, rows in an order that the file's order cannot change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.keyed_noise import keyed_uniforms
from tabsoda._internal.randomness import numpy_generator, row_keys, stream_key
from tabsoda.encoding.number_bins import NumberBins
from tabsoda.encoding.ordinal_latent import interval_means, truncated_normal_draw
from tabsoda.encoding.table_codec import TableCodec
from tabsoda.table import CodedTable


def canonical_order(
    table: CodedTable, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of the rows that depends on their content alone, and the keys in that order.

    Training visits rows in this order, so that shuffling the file changes nothing. Rows with equal
    answers are told apart by their weights.
    """
    first = np.arange(table.shape[0]) if weights is None else np.argsort(weights, kind="stable")
    keys = row_keys(table.values[first], table.states.states[first])
    order = np.argsort(keys, kind="stable")
    return first[order], keys[order]


def hold_out_cells(
    visible: NDArray[np.bool_],
    columns: NDArray[np.bool_],
    share: float,
    seed: int,
    levels: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Choose ``ceil(share * n)`` visible cells of each of the given columns (appendix C).

    A cell fewer for every level that would lose its last visible answer.

    Parameters
    ----------
    visible : ndarray of bool, shape (n, d)
        Rows in canonical order.
    columns : ndarray of bool, shape (d,)
        Which columns give cells.
    share : float
    seed : int
    levels : ndarray of float64, shape (n, d), optional
        Level positions, NaN in columns that have no levels.

    Returns
    -------
    ndarray of bool, shape (n, d)
    """
    held_out = np.zeros_like(visible)
    if share == 0:
        return held_out
    for position in np.flatnonzero(columns):
        candidates = np.flatnonzero(visible[:, position])
        # At least two cells must stay, or the column could not be learned at all.
        count = min(int(np.ceil(share * candidates.size)), candidates.size - 2)
        if count > 0:
            generator = numpy_generator(seed, "held out", int(position))
            chosen = generator.choice(candidates, size=count, replace=False)
            held_out[chosen, position] = True
            if levels is not None:
                kept = np.setdiff1d(candidates, chosen)
                held_out[_last_answers(levels[:, position], chosen, kept), position] = False
    return held_out


def _last_answers(
    levels: NDArray[np.float64], chosen: NDArray[np.int64], kept: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the first chosen row of each level that none of the kept rows has."""
    found, first = np.unique(levels[chosen], return_index=True)
    lost = ~np.isin(found, levels[kept]) & ~np.isnan(found)
    return chosen[first[lost]]


@dataclass(frozen=True, eq=False)
class WorkingTable:
    """What training and sampling read; p coordinates, d columns, n rows.

    Attributes
    ----------
    encoded : float32 tensor, shape (n, p)
        Unstandardised visible entries (ordinals at their interval means), 0 elsewhere.
    levels : int64 tensor, shape (n, d)
        Visible categorical answers; 0 elsewhere, to be read under ``visible_columns`` only.
    visible, to_impute, applicable : bool tensor, shape (n, p)
        ``applicable`` is their union; what is not applicable is skipped.
    visible_columns, held_out_columns : bool tensor, shape (n, d)
    held_out_encoded, held_out_levels : tensor, shape (n, p) and (n, d)
        The answers of held-out cells, 0 elsewhere; nothing but the stopping rule and the
        temperatures may read them.
    missing_columns : bool tensor, shape (n, d)
        Cells that are neither visible nor skipped.
    numbers, number_bins : tensor, shape (n, n_numbers)
        Answers of continuous columns for decoder heads, visible and held out, standardised and
        as bins; 0 elsewhere and where the network has no heads.
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
    missing_columns: torch.Tensor
    numbers: torch.Tensor
    number_bins: torch.Tensor

    @classmethod
    def build(
        cls,
        table: CodedTable,
        codec: TableCodec,
        keys: NDArray[np.int64],
        device: torch.device,
        held_out: NDArray[np.bool_] | None = None,
        weights: NDArray[np.float64] | None = None,
        bins: NumberBins | None = None,
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

        columns = layout.continuous_columns
        answers = np.where((visible | held)[:, columns], table.values[:, columns], 0.0)
        numbers = np.zeros(answers.shape)
        placed = np.zeros(answers.shape, dtype=np.int64)
        if bins is not None:
            numbers, placed = bins.standardize(answers), bins.place(answers)

        def tensor(array: NDArray[np.generic], dtype: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

        # Nothing is held out but in a fit: a zero seen as a whole table takes no memory.
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
            missing_columns=tensor(applicable & ~visible, torch.bool),
            numbers=tensor(numbers, torch.float32),
            number_bins=tensor(placed, torch.int64),
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


def chain_key(seed: int, chain: int) -> int:
    """Return the key of one reverse process; the same in every round, for new rows too."""
    return stream_key(seed, "chain", chain)
