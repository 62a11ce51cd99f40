"""Choose answered cells to hide under MCAR, MAR and MNAR."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import rankdata

from tabsoda._internal.randomness import numpy_generator
from tabsoda.errors import InputError
from tabsoda.table import CodedTable

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

DEFAULT_RATE = 0.30
DRIVER_SHARE = 0.30
# Logits have variance 1, so the root for any relevant rate is far inside these bounds.
_WIDEST_INTERCEPT = 60.0


class Mechanism(StrEnum):
    """Why cells are hidden: at random, by the drivers' answers, or also by the hidden answer."""

    MCAR = "mcar"
    MAR = "mar"
    MNAR = "mnar"


@dataclass(frozen=True, eq=False)
class HiddenCells:
    """The cells one replication hides.

    Attributes
    ----------
    mask : ndarray of bool, shape (n_rows, n_columns)
        True on answered cells of target columns only.
    drivers : ndarray of int, shape (n_drivers,)
        Positions of the columns that are never hidden.
    """

    mask: BoolArray
    drivers: NDArray[np.intp]


def hide_cells(
    table: CodedTable,
    mechanism: Mechanism | str,
    *,
    replication: int = 0,
    seed: int = 0,
    rate: float = DEFAULT_RATE,
) -> HiddenCells:
    """Choose the cells to hide (appendix "Artificial masking generators").

    The random numbers of a replication (drivers, weights, one uniform per cell) are shared by the
    three mechanisms, so that results can be compared in pairs.

    Parameters
    ----------
    table : CodedTable
    mechanism : Mechanism or str
    replication, seed : int
        The same two give the same drivers, weights and random numbers under each mechanism.
    rate : float
        Share of the answered cells of each target column to hide.

    Returns
    -------
    HiddenCells
        Every column keeps at least one answer.

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> table = make_survey(n_rows=400, n_columns=20).true_table
    >>> hidden = hide_cells(table, "mar", replication=2)
    >>> bool(hidden.mask[:, hidden.drivers].any())
    False
    """
    if not 0 < rate < 1:
        raise InputError(
            "The share of cells to hide is out of range", found=str(rate), expected="0 to 1"
        )
    mechanism = Mechanism(mechanism)
    drivers = choose_drivers(table.shape[1], replication=replication, seed=seed)
    luck = numpy_generator(seed, "hide", replication, "luck").random(table.shape)
    answered = table.states.answered
    targets = np.setdiff1d(np.arange(table.shape[1]), drivers)
    mask = np.zeros(table.shape, dtype=bool)
    if mechanism is Mechanism.MCAR:
        mask[:, targets] = answered[:, targets] & (luck[:, targets] < rate)
    else:
        logits = _logits(table, mechanism, drivers, targets, replication, seed, rate)
        for number, target in enumerate(targets):
            rows = answered[:, target]
            chance = hiding_chance(logits[rows, number], rate)
            mask[rows, target] = luck[rows, target] < chance
    _keep_one(mask, answered, luck)
    return HiddenCells(mask, drivers)


def choose_drivers(n_columns: int, *, replication: int, seed: int) -> NDArray[np.intp]:
    """Draw the 30 % of columns that are never hidden, shape (n_drivers,), ascending."""
    if n_columns < 2:
        raise InputError(
            "Too few columns to hide answers", found=f"{n_columns} columns", expected="2 or more"
        )
    size = min(max(1, round(DRIVER_SHARE * n_columns)), n_columns - 1)
    generator = numpy_generator(seed, "hide", replication, "drivers")
    return np.sort(generator.choice(n_columns, size=size, replace=False))


def rank_scores(table: CodedTable) -> FloatArray:
    """Return the score s_ij in [0, 1] of every answer, 0 where there is none.

    Numbers score their empirical distribution function; levels their rank by frequency (the most
    frequent first) divided by K - 1. A blank contributes nothing to a logit.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns = (Column("a", ColumnKind.CONTINUOUS), Column("b", ColumnKind.NOMINAL, (1, 2, 3)))
    >>> values = np.array([[7.0, 1], [9.0, 1], [8.0, 0], [np.nan, 1]])
    >>> rank_scores(CodedTable.from_values(columns, values))[:, 1].tolist()
    [0.0, 0.0, 0.5, 0.0]
    """
    scores = np.zeros(table.shape)
    for position, column in enumerate(table.columns):
        rows = table.states.answered[:, position]
        answers = table.values[rows, position]
        if not answers.size:
            continue
        if column.is_categorical:
            levels = answers.astype(np.intp)
            counts = np.bincount(levels, minlength=column.n_levels)
            rank = np.empty(column.n_levels)
            rank[np.argsort(-counts, kind="stable")] = np.arange(column.n_levels)
            scores[rows, position] = rank[levels] / max(column.n_levels - 1, 1)
        else:
            scores[rows, position] = rankdata(answers, method="max") / answers.size
    return scores


def hiding_chance(logits: FloatArray, rate: float) -> FloatArray:
    """Rescale logits to variance 1 and shift them until the mean chance is ``rate``.

    Parameters
    ----------
    logits : ndarray, shape (n_answered,)
        Of the answered cells of one column. Constant ones give the same chance to every cell.

    Returns
    -------
    ndarray, shape (n_answered,)
    """
    if not logits.size:
        return logits
    spread = logits.std()
    centred = logits - logits.mean()
    # A spread at the level of rounding error counts as zero.
    scaled = centred / spread if spread > 1e-9 else np.zeros_like(logits)
    limit = _WIDEST_INTERCEPT + float(np.abs(scaled).max())
    # Brent's method finds the same root as bisection, faster.
    intercept = brentq(lambda a: float(expit(scaled + a).mean()) - rate, -limit, limit, xtol=1e-10)
    return expit(scaled + intercept)


def _logits(
    table: CodedTable,
    mechanism: Mechanism,
    drivers: NDArray[np.intp],
    targets: NDArray[np.intp],
    replication: int,
    seed: int,
    rate: float,
) -> FloatArray:
    """Return s_D' beta_j, and under MNAR + w_j s_ij, for each target; (n_rows, n_targets).

    MNAR is "the same logistic structure": its sum, own score included, is rescaled as a whole.
    """
    # Weights are drawn for every column in order, so they do not depend on the targets.
    weights = numpy_generator(seed, "hide", replication, "weights")
    beta = weights.standard_normal((table.shape[1], table.shape[1]))[np.ix_(drivers, targets)]
    own_weight = weights.standard_normal(table.shape[1])[targets]
    scores = rank_scores(table)
    shown = scores[:, drivers]
    if mechanism is Mechanism.MAR:
        return shown @ beta
    # Only the score is zero; the drivers themselves stay in the table.
    zeroed = numpy_generator(seed, "hide", replication, "zeroed").random(shown.shape) < rate
    return np.where(zeroed, 0.0, shown) @ beta + own_weight * scores[:, targets]


def _keep_one(mask: BoolArray, answered: BoolArray, luck: FloatArray) -> None:
    """Unhide one answer of each column with none left: the one with the largest random number."""
    emptied = np.flatnonzero(answered.any(axis=0) & ~(answered & ~mask).any(axis=0))
    for position in emptied:
        mask[np.where(answered[:, position], luck[:, position], -1.0).argmax(), position] = False
