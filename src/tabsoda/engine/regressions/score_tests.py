"""Score tests of further terms, given a regression without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tabsoda.engine.regressions.multinomial import fit_multinomial
from tabsoda.engine.regressions.proportional_odds import fit_proportional_odds, score_of
from tabsoda.schema.column import Column, ColumnKind

Numbers = NDArray[np.float64]

# Keeps cross-products invertible where predictors are collinear.
_RIDGE = 1e-3
# A sum to which fewer rows contribute is not close to normal.
_FEWEST_CONTRIBUTING = 30.0
# A term of which the predictors explain all but this share is not tested.
_LEAST_NEW = 1e-3
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Scores:
    """Derivatives of the log-likelihood by each row's linear predictors, at a fitted model.

    Attributes
    ----------
    residuals : ndarray of float64, shape (n, k)
        First derivatives; one column per linear predictor.
    weights : ndarray of float64, shape (n, k)
        Minus the second derivatives.
    """

    residuals: Numbers
    weights: Numbers


def fit_scores(column: Column, predictors: Numbers, answers: Numbers) -> Scores:
    """Regress a question on predictors, and return the scores.

    Parameters
    ----------
    column : Column
        A nominal question has one linear predictor per level, or one where it has two levels.
    predictors : ndarray of float64, shape (n, p)
        Without an intercept.
    answers : ndarray of float64, shape (n,)
    """
    if not column.is_categorical:
        return _number_scores(predictors, answers)
    occurring, levels = np.unique(answers.astype(np.int64), return_inverse=True)
    if occurring.size < 2:
        return Scores(np.zeros((answers.size, 0)), np.zeros((answers.size, 0)))
    if column.kind is ColumnKind.ORDINAL:
        ordered = fit_proportional_odds(predictors, levels, occurring.size, ridge=_RIDGE)
        residuals, weights = score_of(ordered, predictors, levels)
        return Scores(residuals[:, None], weights[:, None])
    if occurring.size == 2:
        binary = fit_proportional_odds(predictors, levels, 2)
        residuals, weights = score_of(binary, predictors, levels)
        return Scores(residuals[:, None], weights[:, None])
    several = fit_multinomial(predictors, levels)
    shares = softmax(predictors @ several.slopes + several.intercepts, axis=1)
    chosen = levels[:, None] == np.arange(occurring.size)
    return Scores(chosen - shares, shares * (1 - shares))


def _number_scores(predictors: Numbers, answers: Numbers) -> Scores:
    terms = np.column_stack([predictors, np.ones(len(predictors))])
    standard = (answers - answers.mean()) / (answers.std() or 1.0)
    cross = terms.T @ terms + _RIDGE * np.eye(terms.shape[1])
    residuals = standard - terms @ np.linalg.solve(cross, terms.T @ standard)
    variance = float(residuals @ residuals) / max(residuals.size - terms.shape[1], 1)
    # A question that its predictors determine leaves nothing to explain.
    inverse = 1 / variance if variance > 1e-12 else 0.0
    return Scores(residuals[:, None] * inverse, np.full((residuals.size, 1), inverse))


def score_statistics(
    scores: Scores, predictors: Numbers, terms: Numbers, known: NDArray[np.bool_] | None = None
) -> Numbers:
    """Return the score statistic of each term, chi-squared with one degree of freedom.

    The variance is the larger of the model's and White's, both after the term has entered: strong
    effects would otherwise count as noise.

    Parameters
    ----------
    scores : Scores
    predictors : ndarray of float64, shape (n, p)
        Those of the regression, without an intercept.
    terms : ndarray of float64, shape (n, t)
    known : ndarray of bool, shape (n, t), optional
        The rows by which a term is tested; all if None.

    Returns
    -------
    ndarray of float64, shape (t, k)
        0 where too few rows contribute.
    """
    fitted = np.column_stack([predictors, np.ones(len(predictors))])
    found = np.zeros((terms.shape[1], scores.residuals.shape[1]))
    # Terms that are known in the same rows are tested together.
    alike: dict[bytes, list[int]] = {}
    for term in range(terms.shape[1]):
        alike.setdefault(b"" if known is None else known[:, term].tobytes(), []).append(term)
    for own in alike.values():
        rows = slice(None) if known is None or known[:, own[0]].all() else known[:, own[0]]
        tested, among = terms[rows][:, own], fitted[rows]
        for place in range(found.shape[1]):
            residuals, weights = scores.residuals[rows, place], scores.weights[rows, place]
            found[own, place] = _statistics(residuals, weights, among, tested)
    return found


def _statistics(residuals: Numbers, weights: Numbers, fitted: Numbers, terms: Numbers) -> Numbers:
    """Return the statistics (t,) of terms (n, t) in one linear predictor."""
    weighted = fitted * weights[:, None]
    rooted = fitted * np.sqrt(weights)[:, None]
    cross = rooted.T @ rooted
    cross[np.diag_indices_from(cross)] += _RIDGE * (1 + np.diag(cross))
    own = terms - fitted @ np.linalg.solve(cross, weighted.T @ terms)
    total, squares = residuals @ own, own**2
    information = weights @ squares
    step = total / np.maximum(information, _TINY)
    left = (residuals[:, None] - weights[:, None] * own * step) ** 2
    shrunk = left.sum(axis=0) / max(float(residuals @ residuals), _TINY)
    variance = np.maximum((left * squares).sum(axis=0), shrunk * information)
    contributing = information**2 / np.maximum(weights**2 @ squares**2, _TINY)
    # What the regression has already leaves nothing but rounding errors and the ridge.
    new = information > _LEAST_NEW * (weights @ terms**2) + _TINY
    tested = (contributing >= _FEWEST_CONTRIBUTING) & new
    return np.where(tested, total**2 / np.maximum(variance, _TINY), 0.0)


def product_statistics(scores: Scores, left: Numbers, right: Numbers) -> Numbers:
    """Return about the score statistics of all products of two sets of columns.

    Two matrix products do it, because the other predictors are not taken out of the products.

    Parameters
    ----------
    scores : Scores
    left, right : ndarray of float64, shapes (n, a) and (n, b)

    Returns
    -------
    ndarray of float64, shape (a, b)
        The largest over the linear predictors.
    """
    found = np.zeros((left.shape[1], right.shape[1]))
    for residuals in scores.residuals.T:
        total = (left * residuals[:, None]).T @ right
        variance = (left**2 * residuals[:, None] ** 2).T @ right**2
        found = np.maximum(found, total**2 / np.maximum(variance, 1e-9))
    return found
