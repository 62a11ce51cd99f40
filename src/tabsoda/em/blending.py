"""Blends the network's answers with the tree experts' and the regressions', and calibrates.

Weights and temperatures are chosen on held-out cells, which none of them has learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from tabsoda.events import EventLog

Values = NDArray[np.float64]

_FLOOR = 1e-12
# A column's own temperature counts as much as its held-out cells against this many of all columns.
_SHRINKAGE = 200.0
_LOG_TEMPERATURE = 1.5
# A column's share is drawn towards that of its kind, and that towards what is usual: a few hundred
# held-out cells cannot tell a fifth from a third.
_SHARE_CELLS = 100.0
_KIND_CELLS = 300.0
USUAL_SHARES = {"tree experts": 0.5, "regressions": 0.3}


class CellAnswers(NamedTuple):
    """What is said about the cells of some rows.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (n, n_categorical, max_levels)
        0 in the padding.
    numbers : ndarray of float64, shape (n, n_numbers)
        Standardised.
    """

    probabilities: Values
    numbers: Values


@dataclass(frozen=True, eq=False)
class Blend:
    """How much of the experts and of the regressions goes in, and how sharp the result is.

    Attributes
    ----------
    level_share : ndarray of float64, shape (n_categorical,)
        Of the experts in each categorical column; 0 where there are none.
    number_share : ndarray of float64, shape (n_numbers,)
    regression_level_share : ndarray of float64, shape (n_categorical,)
        Of the regressions, against network and experts together; 0 where there are none.
    regression_number_share : ndarray of float64, shape (n_numbers,)
    temperatures : ndarray of float64, shape (n_categorical,)
        Above 1 flattens, below 1 sharpens.
    """

    level_share: Values
    number_share: Values
    regression_level_share: Values
    regression_number_share: Values
    temperatures: Values

    @classmethod
    def even(
        cls, n_categorical: int, n_numbers: int, share: float = 0.0, regression_share: float = 0.0
    ) -> Blend:
        """Return the blend that has the same shares everywhere, and calibrates nothing."""
        return cls(
            np.full(n_categorical, share),
            np.full(n_numbers, share),
            np.full(n_categorical, regression_share),
            np.full(n_numbers, regression_share),
            np.ones(n_categorical),
        )

    def apply(
        self,
        network: CellAnswers,
        experts: CellAnswers | None,
        regressions: CellAnswers | None = None,
    ) -> CellAnswers:
        """Blend and calibrate; shapes as in :class:`CellAnswers`."""
        mixed = network
        if experts is not None:
            mixed = mix(mixed, experts, self.level_share, self.number_share)
        if regressions is not None:
            mixed = mix(
                mixed, regressions, self.regression_level_share, self.regression_number_share
            )
        return CellAnswers(tempered(mixed.probabilities, self.temperatures), mixed.numbers)


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


def tempered(probabilities: Values, temperatures: Values) -> Values:
    """Raise probabilities (n, n_categorical, max_levels) to 1/temperature, and normalise.

    Examples
    --------
    >>> tempered(np.array([[[0.8, 0.2]]]), np.array([0.5])).round(3).tolist()
    [[[0.941, 0.059]]]
    """
    raised = np.power(probabilities, 1.0 / temperatures[:, None])
    return raised / np.maximum(raised.sum(axis=2, keepdims=True), _FLOOR)


def fit_blend(
    network: CellAnswers,
    experts: CellAnswers | None,
    regressions: CellAnswers | None,
    levels: NDArray[np.int64],
    level_held_out: NDArray[np.bool_],
    numbers: Values,
    number_held_out: NDArray[np.bool_],
    ordered: NDArray[np.bool_],
    events: EventLog,
    row_weights: Values | None = None,
) -> Blend:
    """Choose shares by log score and squared error on held-out cells, then temperatures.

    Parameters
    ----------
    network, experts, regressions : CellAnswers
        Of the rows that hold held-out cells; the regressions are blended with what network and
        experts say together. All but the first may be None.
    levels, numbers : ndarray, shape (n, n_categorical) and (n, n_numbers)
        The true answers; read only where held out.
    level_held_out, number_held_out : ndarray of bool, of the same shapes
    ordered : ndarray of bool, shape (n_categorical,)
    events : EventLog
    row_weights : ndarray of float64, shape (n,), optional
        How much the cells of each row count.
    """
    weights = np.ones(levels.shape[0]) if row_weights is None else row_weights
    mixed = network
    shares: list[Values] = []
    for other, name in ((experts, "tree experts"), (regressions, "regressions")):
        level_share, number_share = np.zeros(ordered.size), np.zeros(numbers.shape[1])
        if other is not None:
            level_share = _level_shares(
                mixed, other, levels, level_held_out, ordered, weights, USUAL_SHARES[name]
            )
            number_share = _number_shares(
                mixed, other, numbers, number_held_out, weights, USUAL_SHARES[name]
            )
            mixed = mix(mixed, other, level_share, number_share)
            _tell_shares(name, level_share, number_share, ordered, events)
        shares += [level_share, number_share]
    temperatures = _fit_temperatures(mixed.probabilities, levels, level_held_out, weights)
    return Blend(shares[0], shares[1], shares[2], shares[3], temperatures)


def _tell_shares(
    name: str,
    level_share: Values,
    number_share: Values,
    ordered: NDArray[np.bool_],
    events: EventLog,
) -> None:
    shares = {
        "nominals": level_share[~ordered],
        "ordinals": level_share[ordered],
        "numbers": number_share,
    }
    means = [f"{share.mean():.2f} of {kind}" for kind, share in shares.items() if share.size]
    events.add("train", f"{name} blended in", detail="on average " + ", ".join(means))


def _level_shares(
    network: CellAnswers,
    experts: CellAnswers,
    levels: NDArray[np.int64],
    held_out: NDArray[np.bool_],
    ordered: NDArray[np.bool_],
    weights: Values,
    usual: float,
) -> Values:
    """Return the other's share of each categorical column, drawn towards its kind's share."""
    own = _of_answer(network.probabilities, levels)
    other = _of_answer(experts.probabilities, levels)
    weight = np.broadcast_to(weights[:, None], levels.shape)
    shares = np.full(ordered.size, usual)
    for kind in (~ordered, ordered):
        cells = held_out & kind
        common = _best_share(own[cells], other[cells], weight[cells], usual, _KIND_CELLS)
        for column in np.flatnonzero(kind):
            seen = held_out[:, column]
            shares[column] = _best_share(
                own[seen, column], other[seen, column], weights[seen], common, _SHARE_CELLS
            )
    return shares


def _number_shares(
    network: CellAnswers,
    experts: CellAnswers,
    numbers: Values,
    held_out: NDArray[np.bool_],
    weights: Values,
    usual: float,
) -> Values:
    """Return the other's share of each number, drawn towards the share of all."""
    n_numbers = numbers.shape[1]
    if not held_out.any():
        return np.full(n_numbers, usual)
    difference = np.where(held_out, experts.numbers - network.numbers, 0.0)
    gain = np.where(held_out, numbers - network.numbers, 0.0) * difference * weights[:, None]
    length = difference**2 * weights[:, None]
    common = _ratio(gain.sum(), length.sum())
    cells = np.maximum((held_out * weights[:, None]).sum(axis=0), 1)
    pull = _SHARE_CELLS * length.sum(axis=0) / cells
    own = [
        _ratio(gain[:, j].sum() + pull[j] * common, length[:, j].sum() + pull[j])
        for j in range(n_numbers)
    ]
    return np.clip(own, 0.0, 1.0)


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below > 0 else 0.5


def _of_answer(probabilities: Values, levels: NDArray[np.int64]) -> Values:
    """Return the probability of each true answer, shape (n, n_categorical)."""
    return np.take_along_axis(probabilities, levels[..., None], axis=2)[..., 0]


def _best_share(own: Values, other: Values, weights: Values, towards: float, pull: float) -> float:
    """Return the share that gives held-out answers the highest log score, drawn towards another."""
    if not own.size:
        return towards

    def loss(share: float) -> float:
        score = weights * np.log(np.maximum((1 - share) * own + share * other, 1e-6))
        return float(pull * (share - towards) ** 2 - score.sum())

    found = minimize_scalar(
        loss,
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(found.x)


def _fit_temperatures(
    probabilities: Values,
    levels: NDArray[np.int64],
    held_out: NDArray[np.bool_],
    weights: Values,
) -> Values:
    """Return one temperature a column, drawn towards the one of all columns where cells are few."""
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
