"""Means, totals and shares over all draws, with weights and replicate weights.

Without weights the variance is that of a simple random sample of the respondents used. With weights
it is that of a sample drawn with replacement (as with R's ``svydesign(ids = ~1)``), and subsets are
domains; strata and clusters need replicate weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.pooling import Analysis, pool
from tabsoda.analysis.replicates import ReplicateWeights
from tabsoda.analysis.rows import Rows, with_weights
from tabsoda.analysis.terms import TermLabel
from tabsoda.analysis.variables import Variable, find_variable, written_levels
from tabsoda.analysis.weights import Weights, notes_on_weights, row_weights
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError
from tabsoda.schema.column import ColumnKind

if TYPE_CHECKING:
    from tabsoda.analysis.pooled import PooledEstimates
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# From values, shape (n_rows, k), the rows that count, and weights to estimates, shape (k,), and
# each row's influence on them, shape (n_rows, k).
Statistic = Callable[[Array, Mask, Array], tuple[Array, Array]]


def pooled_mean(
    result: Imputations, column: str, *, weights: Any = None, where: Any = None
) -> PooledEstimates:
    """Pool the mean of a question among the respondents who were asked it.

    Parameters
    ----------
    result : Imputations
    column : str
        A continuous question, or a categorical one whose levels are numbers.
    weights : str, array or ReplicateWeights, optional
        A column of the survey, or the weights themselves. Respondents with a blank weight are left
        out.
    where : str or array of bool, optional
        A subset, such as ``"age >= 18 and sex == 2"``, or a mask of shape (n_rows,) or
        (n_draws, n_rows). Evaluated in every draw, because the answers may be imputed.

    Returns
    -------
    PooledEstimates
        With ``counts``: how many respondents were used, and why others were left out.
    """
    variable = with_numbers(result, column)
    pooled = pooled_statistic(
        result,
        variable,
        lambda d: variable.numbers(d)[:, None],
        (column,),
        weights,
        where,
        weighted_means,
    )
    return replace(pooled, kind="mean", notes=(*pooled.notes, *_note_on_codes(variable)))


def pooled_total(
    result: Imputations, column: str, *, weights: Any = None, where: Any = None
) -> PooledEstimates:
    """Pool the total of a question; respondents who were not asked it add nothing.

    Parameters are those of :func:`pooled_mean`.
    """
    variable = with_numbers(result, column)
    pooled = pooled_statistic(
        result, variable, lambda d: variable.numbers(d)[:, None], (column,), weights, where, _sum
    )
    return replace(pooled, kind="total", notes=(*pooled.notes, *_note_on_codes(variable)))


def pooled_proportions(
    result: Imputations, column: str, *, weights: Any = None, where: Any = None
) -> PooledEstimates:
    """Pool the share of every level of a categorical question among those who were asked it.

    Intervals are computed on the logit scale, so that they stay between 0 and 1; shares of 0 or 1
    get the exact binomial interval. Parameters are those of :func:`pooled_mean`.
    """
    variable = find_variable(result, column)
    described = variable.column
    if not described.is_categorical:
        raise InputError(
            "has no levels",
            column=column,
            found="a continuous column",
            expected="a categorical question",
            next_step="Estimate its mean instead",
        )
    levels = np.arange(described.n_levels)

    def indicators(draw: int) -> Array:
        return (variable.coded(draw)[:, None] == levels).astype(np.float64)

    texts = [described.describe_level(level) for level in described.levels]
    names = tuple(f"{column} = {text}" for text in texts)
    pooled = pooled_statistic(result, variable, indicators, names, weights, where, weighted_means)
    labels = tuple(TermLabel(text, column) for text in texts)
    return replace(pooled, kind="share", labels=labels)


def weighted_means(values: Array, counted: Mask, weights: Array) -> tuple[Array, Array]:
    """Return weighted means over the rows that count, and each row's influence on them."""
    share = np.where(counted, weights, 0.0)
    share = share / share.sum()
    filled = np.where(counted[:, None], values, 0.0)
    means = share @ filled
    return means, share[:, None] * (filled - means)


def _sum(values: Array, counted: Mask, weights: Array) -> tuple[Array, Array]:
    """Return weighted sums, and each row's contribution."""
    parts = weights[:, None] * np.where(counted[:, None], values, 0.0)
    return parts.sum(axis=0), parts


def used_rows(result: Imputations, variable: Variable, weights: Weights | None, where: Any) -> Rows:
    """Return which rows count in every draw: in the subset, with a weight and an answer."""
    rows = with_weights(selected_rows(result, where), weights).answered([variable])
    return rows.check_not_empty(variable.column.name)


def pooled_statistic(
    result: Imputations,
    variable: Variable,
    values_of: Callable[[int], Array],
    names: tuple[str, ...],
    weights: Any,
    where: Any,
    statistic: Statistic,
) -> PooledEstimates:
    """Pool a statistic of the values of every draw, shape (n_rows, k)."""
    found = row_weights(result, weights)
    rows = used_rows(result, variable, found, where)
    analyses = [
        _analysis(values_of(draw), rows.counted[draw - 1], found, names, statistic)
        for draw in range(1, len(result) + 1)
    ]
    return replace(pool(analyses, notes=notes_on_weights(found)), counts=rows.counts())


def _analysis(
    values: Array,
    counted: Mask,
    weights: Weights | None,
    names: tuple[str, ...],
    statistic: Statistic,
) -> Analysis:
    if isinstance(weights, ReplicateWeights):
        estimates, covariance = weights.estimate(lambda w: statistic(values, counted, w)[0])
        return Analysis(estimates, covariance, names, weights.df)
    n = int(counted.sum())
    if n < 2:
        raise InputError(
            "There are too few respondents for a variance",
            found=f"{n} used for {names[0]}",
            expected="2 or more",
            next_step="Widen the subset or the groups",
        )
    if weights is None:
        # A mean is over the respondents used; a total over all, with zeros for the others.
        sample = counted if statistic is weighted_means else np.ones(len(values), dtype=bool)
        weights = np.ones(len(values))
    else:
        sample = ~np.isnan(weights)
    estimates, pulls = statistic(values[sample], counted[sample], weights[sample])
    n_sample = int(sample.sum())
    away = pulls - pulls.mean(axis=0)
    return Analysis(estimates, n_sample / (n_sample - 1) * away.T @ away, names, float(n - 1))


def with_numbers(result: Imputations, name: str) -> Variable:
    """Return a column whose answers are numbers, or raise."""
    variable = find_variable(result, name)
    if not variable.has_numbers():
        raise InputError(
            "has levels that are not numbers",
            column=name,
            found=written_levels(variable.column),
            next_step="Estimate the shares of its levels instead",
        )
    return variable


def _note_on_codes(variable: Variable) -> tuple[str, ...]:
    column = variable.column
    if column.kind is not ColumnKind.NOMINAL or set(column.levels) <= {0, 1}:
        return ()
    return (
        f"{column.name} is nominal: its codes are used as numbers. Consider its shares instead.",
    )
