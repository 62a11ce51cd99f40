"""Generate correlated answers from latent factors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, softmax

from tabsoda.datasets.questions import Choice, Number, Question

FloatArray = NDArray[np.float64]

FACTORS = ("age", "male", "means", "health", "outlook", "thrill", "social")

# Small enough not to matter, large enough that ndtri is finite.
_EDGE = 1e-9
# Enough respondents to match the shares of an unordered question within a point or two.
_CALIBRATION_ROWS = 1000


def draw_factors(n_rows: int, rng: np.random.Generator) -> FloatArray:
    """Draw the latent factors of each respondent, shape (n_rows, len(FACTORS)), unit variance."""
    own = rng.standard_normal((n_rows, len(FACTORS)))
    age, means = own[:, 0], own[:, 2]
    male = np.where(own[:, 1] > 0, 1.0, -1.0)
    health = _unit(own[:, 3] + 0.5 * means - 0.6 * age)
    outlook = _unit(own[:, 4] + 0.5 * health + 0.3 * means)
    thrill = _unit(own[:, 5] - 0.6 * age + 0.3 * male)
    social = _unit(own[:, 6] + 0.4 * outlook)
    return np.column_stack([age, male, means, health, outlook, thrill, social])


def draw_answer(
    question: Question,
    factors: FloatArray,
    structure: np.random.Generator,
    noise: np.random.Generator,
) -> FloatArray:
    """Return the answers of all respondents: level positions or numbers, shape (n_rows,).

    Parameters
    ----------
    question : Question
    factors : ndarray, shape (n_rows, n_factors)
    structure : Generator
        Draws the unspecified parameters of the question; the same for all respondents.
    noise : Generator
        Draws the noise of each respondent.
    """
    answer = question.answer
    if isinstance(answer, Choice) and not answer.ordered and len(answer.labels) > 2:
        return _unordered(answer, factors, structure, noise)
    propensity = _propensity(question.loads, question.signal, factors, structure, noise)
    if isinstance(answer, Number):
        return _number(answer, propensity)
    if not answer.ordered:
        # The first answer, 'Yes', becomes more likely as the propensity rises.
        return (propensity < ndtri(1.0 - answer.shares[0])).astype(np.float64)
    cutpoints = ndtri(np.cumsum(answer.shares)[:-1])
    return np.searchsorted(cutpoints, propensity).astype(np.float64)


def _propensity(
    loads: Mapping[str, float],
    signal: float,
    factors: FloatArray,
    structure: np.random.Generator,
    noise: np.random.Generator,
) -> FloatArray:
    """Mix factors (linear, quadratic, products) with noise; mean 0, variance 1, (n_rows,)."""
    weights = np.array([loads.get(name, 0.0) for name in FACTORS])
    drawn = structure.standard_normal(len(FACTORS))
    first, second = structure.choice(len(FACTORS), size=2, replace=False)
    bend, cross = structure.normal(scale=0.25, size=2)
    if not loads:
        weights = np.where(np.abs(drawn) > 0.6, drawn, 0.0)
    linear = _unit(factors @ weights) if weights.any() else np.zeros(factors.shape[0])
    # Questions specified as (nearly) one factor stay that factor.
    curved = signal < 0.9
    bent = bend * (linear**2 - 1.0) + cross * factors[:, first] * factors[:, second]
    systematic = _unit(linear + curved * bent)
    return np.sqrt(signal) * systematic + np.sqrt(1.0 - signal) * noise.standard_normal(
        factors.shape[0]
    )


def _unordered(
    answer: Choice,
    factors: FloatArray,
    structure: np.random.Generator,
    noise: np.random.Generator,
) -> FloatArray:
    """Choose the answer of highest utility (multinomial logit on the factors)."""
    n_levels = len(answer.labels)
    pulls = structure.normal(scale=0.9, size=(len(FACTORS), n_levels))
    for label, pull in answer.pulls.items():
        pulls[:, answer.labels.index(label)] = [pull.get(name, 0.0) for name in FACTORS]
    utility = factors @ pulls
    utility += _intercepts(utility[:_CALIBRATION_ROWS], np.array(answer.shares))
    utility += noise.gumbel(size=utility.shape)
    return utility.argmax(axis=1).astype(np.float64)


def _intercepts(utility: FloatArray, shares: FloatArray) -> FloatArray:
    """Find intercepts with which the levels are chosen in these shares; shape (n_levels,)."""
    intercepts = np.log(shares)
    for _ in range(20):
        chosen = softmax(utility + intercepts, axis=1).mean(axis=0)
        intercepts = intercepts + np.log(shares) - np.log(chosen)
    return intercepts


def _number(answer: Number, propensity: FloatArray) -> FloatArray:
    """Turn a propensity into a number by its quantile; the lowest share becomes zero."""
    quantile = np.clip(ndtr(propensity), _EDGE, 1.0 - _EDGE)
    above = np.clip((quantile - answer.zero_share) / (1.0 - answer.zero_share), _EDGE, 1.0)
    score = ndtri(np.minimum(above, 1.0 - _EDGE))
    if answer.skewed:
        value = answer.center * np.exp(answer.spread * score)
    else:
        value = answer.center + answer.spread * score
    value = np.clip(np.round(value / answer.step) * answer.step, answer.low, answer.high)
    # Adding 0.0 turns the -0.0 that rounding leaves into 0.0.
    return np.where(quantile < answer.zero_share, 0.0, value) + 0.0


def _unit(values: FloatArray) -> FloatArray:
    """Centre and scale to variance 1; a constant becomes 0."""
    spread = values.std()
    centred = values - values.mean()
    return centred / spread if spread > 0 else centred
