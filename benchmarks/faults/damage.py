"""Damaged copies of files: bits flipped, ends cut off, bytes inserted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def damaged(content: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """Return one damaged copy and how it was damaged.

    Parameters
    ----------
    content : bytes
    rng : numpy.random.Generator
    """
    kind = ("bits", "cut", "inserted", "zeros", "header bits")[rng.integers(5)]
    data = bytearray(content)
    place = int(rng.integers(len(data)))
    if kind in ("bits", "header bits"):
        # Headers are small, and a change in them has the widest effect.
        end = min(len(data), 600) if kind == "header bits" else len(data)
        for _ in range(int(rng.integers(1, 9))):
            data[int(rng.integers(end))] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del data[place:]
    elif kind == "inserted":
        data[place:place] = rng.bytes(int(rng.integers(1, 64)))
    else:
        length = int(rng.integers(1, 64))
        data[place : place + length] = bytes(len(data[place : place + length]))
    return kind, bytes(data)


def damaged_copies(content: bytes, n_copies: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Return damaged copies that differ from the content; the same for the same seed."""
    rng = np.random.default_rng(seed)
    for number in range(n_copies):
        kind, data = damaged(content, rng)
        if data != content:
            yield f"{kind}, copy {number}, seed {seed}", data
