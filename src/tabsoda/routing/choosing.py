"""Chooses routes or answers: at random for a draw, the most probable for a point estimate."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import stream_key
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms

Values = NDArray[np.float64]


def choosing_noise(
    seed: int, number: int, keys: NDArray[np.int64], n_columns: int, use: str = "route"
) -> Values:
    """Return uniform numbers, shape (n_rows, n_columns); the same for the same seed, draw and row.

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
    return keyed_uniforms(key, torch.from_numpy(keys), n_columns).numpy()


def choose(probabilities: Values, uniforms: Values | None) -> NDArray[np.int64]:
    """Choose an option for each row; without random numbers the most probable one.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n, n_options)
    uniforms : ndarray of float64, shape (n,), or None

    Examples
    --------
    >>> choose(np.array([[0.2, 0.0, 0.8], [0.2, 0.0, 0.8]]), np.array([0.1, 0.3])).tolist()
    [0, 2]
    >>> choose(np.array([[0.2, 0.8]]), None).tolist()
    [1]
    """
    likeliest = probabilities.argmax(axis=1)
    if uniforms is None:
        return likeliest
    below = np.cumsum(probabilities, axis=1)[:, :-1]
    chosen = (uniforms[:, None] >= below).sum(axis=1)
    # Rounding may leave the sum below 1; impossible options are never chosen.
    possible = probabilities[np.arange(chosen.size), chosen] > 0
    return np.where(possible, chosen, likeliest)
