"""How the cells of a row enter the network.

Each visible answer has a learned vector for its column and level; missing and skipped cells have
their own vectors. Numbers and ordinals add sines and cosines of their normal score, so that similar
answers have similar vectors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.network.data import NetworkInput
from tabsoda.engine.network.heads import level_scores

# Waves per score, and the standard deviation of their initial frequencies.
N_WAVES = 4
_FREQUENCY_SPREAD = 0.3
# A sine and a cosine per wave, and the score itself.
N_FEATURES = 2 * N_WAVES + 1


class CellFeatures(NamedTuple):
    """A batch, ready for embedding; T columns, S of them with a score.

    Attributes
    ----------
    tokens : int64 tensor, shape (B, T)
        Rows of the table of learned vectors.
    waves : float tensor, shape (B, S, N_FEATURES)
        0 where the score is not visible.
    """

    tokens: torch.Tensor
    waves: torch.Tensor


class InputLayer(nn.Module):
    """Converts a :class:`NetworkInput` to tokens and waves.

    Parameters
    ----------
    codec : AnswerCodec
    generator : torch.Generator
        Draws the initial frequencies.
    """

    n_levels: torch.Tensor
    offsets: torch.Tensor
    ordinals: torch.Tensor
    ordinal_scores: torch.Tensor
    score_columns: torch.Tensor

    def __init__(self, codec: AnswerCodec, generator: torch.Generator) -> None:
        super().__init__()
        n_categorical = codec.categorical.size
        n_levels = codec.n_levels[codec.modelled]
        # Levels, then missing and skipped; the visible cells of a number share a third vector.
        sizes = n_levels + np.where(n_levels == 0, 3, 2)
        self.n_columns = n_levels.size
        self.n_tokens = int(sizes.sum())
        # With two levels, a score adds nothing to the level's vector.
        ordinals = np.flatnonzero(codec.ordered & (codec.n_levels[codec.categorical] > 2))
        scores = np.zeros((ordinals.size, codec.max_levels), dtype=np.float32)
        for row, place in enumerate(ordinals.tolist()):
            count = int(codec.n_levels[codec.categorical[place]])
            scores[row, :count] = level_scores(codec.level_counts[place, :count])
        columns = np.concatenate([n_categorical + np.arange(codec.numbers.size), ordinals])
        self.n_scores = columns.size
        for name, array in (
            ("n_levels", n_levels),
            ("offsets", np.cumsum(sizes) - sizes),
            ("ordinals", ordinals),
            ("ordinal_scores", scores),
            ("score_columns", columns),
        ):
            self.register_buffer(name, torch.as_tensor(array), persistent=False)
        drawn = torch.randn(columns.size, N_WAVES, generator=generator)
        self.frequencies = nn.Parameter(_FREQUENCY_SPREAD * drawn)

    def forward(self, inputs: NetworkInput) -> CellFeatures:
        """Look up every cell's state and answer."""
        # A number has no level: its visible cells share the vector after missing and skipped.
        levels = torch.minimum(inputs.levels, self.n_levels[: inputs.levels.shape[1]] - 1)
        shared = torch.full_like(inputs.scores, 2, dtype=torch.int64)
        answer = torch.cat([levels, shared], dim=1)
        absent = self.n_levels + inputs.skipped.long()
        tokens = self.offsets + torch.where(inputs.visible, answer, absent)
        of_ordinals = inputs.levels.index_select(1, self.ordinals).T
        scores = torch.cat([inputs.scores, self.ordinal_scores.gather(1, of_ordinals).T], dim=1)
        shown = inputs.visible.index_select(1, self.score_columns)
        scores = scores.masked_fill(~shown, 0.0)[..., None]
        angle = 2 * math.pi * scores * self.frequencies
        waves = torch.cat([torch.sin(angle), torch.cos(angle), scores], dim=2)
        return CellFeatures(tokens, waves.masked_fill(~shown[..., None], 0.0))


def multi_hot(tokens: torch.Tensor, n_tokens: int) -> torch.Tensor:
    """Return 1 at every token of a row, shape (B, n_tokens); a row's tokens are distinct."""
    hot = torch.zeros(tokens.shape[0], n_tokens, device=tokens.device)
    return hot.scatter_(1, tokens, 1.0)
