"""The M-step's objective: all loss terms of one table, Eq. (tabsoda_loss)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from tabsoda.paper.bits import prototype_log_probabilities
from tabsoda.paper.latents import level_probabilities
from tabsoda.paper.layout import Layout, n_bits
from tabsoda.paper.losses import (
    continuous_loss,
    entry_weights,
    inverse_frequency_weights,
    nominal_loss,
    ordinal_loss,
    reconstruction_loss,
)
from tabsoda.paper.settings import LossSettings

_LAYOUT_ARRAYS = (
    "column_of",
    "continuous_columns",
    "continuous_coordinates",
    "bit_columns",
    "bit_coordinates",
    "bit_valid",
    "codewords",
    "level_valid",
    "ordinal_columns",
    "ordinal_coordinates",
)


class Targets(NamedTuple):
    """The targets of a batch, and which cells count.

    Attributes
    ----------
    standardized, encoded : float32 tensor, shape (B, p)
        The completed table after and before standardising.
    levels : int64 tensor, shape (B, d)
        Answers of categorical columns, from 0; ignored where not supervised.
    supervised : bool tensor, shape (B, d)
        Cells whose answer is known and counts: the visible ones, or those hidden for this step.
    to_impute, applicable : bool tensor, shape (B, p)
    row_weight : float tensor, shape (B,), optional
    """

    standardized: torch.Tensor
    encoded: torch.Tensor
    levels: torch.Tensor
    supervised: torch.Tensor
    to_impute: torch.Tensor
    applicable: torch.Tensor
    row_weight: torch.Tensor | None = None


class Decoded(NamedTuple):
    """A prediction decoded per kind of column.

    Attributes
    ----------
    continuous : tensor, shape (B, n_continuous)
    nominal : tensor, shape (B, n_bit_columns, max_levels)
        Log probabilities.
    ordinal : tensor, shape (B, n_latent, max_cutpoints + 1)
        Probabilities.
    """

    continuous: torch.Tensor
    nominal: torch.Tensor
    ordinal: torch.Tensor


class LossTerms(NamedTuple):
    """The objective and its unweighted parts, each a tensor of shape ()."""

    total: torch.Tensor
    reconstruction: torch.Tensor
    continuous: torch.Tensor
    nominal: torch.Tensor
    ordinal: torch.Tensor


class Objective(nn.Module):
    """All loss terms over the columns of a layout; has no trainable weights.

    Parameters
    ----------
    layout : Layout
    settings : LossSettings
    data_scale : float
    level_counts : tensor, shape (n_latent, max_cutpoints + 1), optional
        Visible answers per level of the latent ordinals; needed by the class-balanced variant.
    """

    column_of: torch.Tensor
    continuous_columns: torch.Tensor
    continuous_coordinates: torch.Tensor
    bit_columns: torch.Tensor
    bit_coordinates: torch.Tensor
    bit_valid: torch.Tensor
    codewords: torch.Tensor
    level_valid: torch.Tensor
    ordinal_columns: torch.Tensor
    ordinal_coordinates: torch.Tensor
    n_levels: torch.Tensor
    width_parity: torch.Tensor | None
    level_weights: torch.Tensor | None

    def __init__(
        self,
        layout: Layout,
        settings: LossSettings,
        data_scale: float,
        level_counts: torch.Tensor | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.data_scale = data_scale
        for name in _LAYOUT_ARRAYS:
            self.register_buffer(name, torch.as_tensor(getattr(layout, name)), persistent=False)
        n_levels = torch.as_tensor(layout.n_levels[layout.ordinal_columns])
        self.register_buffer("n_levels", n_levels, persistent=False)
        parity = width_parity(layout) if settings.width_parity else None
        self.register_buffer("width_parity", parity, persistent=False)
        weights = None
        if settings.class_balanced:
            if level_counts is None:
                raise ValueError("the class-balanced loss needs level_counts")
            weights = inverse_frequency_weights(level_counts.float())
        self.register_buffer("level_weights", weights, persistent=False)

    def decode(self, encoded: torch.Tensor, cutpoints: torch.Tensor) -> Decoded:
        """Decode a prediction as in the paper: prototype softmax and cumulative probit.

        Parameters
        ----------
        encoded : tensor, shape (B, p)
            The denoiser's output after inverting the standardiser: codewords are 0 and 1, and
            cutpoints are on the latents' scale.
        cutpoints : tensor, shape (n_latent, max_cutpoints)
        """
        if self.bit_columns.shape[0]:
            bits = encoded.index_select(1, self.bit_coordinates.flatten())
            bits = bits.unflatten(1, self.bit_coordinates.shape)
            nominal = prototype_log_probabilities(
                bits, self.codewords, self.bit_valid, self.level_valid
            )
        else:
            nominal = encoded.new_zeros(encoded.shape[0], 0, 1)
        if self.ordinal_columns.shape[0]:
            ordinal = level_probabilities(
                encoded.index_select(1, self.ordinal_coordinates), cutpoints
            )
        else:
            ordinal = encoded.new_zeros(encoded.shape[0], 0, 2)
        continuous = encoded.index_select(1, self.continuous_coordinates)
        return Decoded(continuous, nominal, ordinal)

    def forward(
        self,
        prediction: torch.Tensor,
        noise_level: torch.Tensor,
        decoded: Decoded,
        targets: Targets,
        ramp: torch.Tensor | float = 0.0,
    ) -> LossTerms:
        """Return the objective of a batch and its parts.

        Parameters
        ----------
        prediction : tensor, shape (B, p)
            The denoiser's output, standardised.
        noise_level : tensor, shape (B,)
        decoded : Decoded
            From the same pass or from one at low noise.
        targets : Targets
        ramp : float or tensor of shape ()
            Weight of imputed entries in the reconstruction.
        """
        reconstruction = self.reconstruction(prediction, noise_level, targets, ramp)
        weights = self.settings
        continuous = self.continuous(decoded, targets)
        nominal = self.nominal(decoded, targets)
        ordinal = self.ordinal(decoded, targets)
        total = (
            weights.reconstruction * reconstruction
            + weights.continuous * continuous
            + weights.nominal * nominal
            + weights.ordinal * ordinal
        )
        return LossTerms(total, reconstruction, continuous, nominal, ordinal)

    def reconstruction(
        self,
        prediction: torch.Tensor,
        noise_level: torch.Tensor,
        targets: Targets,
        ramp: torch.Tensor | float = 0.0,
    ) -> torch.Tensor:
        """Return the denoising term, unweighted; parameters as in :meth:`forward`."""
        return reconstruction_loss(
            prediction,
            targets.standardized,
            noise_level,
            targets.applicable,
            entry_weights(
                targets.supervised[:, self.column_of], targets.to_impute, ramp, self.width_parity
            ),
            self.data_scale,
            targets.row_weight,
        )

    def continuous(self, decoded: Decoded, targets: Targets) -> torch.Tensor:
        """Return the continuous term, unweighted."""
        return continuous_loss(
            decoded.continuous,
            targets.encoded[:, self.continuous_coordinates],
            targets.supervised[:, self.continuous_columns],
            targets.row_weight,
            self.settings.reduction,
        )

    def nominal(self, decoded: Decoded, targets: Targets) -> torch.Tensor:
        """Return the cross-entropy over nominals and the ordinals encoded as bits, unweighted."""
        return nominal_loss(
            decoded.nominal,
            targets.levels[:, self.bit_columns],
            targets.supervised[:, self.bit_columns],
            targets.row_weight,
            self.settings.reduction,
        )

    def ordinal(self, decoded: Decoded, targets: Targets) -> torch.Tensor:
        """Return the cumulative-probit term, unweighted; also what calibrates the cutpoints."""
        return ordinal_loss(
            decoded.ordinal,
            targets.levels[:, self.ordinal_columns],
            targets.supervised[:, self.ordinal_columns],
            self.n_levels,
            self.settings.ranked_probability,
            self.level_weights,
            targets.row_weight,
            self.settings.reduction,
        )


def width_parity(layout: Layout) -> torch.Tensor:
    """Return λ_width per coordinate: bits of K for a latent ordinal, 1 elsewhere; shape (p,)."""
    multiplier = torch.ones(layout.n_coordinates)
    widths = [float(n_bits(int(k))) for k in layout.n_levels[layout.ordinal_columns]]
    multiplier[torch.as_tensor(layout.ordinal_coordinates)] = torch.tensor(widths)
    return multiplier
