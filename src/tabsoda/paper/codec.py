"""Converts a whole table to coordinates and back.

Input: a CodedTable and the mask of visible cells. Output: a :class:`TableCodec`, which encodes,
fills, decodes and re-encodes any table of the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from tabsoda.coding.continuous import ContinuousCoder
from tabsoda.coding.modelled_columns import check_visible, count_levels, find_modelled_columns
from tabsoda.coding.table_checks import check_levels
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.paper.cutpoints import smoothed_cutpoints
from tabsoda.paper.decoding import (
    Rule,
    decode_bits,
    decode_latents,
    decode_probabilities,
)
from tabsoda.paper.latents import interval_means, truncated_normal_draw
from tabsoda.paper.layout import Layout, build_layout
from tabsoda.paper.ordinal_route import route_ordinals
from tabsoda.paper.settings import EncodingSettings
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

Encoded = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TableCodec:
    """Encoder and decoder of one table's columns.

    Columns with fewer than two distinct visible answers have no coordinates; decoding gives them
    ``pass_value``. All encoded tables here are unstandardised.

    Attributes
    ----------
    names : tuple of str
        All d columns.
    layout : Layout
    continuous : ContinuousCoder
        Coder of ``layout.continuous_columns``, in that order.
    cutpoints : ndarray of float32, shape (n_latent, max_cutpoints)
        The encoder's cutpoints, +inf in the padding.
    level_counts : ndarray of int64, shape (d, max_levels)
        Visible answers per level; 0 in the padding and for continuous columns.
    fill : ndarray of float32, shape (p,)
        Initial value of a missing cell: the mean over visible cells, the median for latents.
    pass_value : ndarray of float64, shape (d,)
        Value for missing cells of a column without coordinates; NaN: they stay missing.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns = (Column("age", ColumnKind.CONTINUOUS),
    ...            Column("region", ColumnKind.NOMINAL, levels=("n", "e", "s")),
    ...            Column("health", ColumnKind.ORDINAL, levels=(1, 2, 3)))
    >>> values = np.array([[30, 0, 0], [40, 2, 1], [53, 1, 2], [61, 0, np.nan]])
    >>> table = CodedTable.from_values(columns, values)
    >>> codec = TableCodec.fit(table, table.states.answered, EncodingSettings(), EventLog())
    >>> encoded = codec.encode(table.values)
    >>> encoded.shape
    (4, 4)
    >>> codec.decode_point(encoded, rule="interval")[:3].tolist()
    [[30.0, 0.0, 0.0], [40.0, 2.0, 1.0], [53.0, 1.0, 2.0]]
    """

    names: tuple[str, ...]
    layout: Layout
    continuous: ContinuousCoder
    cutpoints: Encoded
    level_counts: NDArray[np.int64]
    fill: Encoded
    pass_value: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        visible: Mask,
        settings: EncodingSettings,
        events: EventLog,
        latent: Mask | None = None,
    ) -> TableCodec:
        """Fit routes, cutpoints and scales to the visible cells only.

        Parameters
        ----------
        table : CodedTable
        visible : ndarray of bool, shape (n, d)
            Answered cells that may be used.
        settings : EncodingSettings
        events : EventLog
        latent : ndarray of bool, shape (d,), optional
            Which ordinals get a latent; :func:`route_ordinals` of the visible answers unless given.
        """
        check_visible(table, visible)
        values = np.where(visible, table.values, np.nan)
        found = find_modelled_columns(table, visible, events)
        kinds = np.array([str(column.kind) for column in table.columns], dtype=object)
        n_levels = np.array([column.n_levels for column in table.columns], dtype=np.int64)
        n_levels[kinds == ColumnKind.CONTINUOUS] = 0
        counts = count_levels(values, n_levels)
        route = (
            route_ordinals(table.columns, counts, settings, events) if latent is None else latent
        )
        latents = np.flatnonzero(route & found.modelled)
        numbers = np.flatnonzero((kinds == ColumnKind.CONTINUOUS) & found.modelled)
        categorical = np.flatnonzero((kinds != ColumnKind.CONTINUOUS) & found.modelled)
        layout = build_layout(n_levels, numbers, np.setdiff1d(categorical, latents), latents)
        coder = ContinuousCoder.fit(values[:, numbers], visible[:, numbers], settings.continuous)
        for position in numbers[coder.whole]:
            events.add("whole_numbers_kept_whole", column=table.names[position])
        codec = cls(
            names=table.names,
            layout=layout,
            continuous=coder,
            cutpoints=smoothed_cutpoints(
                counts[latents, : layout.max_cutpoints + 1],
                n_levels[latents],
                settings.cutpoint_prior,
            ),
            level_counts=counts,
            fill=np.zeros(layout.n_coordinates, dtype=np.float32),
            pass_value=found.constants,
        )
        return replace(codec, fill=codec._starting_values(codec.encode(values), visible))

    def _starting_values(self, encoded: Encoded, visible: Mask) -> Encoded:
        """Return the mean of each coordinate over visible cells; the median for latents."""
        seen = np.where(self.layout.widen(visible), encoded.astype(np.float64), np.nan)
        fill = np.nanmean(seen, axis=0)
        latents = self.layout.ordinal_coordinates
        fill[latents] = np.nanmedian(seen[:, latents], axis=0)
        return fill.astype(np.float32)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The column each coordinate belongs to, by name."""
        return tuple(self.names[position] for position in self.layout.column_of)

    @property
    def modelled(self) -> Mask:
        """Which columns have coordinates, shape (d,)."""
        return np.isin(np.arange(len(self.names)), self.layout.column_of)

    @property
    def fillable(self) -> Mask:
        """Which columns get values: modelled ones and those with a constant, shape (d,)."""
        return self.modelled | ~np.isnan(self.pass_value)

    @property
    def categorical_columns(self) -> NDArray[np.int64]:
        """The columns of :meth:`level_probabilities`: bit columns, then latent ordinals."""
        return np.concatenate([self.layout.bit_columns, self.layout.ordinal_columns])

    def with_cutpoints(self, cutpoints: ArrayLike | torch.Tensor) -> TableCodec:
        """Return a codec whose encoder uses other cutpoints (the paper's literal coupling)."""
        return replace(self, cutpoints=_to_numpy(cutpoints).astype(np.float32))

    def encode(
        self,
        values: NDArray[np.float64],
        visible: Mask | None = None,
        latents: Literal["mean"] | torch.Tensor | NDArray[np.floating] = "mean",
    ) -> Encoded:
        """Return coordinates, Eq. (encoding); those of cells without a usable answer are 0.

        Parameters
        ----------
        values : ndarray of float64, shape (n, d)
            As in :class:`~tabsoda.table.CodedTable`; NaN where there is no answer.
        visible : ndarray of bool, shape (n, d), optional
            Other cells are treated as unanswered.
        latents : "mean" or array of shape (n, n_latent)
            Latent ordinals as the mean of their interval, or drawn within it with these uniforms.

        Returns
        -------
        ndarray of float32, shape (n, p)
        """
        usable = ~np.isnan(values) if visible is None else visible & ~np.isnan(values)
        layout = self.layout
        check_levels(values, usable, layout.n_levels, self.names)
        answers = np.where(usable, values, 0.0)
        encoded = np.zeros((values.shape[0], layout.n_coordinates), dtype=np.float32)
        encoded[:, layout.continuous_coordinates] = self.continuous.encode(
            answers[:, layout.continuous_columns]
        )
        levels = answers[:, layout.bit_columns].astype(np.int64)
        words = layout.codewords[np.arange(layout.bit_columns.size), levels]
        encoded[:, layout.bit_coordinates[layout.bit_valid]] = words[:, layout.bit_valid]
        encoded[:, layout.ordinal_coordinates] = self._latents(
            answers[:, layout.ordinal_columns].astype(np.int64), latents
        )
        encoded[~layout.widen(usable)] = 0.0
        return encoded

    def _latents(
        self, levels: NDArray[np.int64], latents: str | torch.Tensor | NDArray[np.floating]
    ) -> Encoded:
        cutpoints = torch.from_numpy(self.cutpoints)
        if isinstance(latents, str):
            means = interval_means(cutpoints).numpy()
            return means[np.arange(levels.shape[1]), levels]
        uniforms = torch.as_tensor(_to_numpy(latents))
        return truncated_normal_draw(torch.from_numpy(levels), cutpoints, uniforms).numpy()

    def decode_point(
        self,
        encoded: Encoded | torch.Tensor,
        temperature: ArrayLike = 1.0,
        rule: Rule = "mode",
        *,
        cutpoints: ArrayLike | torch.Tensor | None = None,
        whole_numbers: bool = True,
    ) -> NDArray[np.float64]:
        """Return one value per cell, skipped or not; levels by their position.

        Nominals and ordinals encoded as bits always take the nearest valid codeword: a prototype
        softmax is too flat for a median to return an exact codeword's own level.

        Parameters
        ----------
        encoded : ndarray or tensor, shape (n, p)
            Unstandardised.
        temperature : float or array of shape (n_latent,)
            For the rules ``"mode"`` and ``"median"``.
        rule : {"mode", "median", "interval"}
            How latent ordinals are decoded: the most probable level, the median of the level
            probabilities, or the interval the latent lies in.
        cutpoints : array of shape (n_latent, max_cutpoints), optional
            The decoder's cutpoints; the encoder's unless given.
        whole_numbers : bool
            Round the columns whose visible answers were all whole.

        Returns
        -------
        ndarray of float64, shape (n, d)
            Columns without coordinates hold ``pass_value``.
        """
        if rule not in ("mode", "median", "interval"):
            raise InputError(
                "Unknown decoding rule",
                found=repr(rule),
                expected="'mode', 'median' or 'interval'",
            )
        table = torch.as_tensor(_to_numpy(encoded), dtype=torch.float32)
        layout, tensors = self.layout, self.layout.tensors()
        numbers = table[:, tensors.continuous_coordinates].double().numpy()
        values = np.tile(self.pass_value, (table.shape[0], 1))
        values[:, layout.continuous_columns] = self.continuous.decode(numbers, whole_numbers)
        values[:, layout.bit_columns] = decode_bits(table, tensors).numpy()
        decoder = self._decoder(temperature, cutpoints)
        values[:, layout.ordinal_columns] = decode_latents(table, tensors, *decoder, rule).numpy()
        return values

    def reencode(
        self,
        encoded: Encoded | torch.Tensor,
        temperature: ArrayLike = 1.0,
        rule: Rule = "interval",
        *,
        cutpoints: ArrayLike | torch.Tensor | None = None,
    ) -> Encoded:
        """Replace every categorical entry by the code of its decoded level; numbers are unchanged.

        The completed table then contains only valid codes: exact codewords, and interval means of
        the encoder's cutpoints. Parameters as in :meth:`decode_point`.
        """
        table = _to_numpy(encoded)
        values = self.decode_point(table, temperature, rule, cutpoints=cutpoints)
        clean = self.encode(values)
        numbers = self.layout.continuous_coordinates
        clean[:, numbers] = table[:, numbers]
        return clean

    def level_probabilities(
        self,
        encoded: Encoded | torch.Tensor,
        temperature: ArrayLike = 1.0,
        *,
        cutpoints: ArrayLike | torch.Tensor | None = None,
    ) -> Encoded:
        """Return the probability of every level: prototype softmax for bits, probit for latents.

        Returns
        -------
        ndarray of float32, shape (n, n_categorical, max_levels)
            In the order of :attr:`categorical_columns`; 0 in the padding.
        """
        table = torch.as_tensor(_to_numpy(encoded), dtype=torch.float32)
        decoder = self._decoder(temperature, cutpoints)
        return decode_probabilities(table, self.layout.tensors(), *decoder).numpy()

    def _decoder(
        self, temperature: ArrayLike, cutpoints: ArrayLike | torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cutpoints (the encoder's unless given) and one temperature per latent."""
        chosen = self.cutpoints if cutpoints is None else _to_numpy(cutpoints)
        spread = torch.as_tensor(np.asarray(temperature, dtype=np.float32))
        return (
            torch.as_tensor(chosen, dtype=torch.float32),
            spread.expand(self.layout.ordinal_columns.size),
        )

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what :meth:`from_state` needs: arrays, and content for JSON."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"continuous.{name}": getattr(self.continuous, name) for name in _CODER_ARRAYS}
        arrays |= {f"layout.{name}": getattr(self.layout, name) for name in _LAYOUT_ARRAYS}
        return arrays, {"names": list(self.names), "continuous": self.continuous.option}

    @classmethod
    def from_state(cls, arrays: dict[str, NDArray[Any]], content: dict[str, Any]) -> TableCodec:
        """Rebuild a codec from :meth:`to_state`."""
        try:
            layout = build_layout(*(arrays[f"layout.{name}"] for name in _LAYOUT_ARRAYS))
            coder = ContinuousCoder(
                content["continuous"], *(arrays[f"continuous.{name}"] for name in _CODER_ARRAYS)
            )
            fields = {name: arrays[name] for name in _ARRAYS}
            names = tuple(str(name) for name in content["names"])
        except (KeyError, IndexError, TypeError) as error:
            raise InputError(
                "The saved encoding is incomplete",
                found=f"no usable {error}",
                next_step="Save the model again, or load another one",
            ) from error
        fits = (
            len(names) == layout.n_levels.size == fields["pass_value"].size
            and fields["fill"].shape == (layout.n_coordinates,)
            and fields["cutpoints"].shape == layout.cutpoint_valid.shape
            and coder.mean.shape == layout.continuous_columns.shape
        )
        if not fits:
            raise InputError(
                "The parts of the saved encoding are inconsistent",
                found=f"{len(names)} columns, {fields['fill'].size} coordinates",
                expected=f"{layout.n_levels.size} columns, {layout.n_coordinates} coordinates",
                next_step="Save the model again, or load another one",
            )
        return cls(names=names, layout=layout, continuous=coder, **fields)


_ARRAYS = ("cutpoints", "level_counts", "fill", "pass_value")
_CODER_ARRAYS = ("mean", "scale", "whole", "knots", "scores")
_LAYOUT_ARRAYS = ("n_levels", "continuous_columns", "bit_columns", "ordinal_columns")


def _to_numpy(array: ArrayLike | torch.Tensor) -> NDArray[Any]:
    if isinstance(array, torch.Tensor):
        return array.detach().cpu().numpy()
    return np.asarray(array)
