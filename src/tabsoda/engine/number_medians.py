"""Medians of numbers: the network's distribution, tilted to the blended mean.

The network predicts a distribution over bins; trees and regressions only predict means. Among the
distributions with the blended mean, the one closest to the network's in relative entropy is an
exponential tilt of it. Its median thus uses all predictors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.number_bins import NumberBins

Values = NDArray[np.float64]

# The strongest tilt, per standard deviation: enough for all but nearly certain distributions.
_STRONGEST = 8.0
# Bisection steps; the remaining error does not change a median noticeably.
_HALVINGS = 40


def number_medians(
    bins: NumberBins, probabilities: Values, means: Values, cells: NDArray[np.bool_]
) -> Values:
    """Return the median of each given cell, an observed answer of its column.

    Parameters
    ----------
    bins : NumberBins
    probabilities : ndarray of float64, shape (n, n_numbers, MAX_BINS)
        The network's probabilities of the bins.
    means : ndarray of float64, shape (n, n_numbers)
        Blended point estimates, standardised.
    cells : ndarray of bool, shape (n, n_numbers)
        The cells to estimate.

    Returns
    -------
    ndarray of float64, shape (n, n_numbers)
        NaN in other cells.

    Examples
    --------
    >>> smoked = np.array([[0.0], [0.0], [0.0], [20.0]])
    >>> bins = NumberBins.fit(smoked, np.ones_like(smoked, dtype=bool))
    >>> likely = np.zeros((2, 1, 20))
    >>> likely[0, 0, :2], likely[1, 0, :2] = (0.6, 0.4), (0.2, 0.8)
    >>> means = (np.array([[8.0], [16.0]]) - bins.mean) / bins.scale
    >>> number_medians(bins, likely, means, np.ones((2, 1), dtype=bool)).ravel().tolist()
    [0.0, 20.0]
    """
    medians = np.full(means.shape, np.nan)
    for column in range(means.shape[1]):
        rows, n_bins = np.flatnonzero(cells[:, column]), int(bins.counts[column])
        own = probabilities[rows, column, :n_bins]
        moved = tilted(own, bins.bin_means[column, :n_bins], means[rows, column])
        medians[rows, column] = bins.medians(column, moved)
    return medians


def tilted(probabilities: Values, values: Values, means: Values) -> Values:
    """Return the distributions with given means that are closest in relative entropy.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n, k)
    values : ndarray of float64, shape (k,)
        The values of the distributions, increasing.
    means : ndarray of float64, shape (n,)
        Means that cannot be reached are approximated.

    Returns
    -------
    ndarray of float64, shape (n, k)

    Examples
    --------
    >>> tilted(np.array([[0.5, 0.5]]), np.array([0.0, 1.0]), np.array([0.2])).round(6).tolist()
    [[0.8, 0.2]]
    """
    logs = np.log(np.maximum(probabilities, 1e-300))
    lowest, highest = np.full(means.shape, -_STRONGEST), np.full(means.shape, _STRONGEST)
    # The mean increases with the tilt, so bisection finds it.
    for _ in range(_HALVINGS):
        tilt = (lowest + highest) / 2
        too_low = (_tilted_by(logs, values, tilt) * values).sum(axis=1) < means
        lowest, highest = np.where(too_low, tilt, lowest), np.where(too_low, highest, tilt)
    return _tilted_by(logs, values, (lowest + highest) / 2)


def _tilted_by(logs: Values, values: Values, tilt: Values) -> Values:
    exponents = logs + tilt[:, None] * values
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
