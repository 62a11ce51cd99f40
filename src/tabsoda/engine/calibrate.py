"""Calibration of blended probabilities: one temperature per question, from held-out answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

Values = NDArray[np.float64]

_FLOOR = 1e-12
# Shrinkage of a column's temperature: as if this many more cells had the common temperature.
_SHRINKAGE = 200.0
_LOG_TEMPERATURE = 1.5


def tempered(probabilities: Values, temperatures: Values) -> Values:
    """Raise probabilities (n, n_categorical, max_levels) to 1/temperature, and normalise.

    Examples
    --------
    >>> tempered(np.array([[[0.8, 0.2]]]), np.array([0.5])).round(3).tolist()
    [[[0.941, 0.059]]]
    """
    raised = np.power(probabilities, 1.0 / temperatures[:, None])
    return raised / np.maximum(raised.sum(axis=2, keepdims=True), _FLOOR)


def fit_temperatures(
    probabilities: Values,
    levels: NDArray[np.int64],
    columns: NDArray[np.int64],
    weights: Values,
    n_columns: int,
) -> Values:
    """Return one temperature per column, shrunk towards the common one.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (N, max_levels)
        Predictions for the held-out cells.
    levels : ndarray of int64, shape (N,)
        Their true answers.
    columns : ndarray of int64, shape (N,)
        The categorical column of each cell.
    weights : ndarray of float64, shape (N,)
        Weights of the cells.
    n_columns : int

    Returns
    -------
    ndarray of float64, shape (n_columns,)
    """
    if not levels.size:
        return np.ones(n_columns)
    logs = np.where(probabilities > 0, np.log(np.maximum(probabilities, _FLOOR)), -np.inf)

    def best(chosen: NDArray[np.bool_] | slice, towards: float, weight: float) -> float:
        shown, true = logs[chosen], levels[chosen, None]
        count = weights[chosen]

        def loss(log_temperature: float) -> float:
            raised = shown / np.exp(log_temperature)
            score = np.take_along_axis(raised, true, axis=1)[:, 0] - logsumexp(raised, axis=1)
            distance = weight * (log_temperature - towards) ** 2
            return float(distance - (count * np.maximum(score, np.log(1e-6))).sum())

        bounds = (-_LOG_TEMPERATURE, _LOG_TEMPERATURE)
        found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-2})
        return float(found.x)

    common = best(slice(None), 0.0, 0.0)
    found = np.full(n_columns, common)
    for column in np.unique(columns):
        found[column] = best(columns == column, common, _SHRINKAGE)
    return np.exp(found)
