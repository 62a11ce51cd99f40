"""Noise that depends on what it is for, not on when it is drawn.

Every random number is a function of a seed, a named stream, a draw, a row and a position. Batch
size, row order, device and number of workers therefore change nothing but the last bits of the
arithmetic. Rows are identified by their content, so a row keeps its noise when the table is
reordered or when rows are appended.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.typing import NDArray

# Odd 64-bit constants of the splitmix64 generator (Steele, Lea and Flood 2014).
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_MASK_64 = (1 << 64) - 1


def _signed(value: int) -> int:
    """Wrap an unsigned 64-bit integer into torch's signed one."""
    value &= _MASK_64
    return value - (1 << 64) if value >> 63 else value


def _mix_numpy(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finalise splitmix64 on an array of uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MIX_1)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MIX_2)
    return x ^ (x >> np.uint64(31))


def _mix_torch(x: torch.Tensor) -> torch.Tensor:
    """Finalise splitmix64 on int64 tensors; the shifts are masked because torch's are signed."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * _signed(_MIX_1)
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * _signed(_MIX_2)
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


def stream_key(seed: int, *names: object) -> int:
    """Derive a 64-bit key for a named stream, such as ``stream_key(1, "draw", 3)``.

    Examples
    --------
    >>> stream_key(1, "draw", 3) == stream_key(1, "draw", 3)
    True
    >>> stream_key(1, "draw", 3) == stream_key(1, "draw", 4)
    False
    """
    text = repr((int(seed), *names)).encode()
    return _signed(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))


def numpy_generator(seed: int, *names: object) -> np.random.Generator:
    """Return numpy's generator for a named stream."""
    return np.random.default_rng(stream_key(seed, *names) & _MASK_64)


def torch_generator(
    seed: int, *names: object, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return torch's generator for a named stream on a device."""
    generator = torch.Generator(device=device)
    generator.manual_seed(stream_key(seed, *names) & (_MASK_64 >> 1))
    return generator


def row_keys(
    values: NDArray[np.float64],
    states: NDArray[np.uint8],
    occurrences: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Identify each row by its content; equal rows are told apart by their order of appearance.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
        NaN where not answered.
    states : ndarray of uint8, shape (n_rows, n_columns)
    occurrences : ndarray of int64, shape (n_rows,), optional
        How many equal rows come before each; counted unless given. Rows that are part of a larger
        table keep their keys if they are counted there.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
    """
    hashes = row_hashes(values, states)
    if occurrences is None:
        occurrences = count_occurrences(hashes)
    with np.errstate(over="ignore"):
        return _mix_numpy(hashes + occurrences.astype(np.uint64) * np.uint64(_GOLDEN)).view(
            np.int64
        )


def row_hashes(values: NDArray[np.float64], states: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash each row's content, shape (n_rows,); parameters as in :func:`row_keys`."""
    # Adding 0.0 folds -0.0 into 0.0; unanswered cells carry their state instead of a value.
    bits = np.where(states == 0, values + 0.0, 0.0).view(np.uint64)
    keys = np.full(values.shape[0], _GOLDEN, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for position in range(values.shape[1]):
            keys = _mix_numpy(keys + bits[:, position])
            keys = _mix_numpy(keys + states[:, position].astype(np.uint64) + np.uint64(_GOLDEN))
    return keys


def count_occurrences(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count for each hash how many equal ones come before it.

    Examples
    --------
    >>> count_occurrences(np.array([7, 9, 7, 7], dtype=np.uint64)).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, hashes.size])
    occurrences = np.empty(hashes.size, dtype=np.int64)
    occurrences[order] = np.arange(hashes.size) - np.repeat(starts, lengths)
    return occurrences


def _cell_bits(key: int | torch.Tensor, rows: torch.Tensor, n_coordinates: int) -> torch.Tensor:
    """Hash key, row and coordinate into 64 bits; int64, shape (n_rows, n_coordinates)."""
    coordinate = torch.arange(n_coordinates, device=rows.device, dtype=torch.int64)
    # The sum comes before the product: compilers keep a bare index in 32 bits.
    return _mix_torch((_mix_torch(rows + key)[:, None] + coordinate) * _signed(_GOLDEN))


def keyed_normals(key: int | torch.Tensor, rows: torch.Tensor, n_coordinates: int) -> torch.Tensor:
    """Draw standard normals that depend on the key, the row and the coordinate alone.

    Parameters
    ----------
    key : int or int64 tensor of shape ()
        From :func:`stream_key`; a tensor lets a captured graph change it between replays.
    rows : int64 tensor, shape (n_rows,)
        From :func:`row_keys`.
    n_coordinates : int

    Returns
    -------
    float32 tensor, shape (n_rows, n_coordinates), on the device of ``rows``
    """
    bits = _cell_bits(key, rows, n_coordinates)
    # Two uniforms of 32 and 24 bits from one hash, then Box and Muller's transform.
    high = ((bits >> 32) & 0xFFFFFFFF).to(torch.float32)
    low = (bits & 0xFFFFFF).to(torch.float32)
    radius = torch.sqrt(-2.0 * torch.log((high + 0.5) * 2.0**-32).clamp(max=-1e-10))
    return radius * torch.cos(low * (2.0 * np.pi * 2.0**-24))


def keyed_uniforms(key: int | torch.Tensor, rows: torch.Tensor, n_coordinates: int) -> torch.Tensor:
    """Draw uniforms in (0, 1), keyed as :func:`keyed_normals`; shape (n_rows, n_coordinates)."""
    bits = _cell_bits(key, rows, n_coordinates)
    return (((bits >> 40) & 0xFFFFFF).to(torch.float32) + 0.5) * 2.0**-24
