"""How much each predictor contributes to an estimate, chosen on held-out answers.

The first predictor is mixed with the second, the result with the third, and so on; then the
probabilities are calibrated by a temperature per question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from tabsoda.engine.calibrate import fit_temperatures, tempered
from tabsoda.engine.predictor import CellAnswers, Mask, UsualShares, Values
from tabsoda.events import EventLog

# A question's share is shrunk towards the share of its kind, and that towards the usual share: a
# few hundred held-out answers cannot distinguish a fifth from a third.
_SHARE_CELLS = 100.0
_KIND_CELLS = 300.0


class HeldOutCells(NamedTuple):
    """Held-out answers, cell by cell: N of levels, M of numbers.

    Attributes
    ----------
    level_columns : ndarray of int64, shape (N,)
        The categorical column of each cell.
    levels : ndarray of int64, shape (N,)
        The true answers.
    level_weights : ndarray of float64, shape (N,)
        Weights of the rows.
    number_columns : ndarray of int64, shape (M,)
    numbers : ndarray of float64, shape (M,)
        The true answers, in standard deviations from the mean.
    number_weights : ndarray of float64, shape (M,)
    """

    level_columns: NDArray[np.int64]
    levels: NDArray[np.int64]
    level_weights: Values
    number_columns: NDArray[np.int64]
    numbers: Values
    number_weights: Values


class Prediction(NamedTuple):
    """One predictor's answers for the held-out cells.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (N, max_levels)
        0 in the padding.
    numbers : ndarray of float64, shape (M,)
    """

    probabilities: Values
    numbers: Values


@dataclass(frozen=True, eq=False)
class Blend:
    """Shares and temperatures of an ensemble of P predictors.

    Attributes
    ----------
    level_shares : ndarray of float64, shape (P - 1, n_categorical)
        Share of every predictor but the first, relative to the blend of those before it.
    number_shares : ndarray of float64, shape (P - 1, n_numbers)
    temperatures : ndarray of float64, shape (n_categorical,)
        Above 1 flattens, below 1 sharpens.
    """

    level_shares: Values
    number_shares: Values
    temperatures: Values

    @classmethod
    def usual(cls, shares: Sequence[UsualShares], ordered: Mask, n_numbers: int) -> Blend:
        """Return the usual shares of all predictors but the first, without calibration.

        Examples
        --------
        >>> blend = Blend.usual([UsualShares(0.3, 0.5, 0.3)], np.array([False, True]), 1)
        >>> blend.level_shares.tolist(), blend.number_shares.tolist()
        ([[0.3, 0.5]], [[0.3]])
        """
        return cls(
            np.array([one.of_levels(ordered) for one in shares]).reshape(len(shares), ordered.size),
            np.array([[one.numbers] * n_numbers for one in shares]).reshape(len(shares), n_numbers),
            np.ones(ordered.size),
        )

    def apply(self, answers: Sequence[CellAnswers]) -> CellAnswers:
        """Mix the predictors' answers, and calibrate."""
        mixed = answers[0]
        for other, levels, numbers in zip(
            answers[1:], self.level_shares, self.number_shares, strict=True
        ):
            mixed = mix(mixed, other, levels, numbers)
        probabilities = tempered(mixed.probabilities, self.temperatures)
        return CellAnswers(probabilities, mixed.numbers, answers[0].bins)


def mix(
    one: CellAnswers, other: CellAnswers, level_share: Values, number_share: Values
) -> CellAnswers:
    """Average two answers, with the given share of the other in each column.

    Examples
    --------
    >>> one, other = (CellAnswers(np.array([[[p, 1 - p]]]), np.array([[p]])) for p in (0.2, 1.0))
    >>> mixed = mix(one, other, np.array([0.5]), np.array([0.25]))
    >>> mixed.probabilities.tolist(), mixed.numbers.tolist()
    ([[[0.6, 0.4]]], [[0.4]])
    """
    share = level_share[:, None]
    return CellAnswers(
        (1 - share) * one.probabilities + share * other.probabilities,
        (1 - number_share) * one.numbers + number_share * other.numbers,
    )


def without_abstentions(answers: Sequence[CellAnswers]) -> list[CellAnswers]:
    """Replace the first predictor's answers by the second's in cells where the first abstains."""
    first = answers[0]
    if first.abstains is None or len(answers) < 2:
        return list(answers)
    n_categorical = first.probabilities.shape[1]
    levels, numbers = first.abstains[:, :n_categorical], first.abstains[:, n_categorical:]
    replaced = CellAnswers(
        np.where(levels[..., None], answers[1].probabilities, first.probabilities),
        np.where(numbers, answers[1].numbers, first.numbers),
        first.bins,
    )
    return [replaced, *answers[1:]]


