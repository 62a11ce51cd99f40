"""The regression of one question on others: fit with drawn coefficients, ask, draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from tabsoda.engine.regressions.predictive_mean_matching import draw_regression, nearest_donors
from tabsoda.engine.regressions.proportional_odds import ProportionalOdds, fit_proportional_odds
from tabsoda.schema.column import Column, ColumnKind

Numbers = NDArray[np.float64]

# Penalty on squared coefficients of standardised predictors, in the models for levels.
_RIDGE = 1.0
_DONORS = 5
# More donors than this are neighbours in all that a prediction can tell.
_MOST_DONORS = 2000
# Predictions that differ by less, in units of the answers' spread, are the same: the last bits
# depend on how many rows are asked.
_DECIMALS = 9
# Fewer rows than this are never drawn where there are more.
_FEWEST_ROWS = 100


class QuestionRegression(Protocol):
    """What a chain asks of the regression of one question."""

    def draw(self, asked: Numbers, uniforms: Numbers) -> Numbers:
        """Draw an answer for each row of predictors (n, p), by uniforms (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class NumberRegression:
    """Linear regression; draws take the answer of somebody with a like prediction.

    Attributes
    ----------
    slopes : ndarray of float64, shape (p + 1,)
        Drawn from their posterior, the intercept last.
    donors_predicted, donors_answers : ndarray of float64, shape (n_donors,)
        In the order of the predictions.
    """

    slopes: Numbers
    donors_predicted: Numbers
    donors_answers: Numbers

    def expect(self, asked: Numbers, variances: Numbers | None = None) -> Numbers:
        """Return the expected number, shape (n,); it is the same however predictors vary."""
        return asked @ self.slopes[:-1] + self.slopes[-1]

    def draw(self, asked: Numbers, uniforms: Numbers) -> Numbers:
        """Draw the answers of donors; see :class:`QuestionRegression`."""
        predicted = _rounded(self.expect(asked), self.donors_answers)
        nearest = nearest_donors(predicted, self.donors_predicted, _DONORS)
        # A uniform in single precision may be 1 after rounding.
        chosen = np.minimum((uniforms * nearest.shape[1]).astype(np.intp), nearest.shape[1] - 1)
        return self.donors_answers[nearest[np.arange(len(asked)), chosen]]


@dataclass(frozen=True, eq=False)
class LevelRegression:
    """Proportional odds for ordered levels, multinomial logistic regression for others.

    Attributes
    ----------
    occurring : ndarray of int64, shape (k,)
        The levels that somebody chose; the others have probability 0.
    slopes : ndarray of float64, shape (p, k), or (p, 1) for ordered levels
    intercepts : ndarray of float64, shape (k,), or the k - 1 cutpoints of ordered levels
    n_levels : int
    """

    occurring: NDArray[np.int64]
    slopes: Numbers
    intercepts: Numbers
    n_levels: int

    def expect(self, asked: Numbers, variances: Numbers | None = None) -> Numbers:
        """Return the probabilities of the levels, shape (n, n_levels).

        Parameters
        ----------
        asked : ndarray of float64, shape (n, p)
            Predictors, or what is expected of them.
        variances : ndarray of float64, shape (n, p), optional
            Of the predictors, which are taken to vary apart from each other; the probabilities are
            then averages over them, as near as MacKay (1992) comes to it.
        """
        if self.intercepts.size == self.occurring.size:
            logits = asked @ self.slopes + self.intercepts
            shares = softmax(logits * self._sharpness(variances), axis=1)
        else:
            model = ProportionalOdds(self.intercepts, self.slopes[:, 0])
            shares = model.probabilities(asked, self._sharpness(variances))
        probabilities = np.zeros((len(asked), self.n_levels))
        probabilities[:, self.occurring] = shares
        return probabilities

    def _sharpness(self, variances: Numbers | None) -> Numbers | float:
        """Return the factor, shape (n, 1), that stands for the average over normal logits."""
        if variances is None:
            return 1.0
        slopes = self.slopes
        if slopes.shape[1] > 1:
            # What counts is how far levels come apart: the mean over all pairs of them.
            between = slopes - slopes.mean(axis=1, keepdims=True)
            pairs = 2 * slopes.shape[1] / (slopes.shape[1] - 1)
            squared = pairs * (between**2).mean(axis=1)
        else:
            squared = slopes[:, 0] ** 2
        return (1.0 / np.sqrt(1.0 + np.pi / 8 * (variances @ squared)))[:, None]

    def draw(self, asked: Numbers, uniforms: Numbers) -> Numbers:
        """Draw levels by their probabilities; see :class:`QuestionRegression`."""
        edges = self.expect(asked)[:, self.occurring].cumsum(axis=1)
        place = (edges[:, :-1] <= (uniforms * edges[:, -1])[:, None]).sum(axis=1)
        return self.occurring[place].astype(np.float64)


def fit_number(
    predictors: Numbers,
    answers: Numbers,
    weights: Numbers | None,
    generator: np.random.Generator,
    row_share: float = 1.0,
) -> NumberRegression:
    """Regress a number.

    Parameters
    ----------
    predictors : ndarray of float64, shape (n, p)
    answers : ndarray of float64, shape (n,)
    weights : ndarray of float64, shape (n,), optional
    generator : numpy.random.Generator
        Draws the coefficients from their posterior.
    row_share : float
        The posterior is that of so many rows, as a share of those there are.
    """
    terms = np.column_stack([predictors, np.ones(len(predictors))])
    root = np.ones(len(terms)) if weights is None else np.sqrt(weights / weights.mean())
    middle, spread = float(answers.mean()), float(answers.std()) or 1.0
    standard = (answers - middle) / spread
    fitted, drawn = draw_regression(terms * root[:, None], standard * root, generator)
    drawn = fitted + (drawn - fitted) / np.sqrt(row_share)
    fitted, drawn = (spread * one + middle * np.eye(len(one))[-1] for one in (fitted, drawn))
    predicted = terms @ fitted
    order = np.argsort(_rounded(predicted, answers), kind="stable")
    # Evenly spaced in what the rows before weigh: once each where all weigh the same and are few.
    reached = np.cumsum(np.ones(order.size) if weights is None else weights[order])
    n_donors = min(order.size, _MOST_DONORS)
    steps = (np.arange(n_donors) + 0.5) / n_donors * reached[-1]
    order = order[np.searchsorted(reached, steps)]
    donated = answers[order]
    return NumberRegression(drawn, _rounded(predicted[order], donated), donated)


def _rounded(predicted: Numbers, answers: Numbers) -> Numbers:
    """Round predictions to some decimals of the power of ten that the answers' spread is near."""
    spread = float(np.ptp(answers)) or 1.0
    unit = 10.0 ** np.floor(np.log10(spread))
    return np.round(predicted / unit, _DECIMALS) * unit


def fit_levels(
    column: Column,
    predictors: Numbers,
    answers: Numbers,
    weights: Numbers | None,
    generator: np.random.Generator,
    start: LevelRegression | None = None,
    row_share: float = 1.0,
) -> LevelRegression:
    """Regress levels; the rows are drawn with replacement, which is what varies the coefficients.

    Parameters
    ----------
    column : Column
    predictors : ndarray of float64, shape (n, p)
    answers : ndarray of float64, shape (n,)
    weights : ndarray of float64, shape (n,), optional
        By which the rows are drawn.
    generator : numpy.random.Generator
    start : LevelRegression, optional
        Of the same question and predictors on other rows: a nearby solution.
    row_share : float
        Rows drawn, as a share of those there are; the fewer, the more coefficients vary.
    """
    # Equal weights draw the same rows as none.
    weights = np.ones(answers.size) if weights is None else weights
    share = weights / weights.sum()
    size = min(answers.size, max(round(row_share * answers.size), _FEWEST_ROWS))
    rows = generator.choice(answers.size, size, p=share)
    predictors = predictors[rows]
    occurring, levels = np.unique(answers[rows].astype(np.int64), return_inverse=True)
    same = start is not None and np.array_equal(start.occurring, occurring)
    if occurring.size == 1:
        return LevelRegression(
            occurring, np.zeros((predictors.shape[1], 1)), np.zeros(1), column.n_levels
        )
    if column.kind is ColumnKind.ORDINAL:
        nearby = None
        if start is not None and same:
            nearby = ProportionalOdds(start.intercepts, start.slopes[:, 0])
        found = fit_proportional_odds(
            predictors, levels, occurring.size, ridge=_RIDGE, start=nearby, tolerance=1e-5
        )
        return LevelRegression(occurring, found.slopes[:, None], found.cutpoints, column.n_levels)
    if predictors.shape[1] == 0:
        shares = np.bincount(levels) / levels.size
        return LevelRegression(
            occurring, np.zeros((0, occurring.size)), np.log(shares), column.n_levels
        )
    solver = "newton-cholesky" if occurring.size == 2 else "lbfgs"
    model = LogisticRegression(C=1 / _RIDGE, solver=solver, tol=1e-3, max_iter=200, warm_start=True)
    if start is not None and same:
        model.coef_, model.intercept_ = start.slopes.T, start.intercepts
        if occurring.size == 2:
            model.coef_, model.intercept_ = model.coef_[1:], model.intercept_[1:]
    model.fit(predictors, levels)
    slopes, intercepts = model.coef_.T, model.intercept_
    if occurring.size == 2:
        slopes, intercepts = np.pad(slopes, ((0, 0), (1, 0))), np.pad(intercepts, (1, 0))
    return LevelRegression(occurring, slopes, intercepts, column.n_levels)
