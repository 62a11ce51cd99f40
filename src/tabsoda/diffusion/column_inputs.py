"""How a cell enters a network that learns a vector for every answer.

A visible answer is a learned vector of its column and level; hidden and skipped cells have vectors
of their own. Numbers, and latents of ordinals, add waves of their score, so that near answers have
near vectors. What noise has left of a hidden cell enters beside them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tabsoda.diffusion.backbone import DenoiserInput
from tabsoda.encoding.layout import Layout

# Waves per score, and the spread of their frequencies at the start.
N_WAVES = 4
_FREQUENCY_SPREAD = 0.3
# Waves come as sine and cosine; the score itself is one more feature.
N_FEATURES = 2 * N_WAVES + 1


class CellInputs(NamedTuple):
    """A batch, ready for embedding; T columns, S scores, p coordinates.

    Attributes
    ----------
    tokens : int64 tensor, shape (B, T)
        Rows of the table of learned vectors.
    waves : float tensor, shape (B, S, N_FEATURES)
        0 where the score is not visible.
    noisy : float tensor, shape (B, p)
        What is left of hidden entries, 0 where visible, unknown or skipped.
    """

    tokens: torch.Tensor
    waves: torch.Tensor
    noisy: torch.Tensor


class ColumnInputs(nn.Module):
    """Turns a :class:`DenoiserInput` into tokens and waves.

    Parameters
    ----------
    layout : Layout
    data_scale : float
        Standard deviation of the coordinates before noise.
    generator : torch.Generator
        Draws the frequencies.
    """

    columns: torch.Tensor
    first: torch.Tensor
    n_levels: torch.Tensor
    offsets: torch.Tensor
    score_coordinates: torch.Tensor

    def __init__(self, layout: Layout, data_scale: float, generator: torch.Generator) -> None:
        super().__init__()
        columns = np.unique(layout.column_of)
        first = np.searchsorted(_sorted(layout.column_of), columns)
        coordinates = np.argsort(layout.column_of, kind="stable")[first]
        n_levels = layout.n_levels[columns]
        # Levels, then hidden and skipped; a visible number has a third vector.
        sizes = n_levels + np.where(n_levels == 0, 3, 2)
        self.n_tokens = int(sizes.sum())
        self.data_scale = data_scale
        scores = np.concatenate([layout.continuous_coordinates, layout.ordinal_coordinates])
        self.score_columns = np.searchsorted(columns, layout.column_of[scores])
        self.coordinate_columns = np.searchsorted(columns, layout.column_of)
        for name, array in (
            ("columns", columns),
            ("first", coordinates),
            ("n_levels", n_levels),
            ("offsets", np.cumsum(sizes) - sizes),
            ("score_coordinates", scores),
        ):
            self.register_buffer(name, torch.as_tensor(array), persistent=False)
        drawn = torch.randn(scores.size, N_WAVES, generator=generator)
        self.frequencies = nn.Parameter(_FREQUENCY_SPREAD * drawn)

    def forward(self, inputs: DenoiserInput) -> CellInputs:
        """Look up every cell's state and answer."""
        visible = inputs.visible.index_select(1, self.first)
        skipped = inputs.skipped.index_select(1, self.first)
        if inputs.levels is None:
            raise ValueError("this backbone reads levels")
        answer = inputs.levels.index_select(1, self.columns).clamp(min=0)
        # A number has no level: its visible cells share the vector behind hidden and skipped.
        answer = torch.where(self.n_levels == 0, 2, torch.minimum(answer, self.n_levels - 1))
        absent = self.n_levels + skipped.long()
        tokens = self.offsets + torch.where(visible, answer, absent)
        score = inputs.state.index_select(1, self.score_coordinates)
        shown = inputs.visible.index_select(1, self.score_coordinates)
        score = score.masked_fill(~shown, 0.0)[..., None]
        angle = 2 * math.pi * score * self.frequencies
        waves = torch.cat([torch.sin(angle), torch.cos(angle), score], dim=2)
        waves = waves.masked_fill(~shown[..., None], 0.0)
        # In pure noise nothing is left of an answer, so nothing should enter.
        noise_level = torch.exp(4 * inputs.noise_label)
        signal = torch.rsqrt(1 + (noise_level / self.data_scale) ** 2)
        noisy = inputs.state.masked_fill(inputs.visible, 0.0) * signal[:, None]
        return CellInputs(tokens, waves, noisy)


def _sorted(column_of: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.sort(column_of, kind="stable")


def multi_hot(tokens: torch.Tensor, n_tokens: int) -> torch.Tensor:
    """Return 1 at every token of a row, shape (B, n_tokens); a row's tokens are distinct."""
    hot = torch.zeros(tokens.shape[0], n_tokens, device=tokens.device)
    return hot.scatter_(1, tokens, 1.0)
