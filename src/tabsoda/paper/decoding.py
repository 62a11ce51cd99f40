"""Coordinates of all categorical columns to levels and level probabilities, all rows at once.

Input: an unstandardised encoded table, its layout and the decoder's cutpoints. Output: levels or
probabilities, padded over columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch.nn.functional import pad

from tabsoda.paper.bits import nearest_level, prototype_log_probabilities
from tabsoda.paper.latents import (
    interval_level,
    level_probabilities,
    median_level,
    most_probable_level,
)
from tabsoda.paper.layout import LayoutTensors

Rule = Literal["mode", "median", "interval"]
# Decoding needs one number per cell and level; blocks limit the memory without changing results.
_BLOCK_ROWS = 4096


def decode_bits(encoded: torch.Tensor, layout: LayoutTensors) -> torch.Tensor:
    """Return the level of every bit column: its nearest valid codeword.

    Parameters
    ----------
    encoded : float tensor, shape (n, p)
    layout : LayoutTensors

    Returns
    -------
    int64 tensor, shape (n, n_bit_columns)
    """

    def decode(rows: torch.Tensor) -> torch.Tensor:
        words = rows[:, layout.bit_coordinates]
        return nearest_level(words, layout.codewords, layout.bit_valid, layout.level_valid)

    return _in_blocks(decode, encoded)


def decode_latents(
    encoded: torch.Tensor,
    layout: LayoutTensors,
    cutpoints: torch.Tensor,
    temperature: torch.Tensor,
    rule: Rule,
) -> torch.Tensor:
    """Return the level of every latent ordinal.

    Parameters
    ----------
    encoded : float tensor, shape (n, p)
    layout : LayoutTensors
    cutpoints : float tensor, shape (n_latent, max_cutpoints)
    temperature : float tensor, shape (n_latent,)
        Used by ``"mode"`` and ``"median"``.
    rule : {"mode", "median", "interval"}

    Returns
    -------
    int64 tensor, shape (n, n_latent)
    """

    def decode(rows: torch.Tensor) -> torch.Tensor:
        latent = rows[:, layout.ordinal_coordinates]
        if rule == "interval":
            return interval_level(latent, cutpoints)
        probabilities = level_probabilities(latent, cutpoints, temperature)
        return (most_probable_level if rule == "mode" else median_level)(probabilities)

    return _in_blocks(decode, encoded)


def decode_probabilities(
    encoded: torch.Tensor,
    layout: LayoutTensors,
    cutpoints: torch.Tensor,
    temperature: torch.Tensor,
) -> torch.Tensor:
    """Return level probabilities: prototype softmax of bit columns, then probit of latents.

    Parameters are those of :func:`decode_latents`.

    Returns
    -------
    float tensor, shape (n, n_bit_columns + n_latent, max_levels)
        0 in the padding; ``max_levels`` is the largest of both kinds.
    """
    width = max(layout.level_valid.shape[1], cutpoints.shape[1] + 1)

    def decode(rows: torch.Tensor) -> torch.Tensor:
        words = rows[:, layout.bit_coordinates]
        nominal = prototype_log_probabilities(
            words, layout.codewords, layout.bit_valid, layout.level_valid
        ).exp()
        latent = rows[:, layout.ordinal_coordinates]
        ordinal = level_probabilities(latent, cutpoints, temperature)
        parts = [pad(part, (0, width - part.shape[2])) for part in (nominal, ordinal)]
        return torch.cat(parts, dim=1)

    return _in_blocks(decode, encoded)


def _in_blocks(
    decode: Callable[[torch.Tensor], torch.Tensor], encoded: torch.Tensor
) -> torch.Tensor:
    return torch.cat([decode(rows) for rows in encoded.split(_BLOCK_ROWS)])
