"""The coordinates of each column in the encoded vector, as padded index arrays.

With padding, losses and decoders handle all columns of a kind in one tensor operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def n_bits(n_levels: int) -> int:
    """Bits of an analog-bit codeword: max(1, ceil(log2 K)).

    Examples
    --------
    >>> [n_bits(k) for k in (1, 2, 3, 4, 5, 64)]
    [1, 1, 2, 2, 3, 6]
    """
    return max(1, (int(n_levels) - 1).bit_length())


@dataclass(frozen=True, eq=False)
class Layout:
    """Coordinates by column and kind (p coordinates, d columns; order of Eq. (encoding)).

    Attributes
    ----------
    n_coordinates : int
        p, Eq. (total-encoding-dim).
    column_of : ndarray of int64, shape (p,)
        The column each coordinate belongs to.
    n_levels : ndarray of int64, shape (d,)
        Levels per column; 0 for continuous columns.
    continuous_columns, continuous_coordinates : ndarray of int64, shape (n_continuous,)
    bit_columns : ndarray of int64, shape (n_bit_columns,)
        Nominals and the ordinals encoded as bits.
    bit_coordinates : ndarray of int64, shape (n_bit_columns, max_bits)
        Padded with 0 where ``bit_valid`` is False.
    bit_valid : ndarray of bool, shape (n_bit_columns, max_bits)
    codewords : ndarray of float32, shape (n_bit_columns, max_levels, max_bits)
        Bit b of level k, 0 or 1; 0 in the padding.
    level_valid : ndarray of bool, shape (n_bit_columns, max_levels)
    ordinal_columns, ordinal_coordinates : ndarray of int64, shape (n_latent,)
        Ordinals with a latent; ``max_cutpoints`` is the largest K - 1 among them.
    """

    n_coordinates: int
    column_of: Indices
    n_levels: Indices
    continuous_columns: Indices
    continuous_coordinates: Indices
    bit_columns: Indices
    bit_coordinates: Indices
    bit_valid: NDArray[np.bool_]
    codewords: NDArray[np.float32]
    level_valid: NDArray[np.bool_]
    ordinal_columns: Indices
    ordinal_coordinates: Indices

    @property
    def max_cutpoints(self) -> int:
        """Width of the padded cutpoint array; at least 1."""
        if not self.ordinal_columns.size:
            return 1
        return max(1, int(self.n_levels[self.ordinal_columns].max()) - 1)

    @property
    def cutpoint_valid(self) -> NDArray[np.bool_]:
        """Which padded cutpoints exist, shape (n_latent, max_cutpoints)."""
        counts = self.n_levels[self.ordinal_columns] - 1
        return np.arange(self.max_cutpoints)[None, :] < counts[:, None]

    def widen(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Broadcast a mask of columns (n, d) to coordinates (n, p)."""
        return mask[:, self.column_of]

    def tensors(self, device: torch.device | str = "cpu") -> LayoutTensors:
        """Return the arrays that losses and decoders index with, as tensors on a device."""
        return LayoutTensors(
            *(torch.as_tensor(getattr(self, name), device=device) for name in LayoutTensors._fields)
        )


class LayoutTensors(NamedTuple):
    """The arrays of a :class:`Layout` as tensors on one device; same names, same shapes."""

    column_of: torch.Tensor
    n_levels: torch.Tensor
    continuous_columns: torch.Tensor
    continuous_coordinates: torch.Tensor
    bit_columns: torch.Tensor
    bit_coordinates: torch.Tensor
    bit_valid: torch.Tensor
    codewords: torch.Tensor
    level_valid: torch.Tensor
    ordinal_columns: torch.Tensor
    ordinal_coordinates: torch.Tensor


def build_layout(
    n_levels: Indices, continuous: Indices, bit_columns: Indices, ordinal_columns: Indices
) -> Layout:
    """Lay out the coordinates: continuous, then bits, then latents (Eq. encoding).

    Parameters
    ----------
    n_levels : ndarray of int64, shape (d,)
        Levels per column of the table; 0 for continuous columns.
    continuous, bit_columns, ordinal_columns : ndarray of int64
        Positions of the columns of each kind. Other columns get no coordinate.

    Examples
    --------
    >>> layout = build_layout(np.array([0, 5, 4]), np.array([0]), np.array([1]), np.array([2]))
    >>> layout.n_coordinates, layout.column_of.tolist()
    (5, [0, 1, 1, 1, 2])
    """
    n_levels, continuous, bit_columns, ordinal_columns = (
        np.asarray(a, dtype=np.int64) for a in (n_levels, continuous, bit_columns, ordinal_columns)
    )
    levels = n_levels[bit_columns]
    widths = np.array([n_bits(int(k)) for k in levels], dtype=np.int64)
    bit_valid = np.arange(int(widths.max(initial=1)))[None, :] < widths[:, None]
    level = np.arange(int(levels.max(initial=1)))
    level_valid = level[None, :] < levels[:, None]
    bit_coordinates = np.zeros(bit_valid.shape, dtype=np.int64)
    bit_coordinates[bit_valid] = continuous.size + np.arange(widths.sum())
    bits = (level[:, None] >> np.arange(bit_valid.shape[1])) & 1
    first_latent = continuous.size + int(widths.sum())
    return Layout(
        n_coordinates=first_latent + ordinal_columns.size,
        column_of=np.concatenate([continuous, np.repeat(bit_columns, widths), ordinal_columns]),
        n_levels=n_levels,
        continuous_columns=continuous,
        continuous_coordinates=np.arange(continuous.size),
        bit_columns=bit_columns,
        bit_coordinates=bit_coordinates,
        bit_valid=bit_valid,
        codewords=(bits[None] * level_valid[:, :, None] * bit_valid[:, None, :]).astype(np.float32),
        level_valid=level_valid,
        ordinal_columns=ordinal_columns,
        ordinal_coordinates=first_latent + np.arange(ordinal_columns.size),
    )
