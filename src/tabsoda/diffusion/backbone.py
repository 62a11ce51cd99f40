"""What a network must offer to serve as the inside of the denoiser."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn


class DenoiserInput(NamedTuple):
    """What the denoiser hands to a backbone; a backbone may leave any part unread.

    Attributes
    ----------
    state : float32 tensor, shape (B, p)
        Coordinates at unit variance, 0 where skipped.
    noise_label : float32 tensor, shape (B,) or (1,)
        A quarter of the log noise level; of length 1 where all rows share it, as in sampling.
    visible, skipped : bool tensor, shape (B, p)
    levels : int64 tensor, shape (B, d), optional
        Answers of categorical columns by column, for backbones that embed them; meaningful only
        where the column is visible.
    unknown : bool tensor, shape (B, p), optional
        Entries of which nothing is known, not even a noisy value: truly missing ones in training.
        Their state is 0.
    """

    state: torch.Tensor
    noise_label: torch.Tensor
    visible: torch.Tensor
    skipped: torch.Tensor
    levels: torch.Tensor | None = None
    unknown: torch.Tensor | None = None


class Backbone(nn.Module):
    """Base of the networks: reads a :class:`DenoiserInput`, predicts every coordinate.

    A subclass implements :meth:`forward` and returns two tensors: the prediction, shape (B, p),
    and what decoder heads read: their outputs, or the last hidden layer where there are no heads.
    """

    def forward(self, inputs: DenoiserInput) -> tuple[torch.Tensor, torch.Tensor]:
        """Predict the coordinates, and what decoder heads read."""
        raise NotImplementedError
