"""The regression of one question on others, with drawn coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tabsoda.engine.regressions.multinomial import Multinomial, fit_multinomial
from tabsoda.engine.regressions.predictive_mean_matching import (
    draw_regression,
    nearest_donors,
    tied_donors,
)
from tabsoda.engine.regressions.proportional_odds import ProportionalOdds, fit_proportional_odds
from tabsoda.schema.column import Column, ColumnKind

Numbers = NDArray[np.float64]

# Penalty on squared coefficients of standardised predictors, in the models for levels.
_RIDGE = 1.0
_DONORS = 5
# Fewest and most donors whose errors give the candidates of a draw that responses decide.
_CANDIDATES = (10, 20)
# More donors than this would not improve the matching.
_MOST_DONORS = 2000
# Predictions that differ by less, in units of the answers' spread, count as equal: the last bits
# depend on the number of rows.
_DECIMALS = 9
# At least this many rows are drawn, if there are as many.
_FEWEST_ROWS = 100
# Bounds on how strongly one answer can speak against a value.
_SMALLEST_VARIANCE = 1e-12
_SMALLEST_PROBABILITY = 1e-12


class QuestionRegression(Protocol):
    """The protocol of the regression of one question."""

    def draw(self, asked: Numbers, uniforms: Numbers) -> Numbers:
        """Draw an answer for each row of predictors (n, p), with uniforms (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class NumberRegression:
    """Linear regression; draws take the answer of a donor with a similar prediction.

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
        """Return the expected number, shape (n,); it does not depend on the variances."""
        return asked @ self.slopes[:-1] + self.slopes[-1]

    def draw(self, asked: Numbers, uniforms: Numbers) -> Numbers:
        """Draw the answers of donors; see :class:`QuestionRegression`."""
        predicted = _rounded(self.expect(asked), self.donors_answers)
        nearest = nearest_donors(predicted, self.donors_predicted, _DONORS)
        # A uniform in single precision may be rounded to 1.
        chosen = np.minimum((uniforms * nearest.shape[1]).astype(np.intp), nearest.shape[1] - 1)
        place = nearest[np.arange(len(asked)), chosen]
        # With few predictors many predictions are equal; a few donors must not stand for all.
        first, last = tied_donors(predicted, self.donors_predicted)
        among_tied = np.minimum(first + (uniforms * (last - first)).astype(np.intp), last - 1)
        return self.donors_answers[np.where(last - first > _DONORS, among_tied, place)]

    def candidates(self, asked: Numbers, shift: Numbers) -> tuple[Numbers, Numbers]:
        """Return equally probable answers: the prediction plus the errors of similar donors.

        Each is moved to the nearest answer that a donor gave.

        Parameters
        ----------
        asked : ndarray of float64, shape (n, p)
        shift : ndarray of float64, shape (n,)
            Uniform numbers that decide which of the similar donors are taken.

        Returns
        -------
        values, probabilities : ndarray of float64, shape (n, s)
        """
        few, many = _CANDIDATES
        n_donors = self.donors_answers.size
        count = max(min(int(np.clip(n_donors // 20, few, many)), n_donors // 2), 1)
        predicted = _rounded(self.expect(asked), self.donors_answers)
        nearest = nearest_donors(predicted, self.donors_predicted, 2 * count)
        first, last = (one[:, None] for one in tied_donors(predicted, self.donors_predicted))
        steps, shift = np.arange(count), shift[:, None]
        spaced = first + ((steps + shift) / count * (last - first)).astype(np.intp)
        every_second = np.minimum(2 * steps + (shift >= 0.5), nearest.shape[1] - 1)
        nearest = np.take_along_axis(nearest, every_second, axis=1)
        nearest = np.where(last - first > 2 * count, np.minimum(spaced, last - 1), nearest)
        errors = (self.donors_answers - self.donors_predicted)[nearest]
        values = _nearest(predicted[:, None] + errors, np.unique(self.donors_answers))
        return values, np.full(values.shape, 1 / values.shape[1])

    @property
    def coefficients(self) -> Numbers:
        """The slopes without the intercept, shape (p, 1)."""
        return self.slopes[:-1, None]

    def log_likelihood(self, linear: Numbers, answers: Numbers) -> Numbers:
        """Return the log density of answers (n,) up to a constant, assuming normal errors.

        ``linear`` are the predictors times the coefficients, shape (n, 1).
        """
        errors = self.donors_answers - self.donors_predicted
        variance = max(float(errors @ errors) / errors.size, _SMALLEST_VARIANCE)
        return -((answers - linear[:, 0] - self.slopes[-1]) ** 2) / (2 * variance)


@dataclass(frozen=True, eq=False)
class LevelRegression:
    """Proportional odds for ordered levels, multinomial logistic regression for others.

    Attributes
    ----------
    occurring : ndarray of int64, shape (k,)
        The observed levels; the others have probability 0.
    slopes : ndarray of float64, shape (p, k), or (p, 1) for ordered levels
    intercepts : ndarray of float64, shape (k,), or the k - 1 cutpoints of ordered levels
    n_levels : int
    converged : bool
        Whether the solver reached its tolerance.
    """

    occurring: NDArray[np.int64]
    slopes: Numbers
    intercepts: Numbers
    n_levels: int
    converged: bool = True

    def expect(self, asked: Numbers, variances: Numbers | None = None) -> Numbers:
        """Return the probabilities of the levels, shape (n, n_levels).

        Parameters
        ----------
        asked : ndarray of float64, shape (n, p)
            Predictors, or their expected values.
        variances : ndarray of float64, shape (n, p), optional
            Variances of the predictors, assumed independent; the probabilities are then averaged
            over the predictors, with the approximation of MacKay (1992).
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
        """Return the factor, shape (n, 1), that approximates the average over normal logits."""
        if variances is None:
            return 1.0
        slopes = self.slopes
        if slopes.shape[1] > 1:
            # The relevant variance is that of differences of logits, averaged over pairs of levels.
            between = slopes - slopes.mean(axis=1, keepdims=True)
            pairs = 2 * slopes.shape[1] / (slopes.shape[1] - 1)
            squared = pairs * (between**2).mean(axis=1)
        else:
            squared = slopes[:, 0] ** 2
        return (1.0 / np.sqrt(1.0 + np.pi / 8 * (variances @ squared)))[:, None]

    def candidates(self, asked: Numbers, shift: Numbers) -> tuple[Numbers, Numbers]:
        """Return the observed levels and their probabilities, shape (n, s) each."""
        probabilities = self.expect(asked)[:, self.occurring]
        return np.tile(self.occurring.astype(np.float64), (len(asked), 1)), probabilities

    @property
    def coefficients(self) -> Numbers:
        """The slopes, shape (p, k), or (p, 1) for ordered levels."""
        return self.slopes

    def log_likelihood(self, linear: Numbers, answers: Numbers) -> Numbers:
        """Return the log probability of levels (n,).

        ``linear`` are the predictors times the coefficients, shape (n, k) or (n, 1).
        """
        levels = answers.astype(np.int64)
        place = np.minimum(np.searchsorted(self.occurring, levels), self.occurring.size - 1)
        if self.intercepts.size == self.occurring.size:
            shares = softmax(linear + self.intercepts, axis=1)
            probabilities = shares[np.arange(len(place)), place]
        else:
            edges = np.concatenate([[-np.inf], self.intercepts, [np.inf]])
            upper, lower = (
                expit(edges[place + 1] - linear[:, 0]),
                expit(edges[place] - linear[:, 0]),
            )
            probabilities = upper - lower
        probabilities = np.where(self.occurring[place] == levels, probabilities, 0.0)
        return np.log(np.maximum(probabilities, _SMALLEST_PROBABILITY))

    def draw(self, asked: Numbers, uniforms: Numbers) -> Numbers:
        """Draw levels from their probabilities; see :class:`QuestionRegression`."""
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
        The posterior is widened to that of this share of the rows.
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
    # Evenly spaced in cumulative weight: each row once if all have equal weight and are few.
    reached = np.cumsum(np.ones(order.size) if weights is None else weights[order])
    n_donors = min(order.size, _MOST_DONORS)
    steps = (np.arange(n_donors) + 0.5) / n_donors * reached[-1]
    order = order[np.searchsorted(reached, steps)]
    donated = answers[order]
    return NumberRegression(drawn, _rounded(predicted[order], donated), donated)


def _nearest(values: Numbers, known: Numbers) -> Numbers:
    """Return the known value nearest to each value; ``known`` increases."""
    above = np.clip(np.searchsorted(known, values), 1, max(known.size - 1, 1))
    lower, upper = known[above - 1], known[np.minimum(above, known.size - 1)]
    return np.where(values - lower <= upper - values, lower, upper)


def _rounded(predicted: Numbers, answers: Numbers) -> Numbers:
    """Round predictions to a few decimals relative to the answers' spread."""
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
    """Regress levels on a bootstrap sample of the rows, so that coefficients vary.

    Parameters
    ----------
    column : Column
    predictors : ndarray of float64, shape (n, p)
    answers : ndarray of float64, shape (n,)
    weights : ndarray of float64, shape (n,), optional
        Sampling weights of the rows.
    generator : numpy.random.Generator
    start : LevelRegression, optional
        A regression of the same question on other rows, as a starting value.
    row_share : float
        Size of the sample as a share of the rows; the fewer, the more coefficients vary.
    """
    # Equal weights give the same sample as no weights.
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
        found = _fit_ordered(predictors, levels, start if same else None)
        return LevelRegression(occurring, found.slopes[:, None], found.cutpoints, column.n_levels)
    if occurring.size == 2:
        # The cumulative logit of two levels is logistic regression.
        found = _fit_ordered(predictors, levels, start if same else None)
        slopes, intercepts = (
            np.column_stack([0 * one, one]) for one in (found.slopes, -found.cutpoints)
        )
        return LevelRegression(occurring, slopes, intercepts[0], column.n_levels)
    if predictors.shape[1] == 0:
        shares = np.bincount(levels) / levels.size
        return LevelRegression(
            occurring, np.zeros((0, occurring.size)), np.log(shares), column.n_levels
        )
    near = Multinomial(start.slopes, start.intercepts) if start is not None and same else None
    several = fit_multinomial(predictors, levels, ridge=_RIDGE, start=near)
    return LevelRegression(
        occurring, several.slopes, several.intercepts, column.n_levels, several.converged
    )


def _fit_ordered(
    predictors: Numbers, levels: NDArray[np.int64], start: LevelRegression | None
) -> ProportionalOdds:
    """Fit ordered levels, or two levels of a nominal; parameters as in :func:`fit_levels`."""
    nearby = None
    if start is not None:
        slopes, cutpoints = start.slopes[:, -1], start.intercepts
        # A nominal of two levels has intercepts, the first of which is 0.
        unordered = cutpoints.size == start.occurring.size
        nearby = ProportionalOdds(-cutpoints[1:] if unordered else cutpoints, slopes)
    n_levels = int(levels.max()) + 1
    return fit_proportional_odds(
        predictors, levels, n_levels, ridge=_RIDGE, start=nearby, tolerance=1e-4
    )
