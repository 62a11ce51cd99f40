"""Linear regression with predictive mean matching."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

Numbers = NDArray[np.float64]


def match_donors(
    predicted: Numbers,
    donors_predicted: Numbers,
    donors_answers: Numbers,
    generator: np.random.Generator,
    n_donors: int = 5,
) -> Numbers:
    """Give every recipient the answer of a donor with a similar prediction.

    Parameters
    ----------
    predicted : ndarray of float64, shape (n_recipients,)
    donors_predicted, donors_answers : ndarray of float64, shape (n_answers,)
    generator : numpy.random.Generator
    n_donors : int
        Number of nearest donors to draw from.

    Examples
    --------
    >>> match_donors(np.array([0.9, 5.2]), np.array([1.0, 5.0, 9.0]), np.array([10.0, 50.0, 90.0]),
    ...              np.random.default_rng(1), n_donors=1).tolist()
    [10.0, 50.0]
    """
    order = np.argsort(donors_predicted, kind="stable")
    nearest = nearest_donors(predicted, donors_predicted[order], n_donors)
    chosen = generator.integers(nearest.shape[1], size=predicted.size)
    return donors_answers[order[nearest[np.arange(predicted.size), chosen]]]


def nearest_donors(predicted: Numbers, ranked: Numbers, n_donors: int) -> NDArray[np.intp]:
    """Return the positions of the donors with the nearest predictions, in increasing order.

    Parameters
    ----------
    predicted : ndarray of float64, shape (n_recipients,)
    ranked : ndarray of float64, shape (n_answers,)
        The donors' predictions, increasing.
    n_donors : int

    Returns
    -------
    ndarray of intp, shape (n_recipients, min(n_donors, n_answers))

    Examples
    --------
    >>> nearest_donors(np.array([0.9, 5.2]), np.array([1.0, 5.0, 9.0]), 2).tolist()
    [[0, 1], [1, 2]]
    """
    n_donors = min(n_donors, ranked.size)
    # The nearest are neighbours: their first place is where the donor that would be left out
    # below is no longer farther than the one that would be left out above.
    place = np.searchsorted(ranked, predicted)
    low, high = np.maximum(place - n_donors, 0), np.minimum(place, ranked.size - n_donors)
    while (low < high).any():
        middle = (low + high) // 2
        above = ranked[np.minimum(middle + n_donors, ranked.size - 1)]
        farther = (predicted - ranked[middle] > above - predicted) & (low < high)
        low, high = np.where(farther, middle + 1, low), np.where(farther, high, middle)
    return low[:, None] + np.arange(n_donors)


def tied_donors(predicted: Numbers, ranked: Numbers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the range of donors with the same prediction as the nearest donor.

    Parameters
    ----------
    predicted : ndarray of float64, shape (n_recipients,)
    ranked : ndarray of float64, shape (n_answers,)
        The donors' predictions, increasing.

    Returns
    -------
    first, last : ndarray of intp, shape (n_recipients,)
        ``last`` is not part of the range.

    Examples
    --------
    >>> tied_donors(np.array([1.2, 2.5]), np.array([1.0, 1.0, 3.0]))
    (array([0, 2]), array([2, 3]))
    """
    value = ranked[nearest_donors(predicted, ranked, 1)[:, 0]]
    return np.searchsorted(ranked, value, "left"), np.searchsorted(ranked, value, "right")


def draw_regression(
    predictors: Numbers, answers: Numbers, generator: np.random.Generator, ridge: float = 1e-3
) -> tuple[Numbers, Numbers]:
    """Fit a linear regression; return its coefficients, and a draw of them from their posterior.

    Parameters
    ----------
    predictors : ndarray of float64, shape (n_rows, n_predictors)
        Including an intercept.
    answers : ndarray of float64, shape (n_rows,)
    generator : numpy.random.Generator
    ridge : float
        Added to the cross-products, relative to the number of rows.

    Returns
    -------
    coefficients, drawn : ndarray of float64, shape (n_predictors,)
    """
    n_rows, n_predictors = predictors.shape
    cross = predictors.T @ predictors + ridge * n_rows * np.eye(n_predictors)
    factor = cholesky(cross, lower=True)
    coefficients = cho_solve((factor, True), predictors.T @ answers)
    residual = answers - predictors @ coefficients
    freedom = max(n_rows - n_predictors, 1)
    scale = np.sqrt(residual @ residual / generator.chisquare(freedom))
    noise = solve_triangular(factor.T, generator.standard_normal(n_predictors))
    return coefficients, coefficients + scale * noise
