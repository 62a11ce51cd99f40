"""Categories as bits: codewords, the nearest valid one, and the prototype softmax.

Input: the encoded bits of all bit columns, padded. Output: levels or level probabilities.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.paper.layout import n_bits


def codewords(n_levels: int) -> NDArray[np.float32]:
    """Return the codewords of all levels, shape (n_levels, n_bits), lowest bit first.

    Examples
    --------
    >>> codewords(3).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    return ((np.arange(n_levels)[:, None] >> np.arange(n_bits(n_levels))) & 1).astype(np.float32)


def _closeness(
    bits: torch.Tensor,
    codewords: torch.Tensor,
    bit_valid: torch.Tensor,
    level_valid: torch.Tensor,
) -> torch.Tensor:
    """Return ||bits||^2 - ||bits - codeword||^2 per level: the distance without its common part."""
    # Autocast would round the distances to eight bits of mantissa and create ties.
    with torch.autocast(bits.device.type, enabled=False):
        # Padding points at some other coordinate, whose value must not count, even if infinite.
        inner = torch.einsum("ncb,ckb->nck", torch.where(bit_valid, bits.float(), 0.0), codewords)
        closeness = 2.0 * inner - codewords.square().sum(-1)
    return closeness.masked_fill(~level_valid, -torch.inf)


def nearest_level(
    bits: torch.Tensor,
    codewords: torch.Tensor,
    bit_valid: torch.Tensor,
    level_valid: torch.Tensor,
) -> torch.Tensor:
    """Return the level whose codeword is nearest; unused codewords are never chosen.

    Parameters
    ----------
    bits : float tensor, shape (B, n_bit_columns, max_bits)
        Unstandardised, so that codewords are 0 and 1.
    codewords, bit_valid, level_valid : tensors
        As in :class:`~tabsoda.paper.layout.Layout`.

    Returns
    -------
    int64 tensor, shape (B, n_bit_columns)
        Ties go to the lower level.

    Examples
    --------
    Three levels use two bits; the unused codeword (1, 1) is never returned.

    >>> words = torch.tensor(codewords(3))[None]
    >>> valid = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 3, dtype=torch.bool)
    >>> nearest_level(torch.tensor([[[0.9, 1.2]]]), words, *valid).tolist()
    [[2]]
    """
    return _closeness(bits, codewords, bit_valid, level_valid).argmax(-1)


def prototype_log_probabilities(
    bits: torch.Tensor,
    codewords: torch.Tensor,
    bit_valid: torch.Tensor,
    level_valid: torch.Tensor,
    temperature: float = 1.0,
) -> torch.Tensor:
    """Return the log of the prototype softmax, Eq. (nom_softmax).

    Parameters are those of :func:`nearest_level`; distances are divided by ``temperature``.

    Returns
    -------
    float tensor, shape (B, n_bit_columns, max_levels)
        -inf in the padding.
    """
    closeness = _closeness(bits, codewords, bit_valid, level_valid)
    return torch.log_softmax(closeness / temperature, dim=-1)
