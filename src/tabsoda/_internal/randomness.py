"""Random numbers that depend on their purpose, not on the order in which they are drawn.

Every random number is a function of a seed, a named stream, a draw, a row and a position. Batch
size, row order, device and number of workers therefore change only the last bits of the
arithmetic. Rows are identified by their content, so a row keeps its noise when the table is
reordered or when rows are appended.

Nothing here needs torch; :mod:`tabsoda.torch_runtime.keyed_noise` draws the noise of tensors.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

# Odd 64-bit constants of the splitmix64 generator (Steele, Lea and Flood 2014).
GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
MASK_64 = (1 << 64) - 1


def signed(value: int) -> int:
    """Wrap an unsigned 64-bit integer into torch's signed one."""
    value &= MASK_64
    return value - (1 << 64) if value >> 63 else value


def _mix_numpy(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finalise splitmix64 on an array of uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(MIX_1)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(MIX_2)
    return x ^ (x >> np.uint64(31))


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
    return signed(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))


def numpy_generator(seed: int, *names: object) -> np.random.Generator:
    """Return numpy's generator for a named stream."""
    return np.random.default_rng(stream_key(seed, *names) & MASK_64)


def row_keys(
    values: NDArray[np.float64],
    states: NDArray[np.uint8],
    occurrences: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return a key per row from its content; equal rows differ by their order of appearance.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
        NaN where not answered.
    states : ndarray of uint8, shape (n_rows, n_columns)
    occurrences : ndarray of int64, shape (n_rows,), optional
        How many equal rows come before each row; counted unless given. Give the counts in the
        larger table if these rows are a part of it, so that they keep their keys.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
    """
    hashes = row_hashes(values, states)
    if occurrences is None:
        occurrences = count_occurrences(hashes)
    with np.errstate(over="ignore"):
        return _mix_numpy(hashes + occurrences.astype(np.uint64) * np.uint64(GOLDEN)).view(np.int64)


def keyed_uniforms(keys: NDArray[np.int64], seed: int, *names: object) -> NDArray[np.float64]:
    """Return a number between 0 and 1 for each key of a named stream, in the shape of the keys.

    Examples
    --------
    >>> first = keyed_uniforms(np.arange(3), 1, "shift")
    >>> bool((first[::-1] == keyed_uniforms(np.arange(3)[::-1], 1, "shift")).all())
    True
    """
    stream = np.uint64(stream_key(seed, *names) & MASK_64)
    with np.errstate(over="ignore"):
        bits = _mix_numpy(_mix_numpy(keys.astype(np.int64).view(np.uint64) + stream))
    # The upper 53 bits, at the middle of their interval: never exactly 0 or 1.
    return np.asarray(((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


def row_hashes(values: NDArray[np.float64], states: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash each row's content, shape (n_rows,); parameters as in :func:`row_keys`."""
    # Adding 0.0 turns -0.0 into 0.0; unanswered cells enter with their state, not a value.
    bits = np.where(states == 0, values + 0.0, 0.0).view(np.uint64)
    keys = np.full(values.shape[0], GOLDEN, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for position in range(values.shape[1]):
            keys = _mix_numpy(keys + bits[:, position])
            keys = _mix_numpy(keys + states[:, position].astype(np.uint64) + np.uint64(GOLDEN))
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
