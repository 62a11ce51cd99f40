"""Blends the network's answers with the tree experts' and the regressions', and calibrates.

Weights and temperatures are chosen on held-out cells, which none of them has learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from tabsoda.em.temperatures import fit_temperatures, tempered
from tabsoda.events import EventLog

Values = NDArray[np.float64]

# A column's share is drawn towards that of its kind, and that towards what is usual: a few hundred
# held-out cells cannot tell a fifth from a third.
_SHARE_CELLS = 100.0
_KIND_CELLS = 300.0


class UsualShares(NamedTuple):
    """The share that held-out cells have to speak against, per kind of question."""

    nominals: float
    ordinals: float
    numbers: float

    def of_levels(self, ordered: NDArray[np.bool_]) -> Values:
        """Return the share of each categorical column, shape (n_categorical,)."""
        return np.where(ordered, self.ordinals, self.nominals)


# Why ordinals begin with more of the regressions: docs/decisions/0008-regressions.md.
USUAL_SHARES = {
    "tree experts": UsualShares(nominals=0.5, ordinals=0.5, numbers=0.5),
    "regressions": UsualShares(nominals=0.3, ordinals=0.5, numbers=0.3),
}


class CellAnswers(NamedTuple):
    """What is said about the cells of some rows.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (n, n_categorical, max_levels)
        0 in the padding.
    numbers : ndarray of float64, shape (n, n_numbers)
        Standardised.
    bins : ndarray of float64, shape (n, n_numbers, MAX_BINS), or None
        How probable the network holds each bin of a number; the others have none.
    """

    probabilities: Values
    numbers: Values
    bins: Values | None = None


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
    def usual(
        cls, ordered: NDArray[np.bool_], n_numbers: int, experts: bool, regressions: bool
    ) -> Blend:
        """Return the usual shares of those who are there, and calibrate nothing.

        Examples
        --------
        >>> blend = Blend.usual(np.array([False, True]), 1, experts=False, regressions=True)
        >>> blend.level_share.tolist(), blend.regression_level_share.tolist()
        ([0.0, 0.0], [0.3, 0.5])
        """
        shares: list[Values] = []
        for name, there in (("tree experts", experts), ("regressions", regressions)):
            usual = USUAL_SHARES[name] if there else UsualShares(0.0, 0.0, 0.0)
            shares += [usual.of_levels(ordered), np.full(n_numbers, usual.numbers)]
        return cls(shares[0], shares[1], shares[2], shares[3], np.ones(ordered.size))

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
        probabilities = tempered(mixed.probabilities, self.temperatures)
        return CellAnswers(probabilities, mixed.numbers, network.bins)


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
                mixed, other, numbers, number_held_out, weights, USUAL_SHARES[name].numbers
            )
            mixed = mix(mixed, other, level_share, number_share)
            _tell_shares(name, level_share, number_share, ordered, events)
        shares += [level_share, number_share]
    temperatures = fit_temperatures(mixed.probabilities, levels, level_held_out, weights)
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
    usual: UsualShares,
) -> Values:
    """Return the other's share of each categorical column, drawn towards its kind's share."""
    own = _of_answer(network.probabilities, levels)
    other = _of_answer(experts.probabilities, levels)
    weight = np.broadcast_to(weights[:, None], levels.shape)
    shares = usual.of_levels(ordered)
    for kind, towards in ((~ordered, usual.nominals), (ordered, usual.ordinals)):
        cells = held_out & kind
        common = _best_share(own[cells], other[cells], weight[cells], towards, _KIND_CELLS)
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
