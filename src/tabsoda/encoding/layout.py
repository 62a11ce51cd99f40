"""Which coordinates of the encoded vector belong to which column, as padded index arrays.

The padding lets losses and decoders treat all columns of a kind in one tensor operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def n_bits(n_levels: int) -> int:
    """Bits of an analog-bit codeword: max(1, ceil(log2 K)).

    Examples
    --------
    >>> [n_bits(k) for k in (1, 2, 3, 4, 5, 64)]
    [1, 1, 2, 2, 3, 6]
    """
    return max(1, (n_levels - 1).bit_length())


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
        Nominals and the ordinals sent to bits.
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
