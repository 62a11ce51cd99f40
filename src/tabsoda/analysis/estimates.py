"""Means, totals and shares over all draws, with weights and replicate weights.

Without replicate weights the variance is that of a sample drawn with replacement (as R's
``svydesign(ids = ~1)`` has it); strata and clusters need replicate weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.pooling import Analysis, pool
from tabsoda.analysis.replicates import ReplicateWeights
from tabsoda.analysis.weights import Weights, row_weights
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.analysis.pooled import PooledEstimates
    from tabsoda.imputations.imputations import Imputations
    from tabsoda.schema.column import Column

Array = NDArray[np.float64]


def pooled_mean(result: Imputations, column: str, *, weights: Any = None) -> PooledEstimates:
    """Pool the mean of a question among those it was put to.

    Parameters
    ----------
    result : Imputations
    column : str
        A continuous question, or a categorical one whose levels are numbers.
    weights : str, array or ReplicateWeights, optional
        A column of the survey, or the weights themselves.
    """
    numbers = _numbers(result, column)
    return _pooled(result, lambda draw: numbers(draw)[:, None], (column,), weights, _ratio)


def pooled_total(result: Imputations, column: str, *, weights: Any = None) -> PooledEstimates:
    """Pool the total of a question; whom it was not put to adds nothing.

    Parameters are those of :func:`pooled_mean`.
    """
    numbers = _numbers(result, column)
    return _pooled(result, lambda draw: numbers(draw)[:, None], (column,), weights, _sum)


def pooled_proportions(result: Imputations, column: str, *, weights: Any = None) -> PooledEstimates:
    """Pool the share of every level of a categorical question among those it was put to.

    Parameters are those of :func:`pooled_mean`.
    """
    position, described = _find(result, column)
    if not described.is_categorical:
        raise InputError(
            "has no levels", column=column, found="continuous", expected="a categorical question"
        )
    levels = np.arange(described.n_levels)

    def indicators(draw: int) -> Array:
        values = result.values(draw)[:, [position]]
        return np.where(np.isnan(values), np.nan, values == levels)

    names = tuple(f"{column} = {described.describe_level(level)}" for level in described.levels)
    return _pooled(result, indicators, names, weights, _ratio)


def _ratio(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return weighted means over the rows with values, and each row's pull on them."""
    asked = ~np.isnan(values[:, 0])
    share = np.where(asked, weights, 0.0) / weights[asked].sum()
    filled = np.where(asked[:, None], values, 0.0)
    means = share @ filled
    return means, share[:, None] * (filled - means)


def _sum(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return weighted sums, and each row's part in them."""
    parts = weights[:, None] * np.where(np.isnan(values), 0.0, values)
    return parts.sum(axis=0), parts


def _pooled(
    result: Imputations,
    values_of: Callable[[int], Array],
    names: tuple[str, ...],
    weights: Any,
    statistic: Callable[[Array, Array], tuple[Array, Array]],
) -> PooledEstimates:
    found = row_weights(result, weights)
    analyses = []
    for draw in range(1, len(result) + 1):
        values = values_of(draw)
        if np.isnan(values[:, 0]).all():
            raise InputError("holds no answer", column=names[0], found=f"none in draw {draw}")
        analyses.append(_analysis(values, found, names, statistic))
    return pool(analyses, notes=notes_on_weights(found))


def _analysis(
    values: Array,
    weights: Weights | None,
    names: tuple[str, ...],
    statistic: Callable[[Array, Array], tuple[Array, Array]],
) -> Analysis:
    if isinstance(weights, ReplicateWeights):
        estimates, covariance = weights.estimate(lambda w: statistic(values, w)[0])
        return Analysis(estimates, covariance, names, weights.df)
    n = values.shape[0]
    if n < 2:
        raise InputError(
            "There are too few rows for a variance", found=f"{n} rows", expected="2 or more"
        )
    estimates, pulls = statistic(values, np.ones(n) if weights is None else weights)
    away = pulls - pulls.mean(axis=0)
    return Analysis(estimates, n / (n - 1) * away.T @ away, names, float(n - 1))


def notes_on_weights(weights: Weights | None) -> tuple[str, ...]:
    """Say what kind of weights the variance rests on."""
    if isinstance(weights, ReplicateWeights):
        return (f"Weighted; variance from {weights.replicates.shape[1]} replicate weights.",)
    return () if weights is None else ("Weighted; variance without strata and clusters.",)


def _numbers(result: Imputations, name: str) -> Callable[[int], Array]:
    """Return what gives a question's answers in a draw as numbers, NaN where there is none."""
    position, column = _find(result, name)
    if not column.is_categorical:
        return lambda draw: result.values(draw)[:, position]
    if any(isinstance(level, str) for level in column.levels):
        raise InputError(
            "has levels that are no numbers",
            column=name,
            found=repr(next(level for level in column.levels if isinstance(level, str))),
            next_step="Ask for proportions instead",
        )
    codes = np.array([*column.levels, np.nan], dtype=np.float64)

    def numbers(draw: int) -> Array:
        values = result.values(draw)[:, position]
        return codes[np.where(np.isnan(values), -1, values).astype(np.int64)]

    return numbers


def _find(result: Imputations, name: str) -> tuple[int, Column]:
    if name not in result.table.names:
        raise InputError("is no question of this result", column=name)
    position = result.table.names.index(name)
    return position, result.table.columns[position]
