"""The models of chained equations: fit on the answers, draw for the missing cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from tabsoda.bench.methods.point_estimates import level_shares
from tabsoda.engine.regressions.predictive_mean_matching import draw_regression, match_donors
from tabsoda.engine.regressions.proportional_odds import ProportionalOdds, fit_proportional_odds
from tabsoda.schema.column import Column, ColumnKind

Numbers = NDArray[np.float64]


class ChainedModel(Protocol):
    """The model of one question, used once per round of a chain."""

    def draw(
        self,
        predictors: Numbers,
        answers: Numbers,
        asked: Numbers,
        generator: np.random.Generator,
    ) -> tuple[Numbers, Numbers | None]:
        """Fit on the answered rows and draw an answer for the others.

        Parameters
        ----------
        predictors : ndarray of float64, shape (n_answers, n_predictors)
            Standardised, without an intercept.
        answers : ndarray of float64, shape (n_answers,)
        asked : ndarray of float64, shape (n_missing, n_predictors)
        generator : numpy.random.Generator

        Returns
        -------
        drawn : ndarray of float64, shape (n_missing,)
        probabilities : ndarray of float64, shape (n_missing, n_levels), or None for numbers
        """
        ...


def model_for(column: Column, ridge: float, n_donors: int) -> ChainedModel:
    """Return the model for a question's kind."""
    if column.kind is ColumnKind.CONTINUOUS:
        return MatchingModel(n_donors)
    if column.kind is ColumnKind.ORDINAL:
        return OrderedModel(column.n_levels, ridge)
    return UnorderedModel(column.n_levels, ridge)


class MatchingModel:
    """Linear regression with predictive mean matching."""

    def __init__(self, n_donors: int) -> None:
        self.n_donors = n_donors

    def draw(
        self, predictors: Numbers, answers: Numbers, asked: Numbers, generator: np.random.Generator
    ) -> tuple[Numbers, None]:
        """Draw answers of donors; see :class:`ChainedModel`."""
        if not answers.size:
            return np.zeros(asked.shape[0]), None
        predictors, asked = _with_intercept(predictors), _with_intercept(asked)
        fitted, drawn = draw_regression(predictors, answers, generator)
        matched = match_donors(
            asked @ drawn, predictors @ fitted, answers, generator, self.n_donors
        )
        return matched, None


class _LevelModel(ABC):
    """Base of the models for levels; levels without answers get probability 0."""

    def __init__(self, n_levels: int, ridge: float) -> None:
        self.n_levels, self.ridge = n_levels, ridge

    def draw(
        self, predictors: Numbers, answers: Numbers, asked: Numbers, generator: np.random.Generator
    ) -> tuple[Numbers, Numbers]:
        """Draw levels by their probabilities; see :class:`ChainedModel`."""
        occurring, levels = np.unique(answers.astype(np.intp), return_inverse=True)
        probabilities = np.tile(level_shares(answers, self.n_levels), (asked.shape[0], 1))
        if occurring.size > 1 and predictors.shape[1]:
            probabilities[:] = 0.0
            probabilities[:, occurring] = self._probabilities(
                predictors, levels, occurring.size, asked, generator
            )
        edges = np.cumsum(probabilities, axis=1)
        thrown = generator.random(asked.shape[0]) * edges[:, -1]
        drawn = (edges[:, :-1] <= thrown[:, None]).sum(axis=1)
        return drawn.astype(np.float64), probabilities

    @abstractmethod
    def _probabilities(
        self,
        predictors: Numbers,
        levels: NDArray[np.intp],
        n_occurring: int,
        asked: Numbers,
        generator: np.random.Generator,
    ) -> Numbers:
        """Return the probabilities of the levels that occur; shape (n_missing, n_occurring)."""


class OrderedModel(_LevelModel):
    """Proportional odds."""

    _last: ProportionalOdds | None = None

    def _probabilities(
        self,
        predictors: Numbers,
        levels: NDArray[np.intp],
        n_occurring: int,
        asked: Numbers,
        generator: np.random.Generator,
    ) -> Numbers:
        self._last = fit_proportional_odds(
            predictors, levels, n_occurring, ridge=self.ridge, start=self._last
        )
        return self._last.probabilities(asked)


class UnorderedModel(_LevelModel):
    """Logistic regression with drawn coefficients for two levels, multinomial for more."""

    def __init__(self, n_levels: int, ridge: float) -> None:
        super().__init__(n_levels, ridge)
        self._model: LogisticRegression | None = None

    def _probabilities(
        self,
        predictors: Numbers,
        levels: NDArray[np.intp],
        n_occurring: int,
        asked: Numbers,
        generator: np.random.Generator,
    ) -> Numbers:
        if self._model is None:
            solver = "newton-cholesky" if n_occurring == 2 else "lbfgs"
            self._model = LogisticRegression(
                C=1 / self.ridge, solver=solver, tol=1e-3, max_iter=200, warm_start=True
            )
        model = self._model.fit(predictors, levels)
        if n_occurring > 2:
            return model.predict_proba(asked)
        coefficients = np.append(model.coef_[0], model.intercept_)
        drawn = draw_logistic(_with_intercept(predictors), coefficients, self.ridge, generator)
        second = 1 / (1 + np.exp(-np.clip(_with_intercept(asked) @ drawn, -500, 500)))
        return np.column_stack([1 - second, second])


def draw_logistic(
    predictors: Numbers, coefficients: Numbers, ridge: float, generator: np.random.Generator
) -> Numbers:
    """Draw logistic coefficients from the normal approximation of their posterior.

    Parameters
    ----------
    predictors : ndarray of float64, shape (n_rows, n_predictors)
        The intercept last.
    coefficients : ndarray of float64, shape (n_predictors,)
        The most probable ones.
    ridge : float
        Penalty on all but the intercept.
    generator : numpy.random.Generator
    """
    first = 1 / (1 + np.exp(np.clip(predictors @ coefficients, -500, 500)))
    curvature = (predictors * (first * (1 - first))[:, None]).T @ predictors
    penalty = np.full(coefficients.size, ridge)
    penalty[-1] = 1e-6 * predictors.shape[0]
    factor = np.linalg.cholesky(curvature + np.diag(penalty))
    noise: Numbers = np.linalg.solve(factor.T, generator.standard_normal(coefficients.size))
    return coefficients + noise


def _with_intercept(predictors: Numbers) -> Numbers:
    return np.column_stack([predictors, np.ones(predictors.shape[0])])
