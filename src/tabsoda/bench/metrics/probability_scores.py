"""Scores of predicted probabilities: ranked probability, Brier, log score, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Floor of probabilities in the log score, which would otherwise be infinite.
SMALLEST_PROBABILITY = 1e-6
N_BINS = 10


def ranked_probability_scores(probabilities: FloatArray, levels: NDArray[np.intp]) -> FloatArray:
    """Return the mean squared error of the cumulative probabilities of each cell, Eq. (rps).

    Parameters
    ----------
    probabilities : ndarray, shape (n_cells, n_levels)
    levels : ndarray of int, shape (n_cells,)

    Returns
    -------
    ndarray, shape (n_cells,)
        Divided by n_levels - 1, hence between 0 and 1 for any number of levels.

    Examples
    --------
    >>> ranked_probability_scores(np.array([[0.5, 0.5, 0.0]]), np.array([1])).tolist()
    [0.125]
    """
    n_levels = probabilities.shape[1]
    if n_levels < 2:
        return np.zeros(levels.size)
    predicted = probabilities.cumsum(axis=1)[:, :-1]
    observed = levels[:, None] <= np.arange(n_levels - 1)
    return ((predicted - observed) ** 2).mean(axis=1)


def brier_scores(probabilities: FloatArray, levels: NDArray[np.intp]) -> FloatArray:
    """Return half the squared distance between the probabilities and the true level.

    It is between 0 and 1, and 1 for a wrong level that was predicted with certainty.

    Parameters
    ----------
    probabilities : ndarray, shape (n_cells, n_levels)
    levels : ndarray of int, shape (n_cells,)

    Returns
    -------
    ndarray, shape (n_cells,)

    Examples
    --------
    >>> brier_scores(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([1, 1])).tolist()
    [0.25, 1.0]
    """
    observed = np.arange(probabilities.shape[1]) == levels[:, None]
    return ((probabilities - observed) ** 2).sum(axis=1) / 2


def log_scores(probabilities: FloatArray, levels: NDArray[np.intp]) -> FloatArray:
    """Return -log of the probability of the true level, shape (n_cells,).

    Examples
    --------
    >>> log_scores(np.array([[0.25, 0.75]]), np.array([1])).round(4).tolist()
    [0.2877]
    """
    chosen = probabilities[np.arange(levels.size), levels]
    return -np.log(np.clip(chosen, SMALLEST_PROBABILITY, 1.0))


def reliability(confidence: FloatArray, correct: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Compare a method's confidence with its accuracy, in ten bins of confidence.

    Parameters
    ----------
    confidence : ndarray, shape (n_cells,)
        Probability of the most probable level.
    correct : ndarray of bool, shape (n_cells,)

    Returns
    -------
    list of dict
        ``cells``, ``confidence`` and ``accuracy`` of each bin that is not empty.
    """
    bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
    return [
        {
            "cells": int((bins == number).sum()),
            "confidence": float(confidence[bins == number].mean()),
            "accuracy": float(correct[bins == number].mean()),
        }
        for number in np.unique(bins)
    ]


def calibration_error(bins: list[dict[str, Any]]) -> float:
    """Return the expected calibration error: the bins' mean gap, weighted by their cells.

    Examples
    --------
    >>> calibration_error(reliability(np.array([0.9, 0.9]), np.array([True, False])))
    0.4
    """
    cells = sum(one["cells"] for one in bins)
    if not cells:
        return float("nan")
    return sum(one["cells"] * abs(one["confidence"] - one["accuracy"]) for one in bins) / cells
