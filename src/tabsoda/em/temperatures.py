"""How sure blended probabilities are: one temperature a question, fitted on held-out cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

Values = NDArray[np.float64]

_FLOOR = 1e-12
# A column's own temperature counts as much as its held-out cells against this many of all columns.
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
    held_out: NDArray[np.bool_],
    weights: Values,
) -> Values:
    """Return one temperature a column, drawn towards the one of all columns where cells are few.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n, n_categorical, max_levels)
    levels : ndarray of int64, shape (n, n_categorical)
        The true answers; read only where held out.
    held_out : ndarray of bool, shape (n, n_categorical)
    weights : ndarray of float64, shape (n,)
        How much the cells of each row count.
    """
    n_columns = probabilities.shape[1]
    if not held_out.any():
        return np.ones(n_columns)
    # Held-out cells only, shape (n_cells, max_levels): few of the cells of the rows they are in.
    cells, answers = probabilities[held_out], levels[held_out]
    row_of, column_of = np.nonzero(held_out)
    counted = weights[row_of]
    log_probabilities = np.where(cells > 0, np.log(np.maximum(cells, _FLOOR)), -np.inf)

    def best(chosen: NDArray[np.bool_] | slice, towards: float, weight: float) -> float:
        shown, true = log_probabilities[chosen], answers[chosen, None]
        count = counted[chosen]

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
    for column in np.unique(column_of):
        found[column] = best(column_of == column, common, _SHRINKAGE)
    return np.exp(found)
