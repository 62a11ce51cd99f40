"""Multinomial logistic regression: one linear predictor per level."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

Numbers = NDArray[np.float64]

# Products of skewed predictors can take several hundred steps.
_MOST_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Multinomial:
    """P(Y = k) is proportional to exp(intercept_k + x'slopes_k).

    Attributes
    ----------
    slopes : ndarray of float64, shape (n_predictors, n_levels)
    intercepts : ndarray of float64, shape (n_levels,)
    converged : bool
        False if the solver stopped before it reached its tolerance.
    """

    slopes: Numbers
    intercepts: Numbers
    converged: bool = True


def fit_multinomial(
    predictors: Numbers,
    levels: NDArray[np.int64],
    *,
    ridge: float = 1.0,
    start: Multinomial | None = None,
) -> Multinomial:
    """Maximise the likelihood less half the ridge times the squared slopes.

    Parameters
    ----------
    predictors : ndarray of float64, shape (n_rows, n_predictors)
        On comparable scales.
    levels : ndarray of int64, shape (n_rows,)
        0 .. n_levels - 1; every level occurs, and there are three or more.
    ridge : float
    start : Multinomial, optional
        A nearby solution.

    Examples
    --------
    >>> found = fit_multinomial(np.array([[-1.0], [0.0], [1.0]] * 9), np.array([0, 1, 2] * 9))
    >>> found.slopes.shape, found.converged
    ((1, 3), True)
    """
    model = LogisticRegression(C=1 / ridge, tol=1e-3, max_iter=_MOST_STEPS, warm_start=True)
    if start is not None:
        model.coef_, model.intercept_ = start.slopes.T, start.intercepts
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(predictors, levels)
    converged = not any(issubclass(one.category, ConvergenceWarning) for one in raised)
    return Multinomial(model.coef_.T, model.intercept_, converged)