def fit_blend(
    predictions: Sequence[Prediction],
    names: Sequence[str],
    usual: Sequence[UsualShares],
    truth: HeldOutCells,
    ordered: Mask,
    n_numbers: int,
    events: EventLog,
) -> Blend:
    """Choose shares by log score and squared error on held-out answers, then temperatures.

    Parameters
    ----------
    predictions : sequence of Prediction
        One per predictor.
    names, usual : sequence
        One per predictor.
    truth : HeldOutCells
    ordered : ndarray of bool, shape (n_categorical,)
    n_numbers : int
    events : EventLog
    """
    mixed = predictions[0]
    blend = Blend.usual(usual[1:], ordered, n_numbers)
    for number, other in enumerate(predictions[1:]):
        levels = _level_shares(mixed, other, truth, ordered, usual[number + 1])
        numbers = _number_shares(mixed, other, truth, n_numbers, usual[number + 1].numbers)
        share = levels[truth.level_columns, None]
        of_numbers = numbers[truth.number_columns]
        mixed = Prediction(
            (1 - share) * mixed.probabilities + share * other.probabilities,
            (1 - of_numbers) * mixed.numbers + of_numbers * other.numbers,
        )
        blend.level_shares[number], blend.number_shares[number] = levels, numbers
        _log_shares(names[number + 1], levels, numbers, ordered, events)
    temperatures = fit_temperatures(
        mixed.probabilities, truth.levels, truth.level_columns, truth.level_weights, ordered.size
    )
    return Blend(blend.level_shares, blend.number_shares, temperatures)


def _log_shares(
    name: str, level_share: Values, number_share: Values, ordered: Mask, events: EventLog
) -> None:
    events.add(
        "predictor_blended_in",
        predictor=name,
        nominals=_mean(level_share[~ordered]),
        ordinals=_mean(level_share[ordered]),
        numbers=_mean(number_share),
    )


def _mean(shares: Values) -> float | None:
    return float(shares.mean()) if shares.size else None


def _level_shares(
    first: Prediction, other: Prediction, truth: HeldOutCells, ordered: Mask, usual: UsualShares
) -> Values:
    """Return the other's share of each categorical column, shrunk towards the share of its kind."""
    own, others = (
        np.take_along_axis(one.probabilities, truth.levels[:, None], axis=1)[:, 0]
        for one in (first, other)
    )
    weights = truth.level_weights
    shares = usual.of_levels(ordered)
    for kind, towards in ((~ordered, usual.nominals), (ordered, usual.ordinals)):
        cells = kind[truth.level_columns]
        common = _best_share(own[cells], others[cells], weights[cells], towards, _KIND_CELLS)
        for column in np.flatnonzero(kind):
            seen = truth.level_columns == column
            shares[column] = _best_share(
                own[seen], others[seen], weights[seen], common, _SHARE_CELLS
            )
    return shares


def _number_shares(
    first: Prediction, other: Prediction, truth: HeldOutCells, n_numbers: int, usual: float
) -> Values:
    """Return the other's share of each number, shrunk towards the share of all numbers."""
    if not truth.numbers.size:
        return np.full(n_numbers, usual)
    difference = other.numbers - first.numbers
    gain = (truth.numbers - first.numbers) * difference * truth.number_weights
    length = difference**2 * truth.number_weights
    common = _ratio(gain.sum(), length.sum(), usual)

    def by_column(values: Values) -> Values:
        counted: Values = np.bincount(truth.number_columns, values, n_numbers).astype(np.float64)
        return counted

    cells = np.maximum(by_column(truth.number_weights), 1)
    gains, lengths = by_column(gain), by_column(length)
    pull = _SHARE_CELLS * lengths / cells
    above, below = gains + pull * common, lengths + pull
    # Numbers without held-out cells, or on which both agree, get the share of all numbers.
    own = [_ratio(above[j], below[j], common) for j in range(n_numbers)]
    return np.clip(own, 0.0, 1.0)


def _ratio(above: float, below: float, otherwise: float) -> float:
    return float(above / below) if below > 0 else otherwise


def _best_share(own: Values, other: Values, weights: Values, towards: float, pull: float) -> float:
    """Return the share with the highest log score of held-out answers, shrunk towards another."""
    if not own.size:
        return towards

    def loss(share: float) -> float:
        score = weights * np.log(np.maximum((1 - share) * own + share * other, 1e-6))
        return float(pull * (share - towards) ** 2 - score.sum())

    found = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-3})
    return float(found.x)
