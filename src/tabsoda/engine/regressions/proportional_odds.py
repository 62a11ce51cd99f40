"""The proportional-odds model: a cumulative logit with one slope for all cutpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.special import expit, logit

Numbers = NDArray[np.float64]

_SMALLEST = 1e-12
_HALVINGS = 30
# A step that gains more than this share of the one before calls for a new curvature.
_SLOW = 0.1


@dataclass(frozen=True, eq=False)
class ProportionalOdds:
    """P(Y <= k) = logistic(cutpoint_k - x'slopes), McCullagh (1980).

    Attributes
    ----------
    cutpoints : ndarray of float64, shape (n_levels - 1,)
        Increasing.
    slopes : ndarray of float64, shape (n_predictors,)
    """

    cutpoints: Numbers
    slopes: Numbers

    def probabilities(self, predictors: Numbers, sharpness: Numbers | float = 1.0) -> Numbers:
        """Return the probability of every level; shape (n_rows, n_levels).

        ``sharpness``, shape (n_rows, 1), multiplies all distances from the cutpoints.
        """
        distance = self.cutpoints[None, :] - (predictors @ self.slopes)[:, None]
        reached = expit(sharpness * distance)
        edges = np.pad(reached, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
        return np.diff(edges, axis=1)


def fit_proportional_odds(
    predictors: Numbers,
    levels: NDArray[np.int64],
    n_levels: int,
    *,
    ridge: float = 1.0,
    start: ProportionalOdds | None = None,
    max_steps: int = 30,
    tolerance: float = 1e-6,
) -> ProportionalOdds:
    """Maximise the likelihood less half the ridge times the squared slopes, by Newton's method.

    Parameters
    ----------
    predictors : ndarray of float64, shape (n_rows, n_predictors)
        Without an intercept, on comparable scales.
    levels : ndarray of int64, shape (n_rows,)
        0 .. n_levels - 1; every level occurs.
    n_levels : int
        Two or more.
    ridge : float
        If positive, the slopes stay finite even if a predictor separates the levels.
    start : ProportionalOdds, optional
        A nearby solution.
    max_steps, tolerance : int, float
        Stops when a step gains less than ``tolerance`` per row.

    Examples
    --------
    >>> no_predictors = np.empty((4, 0))
    >>> model = fit_proportional_odds(no_predictors, np.array([0, 1, 1, 2]), 3)
    >>> model.probabilities(no_predictors)[0].round(3).tolist()
    [0.25, 0.5, 0.25]
    """
    shares = np.bincount(levels, minlength=n_levels) / levels.size
    cold = start is None
    if start is None:
        start = ProportionalOdds(logit(np.cumsum(shares)[:-1]), np.zeros(predictors.shape[1]))
    problem = _Likelihood(predictors, levels, n_levels, ridge)
    parameters = np.concatenate([start.cutpoints, start.slopes])
    value = problem.value(parameters)
    solve, is_new, last_gain = problem.newton_solver(parameters), True, 0.0 if cold else np.inf
    for _ in range(max_steps):
        gradient = problem.gradient(parameters)
        step = solve(gradient)
        promised = 0.5 * float(gradient @ step)
        for _ in range(_HALVINGS):
            candidate = parameters + step
            reached = problem.value(candidate)
            if reached >= value:
                break
            step = step / 2
        else:
            candidate, reached = parameters, value
        gain, parameters, value = reached - value, candidate, reached
        # A small gain is the end only if the curvature promised little more.
        if max(gain, promised) < tolerance * levels.size or (is_new and gain == 0):
            break
        # Near the solution, the curvature is about what it was.
        is_new = gain > _SLOW * last_gain or gain < 0.5 * promised
        if is_new:
            solve = problem.newton_solver(parameters)
        last_gain = gain
    return ProportionalOdds(parameters[: n_levels - 1], parameters[n_levels - 1 :])


def score_of(
    model: ProportionalOdds, predictors: Numbers, levels: NDArray[np.int64]
) -> tuple[Numbers, Numbers]:
    """Return each row's first derivative by its linear predictor, and minus the second, shape (n,).

    Parameters
    ----------
    model : ProportionalOdds
    predictors : ndarray of float64, shape (n, n_predictors)
    levels : ndarray of int64, shape (n,)
    """
    padded = np.concatenate([[-np.inf], model.cutpoints, [np.inf]])
    linear = predictors @ model.slopes
    upper, lower = expit(padded[levels + 1] - linear), expit(padded[levels] - linear)
    # With F the logistic function, F'(a) - F'(b) = (F(a) - F(b)) (1 - F(a) - F(b)).
    return upper + lower - 1, upper * (1 - upper) + lower * (1 - lower)


class _Likelihood:
    """The penalised log-likelihood with its derivatives; F is the logistic function, f its slope.

    A row at level k has probability F(a) - F(b), a and b being the cutpoints above and below its
    level less its linear predictor.
    """

    def __init__(
        self, predictors: Numbers, levels: NDArray[np.int64], n_levels: int, ridge: float
    ) -> None:
        self.predictors, self.levels, self.ridge = predictors, levels, ridge
        self.n_cutpoints = n_levels - 1
        cutpoint = np.arange(self.n_cutpoints)
        self.above = (levels[:, None] == cutpoint).astype(np.float64)
        self.below = (levels[:, None] == cutpoint + 1).astype(np.float64)

    def _edges(self, parameters: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        cutpoints, slopes = parameters[: self.n_cutpoints], parameters[self.n_cutpoints :]
        padded = np.concatenate([[-np.inf], cutpoints, [np.inf]])
        linear = self.predictors @ slopes
        upper = expit(padded[self.levels + 1] - linear)
        lower = expit(padded[self.levels] - linear)
        return upper, lower, np.maximum(upper - lower, _SMALLEST)

    def value(self, parameters: Numbers) -> float:
        """Return the penalised log-likelihood; minus infinity where cutpoints are out of order."""
        cutpoints, slopes = parameters[: self.n_cutpoints], parameters[self.n_cutpoints :]
        if (np.diff(cutpoints) <= 0).any():
            return -np.inf
        probability = self._edges(parameters)[2]
        return float(np.log(probability).sum() - 0.5 * self.ridge * slopes @ slopes)

    def gradient(self, parameters: Numbers) -> Numbers:
        """Return the first derivatives."""
        upper, lower, probability = self._edges(parameters)
        by_a, by_b = upper * (1 - upper) / probability, -lower * (1 - lower) / probability
        slopes = parameters[self.n_cutpoints :]
        return np.concatenate(
            [
                self.above.T @ by_a + self.below.T @ by_b,
                -self.predictors.T @ (by_a + by_b) - self.ridge * slopes,
            ]
        )

    def newton_solver(self, parameters: Numbers) -> Callable[[Numbers], Numbers]:
        """Return the function from first derivatives to a Newton step, at some parameters."""
        upper, lower, probability = self._edges(parameters)
        by_a, by_b = upper * (1 - upper) / probability, -lower * (1 - lower) / probability
        aa = by_a * (1 - 2 * upper) - by_a**2
        bb = by_b * (1 - 2 * lower) - by_b**2
        ab = -by_a * by_b
        across = (self.above * ab[:, None]).T @ self.below
        corner = (
            (self.above * aa[:, None]).T @ self.above
            + (self.below * bb[:, None]).T @ self.below
            + across
            + across.T
        )
        side = -(self.above * (aa + ab)[:, None] + self.below * (bb + ab)[:, None])
        side = side.T @ self.predictors
        # The likelihood is concave; a matrix times its own transpose takes half the time.
        rooted = self.predictors * np.sqrt(np.maximum(-(aa + bb + 2 * ab), 0.0))[:, None]
        block = rooted.T @ rooted + self.ridge * np.eye(self.predictors.shape[1])
        curvature = np.block([[-corner, -side], [-side.T, block]])
        # A small ridge on the cutpoints, for levels that a predictor separates completely.
        curvature[np.diag_indices_from(curvature)] += 1e-8 * (1 + np.abs(np.diag(curvature)))
        return partial(lu_solve, lu_factor(curvature))
