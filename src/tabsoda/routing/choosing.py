"""Chooses routes or answers: at random for a draw, the most probable for a point estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import stream_key
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms

Values = NDArray[np.float64]
# choose(probabilities, position, rows) -> choices; of shape (n, n_choices), (), (n,) and (n,).
Choose = Callable[[Values, int, NDArray[np.int64]], NDArray[np.int64]]


def by_noise(
    seed: int, number: int, keys: NDArray[np.int64], n_columns: int, use: str = "route"
) -> Choose:
    """Return a random choice that is the same for the same seed, draw, row and column.

    Parameters
    ----------
    seed : int
    number : int
        Number of the draw, from 1.
    keys : ndarray of int64, shape (n_rows,)
        Keys of the rows' random numbers.
    n_columns : int
    use : str
        Purpose; each purpose has its own random numbers.
    """
    key = stream_key(seed, use, number)
    uniforms = keyed_uniforms(key, torch.from_numpy(keys), n_columns).numpy()

    def choose(probabilities: Values, position: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        below = np.cumsum(probabilities, axis=1)[:, :-1]
        chosen = (uniforms[rows, position][:, None] >= below).sum(axis=1)
        # Rounding may leave the sum below 1; impossible choices are never taken.
        possible = probabilities[np.arange(rows.size), chosen] > 0
        return np.where(possible, chosen, probabilities.argmax(axis=1))

    return choose


def most_probable(
    probabilities: Values, position: int, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Choose the most probable option."""
    return np.asarray(probabilities.argmax(axis=1))
