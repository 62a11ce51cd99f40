"""Means, totals, ratios and shares over all draws, with the design of the sample.

Without a design the variance is that of a simple random sample of the respondents used. With a
design it is linearised (as with R's ``svydesign``) or comes from replicate weights, and subsets are
domains: rows outside count as zeros.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.linearisation import Sample
from tabsoda.analysis.pooling import Analysis, pool
from tabsoda.analysis.product_terms import unknown_in_subset
from tabsoda.analysis.replicates import ReplicateWeights
from tabsoda.analysis.rows import Rows, with_weights
from tabsoda.analysis.sample_design import DesignChoice, find_sample
from tabsoda.analysis.terms import TermLabel
from tabsoda.analysis.variables import Variable, find_variable, written_levels
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError, InteractionWarning
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
    result: Imputations,
    column: str,
    *,
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
) -> PooledEstimates:
    """Pool the mean of a question among the respondents who were asked it.

    Parameters
    ----------
    result : Imputations
    column : str
        A continuous question, or a categorical one whose levels are numbers.
    weights : str, array or ReplicateWeights, optional
        A column of the survey, or the weights themselves, in place of those of the design.
        Respondents with a blank weight are left out.
    where : str or array of bool, optional
        A subset, such as ``"age >= 18 and sex == 2"``, or a mask of shape (n_rows,) or
        (n_draws, n_rows). Evaluated in every draw, because the answers may be imputed.
    design : SampleDesign, "described" or None
        Weights, strata and clusters; by default the columns with these roles in the description.
        None for a simple random sample.

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
        find_sample(result, weights, design),
        where,
        weighted_means,
    )
    return replace(pooled, kind="mean", notes=(*pooled.notes, *_note_on_codes(variable)))


def pooled_total(
    result: Imputations,
    column: str,
    *,
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
) -> PooledEstimates:
    """Pool the total of a question; respondents who were not asked it add nothing.

    Parameters are those of :func:`pooled_mean`.
    """
    variable = with_numbers(result, column)
    pooled = pooled_statistic(
        result,
        variable,
        lambda d: variable.numbers(d)[:, None],
        (column,),
        find_sample(result, weights, design),
        where,
        _sum,
    )
    return replace(pooled, kind="total", notes=(*pooled.notes, *_note_on_codes(variable)))


def pooled_proportions(
    result: Imputations,
    column: str,
    *,
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
) -> PooledEstimates:
    """Pool the share of every level of a categorical question among those who were asked it.

    Intervals are computed on the logit scale, so that they stay between 0 and 1; shares of 0 or 1
    get the exact binomial interval. Parameters are those of :func:`pooled_mean`.
    """
    variable = with_levels(result, column)
    described = variable.column
    levels = np.arange(described.n_levels)

    def indicators(draw: int) -> Array:
        return (variable.coded(draw)[:, None] == levels).astype(np.float64)

    texts = [described.describe_level(level) for level in described.levels]
    names = tuple(f"{column} = {text}" for text in texts)
    sample = find_sample(result, weights, design)
    pooled = pooled_statistic(result, variable, indicators, names, sample, where, weighted_means)
    labels = tuple(TermLabel(text, column) for text in texts)
    return replace(pooled, kind="share", labels=labels)


def pooled_ratio(
    result: Imputations,
    numerator: str,
    denominator: str,
    *,
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
) -> PooledEstimates:
    """Pool the ratio of two totals, such as spending per member of the household.

    Respondents without an answer to one of the two questions are left out. Parameters are those of
    :func:`pooled_mean`, with two questions.
    """
    above, below = with_numbers(result, numerator), with_numbers(result, denominator)
    pooled = pooled_statistic(
        result,
        (above, below),
        lambda d: np.column_stack([above.numbers(d), below.numbers(d)]),
        (f"{numerator} / {denominator}",),
        find_sample(result, weights, design),
        where,
        _ratio,
    )
    notes = dict.fromkeys((*pooled.notes, *_note_on_codes(above), *_note_on_codes(below)))
    return replace(pooled, kind="ratio of totals", notes=tuple(notes))


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


def _ratio(values: Array, counted: Mask, weights: Array) -> tuple[Array, Array]:
    """Return the ratio of two weighted sums, and each row's influence on it."""
    (above, below), parts = _sum(values, counted, weights)
    if below == 0:
        raise InputError("The ratio is not defined", found="a denominator whose total is 0")
    ratio = above / below
    return np.array([ratio]), (parts[:, :1] - ratio * parts[:, 1:]) / below


def used_rows(
    result: Imputations,
    variables: Sequence[Variable],
    sample: Sample | ReplicateWeights | None,
    where: Any,
) -> Rows:
    """Return which rows count in every draw: in the subset, with a weight and an answer."""
    rows = with_weights(selected_rows(result, where), sample).answered(variables)
    return rows.check_not_empty(" and ".join(one.column.name for one in variables))


def pooled_statistic(
    result: Imputations,
    variable: Variable | tuple[Variable, ...],
    values_of: Callable[[int], Array],
    names: tuple[str, ...],
    sample: Sample | ReplicateWeights | None,
    where: Any,
    statistic: Statistic,
) -> PooledEstimates:
    """Pool a statistic of the values of every draw, shape (n_rows, k)."""
    rows = used_rows(
        result, [variable] if isinstance(variable, Variable) else variable, sample, where
    )
    analyses = [
        analysis_of(values_of(draw), rows.counted[draw - 1], sample, names, statistic)
        for draw in range(1, len(result) + 1)
    ]
    outcomes = [
        one.column.name for one in (variable if isinstance(variable, tuple) else [variable])
    ]
    pooled = replace(pool(analyses, notes=notes_on_sample(sample)), counts=rows.counts())
    return with_subset_warning(pooled, result, tuple(outcomes), rows)


def with_subset_warning(
    pooled: PooledEstimates, result: Imputations, outcomes: tuple[str, ...], rows: Rows
) -> PooledEstimates:
    """Warn, also in the estimates, if the draws lack the products that a subset implies."""
    warning = unknown_in_subset(result, outcomes, rows.chosen_by)
    if warning is None:
        return pooled
    warnings.warn(warning, InteractionWarning, stacklevel=4)
    return replace(pooled, warnings=(warning,))


def notes_on_sample(sample: Sample | ReplicateWeights | None) -> tuple[str, ...]:
    """Return notes on the design and on how the variance was computed."""
    if isinstance(sample, ReplicateWeights):
        return (f"Weighted; variance from {sample.replicates.shape[1]} replicate weights.",)
    return () if sample is None else sample.notes


def analysis_of(
    values: Array,
    counted: Mask,
    sample: Sample | ReplicateWeights | None,
    names: tuple[str, ...],
    statistic: Statistic,
) -> Analysis:
    """Return a statistic of one draw with its covariance and degrees of freedom."""
    if isinstance(sample, ReplicateWeights):
        estimates, covariance = sample.estimate(lambda w: statistic(values, counted, w)[0])
        return Analysis(estimates, covariance, names, sample.df)
    n = int(counted.sum())
    if n < 2:
        raise InputError(
            "There are too few respondents for a variance",
            found=f"{n} used for {names[0]}",
            expected="2 or more",
            next_step="Widen the subset or the groups",
        )
    if sample is not None:
        weights = np.where(sample.sampled, sample.weights, 0.0)
        estimates, pulls = statistic(values, counted, weights)
        covariance = sample.covariance(pulls, counted)
        return Analysis(estimates, covariance, names, checked_df(sample.df(counted), names[0]))
    # A mean is over the respondents used; a total over all, with zeros for the others.
    used = np.ones(len(values), dtype=bool) if statistic is _sum else counted
    estimates, pulls = statistic(values[used], counted[used], np.ones(int(used.sum())))
    n_used = int(used.sum())
    away = pulls - pulls.mean(axis=0)
    return Analysis(estimates, n_used / (n_used - 1) * away.T @ away, names, float(n - 1))


def checked_df(df: float, what: str) -> float:
    """Return degrees of freedom of the design, or raise if there are none."""
    if df < 1:
        raise InputError(
            f"There are too few clusters to estimate {what}",
            found=f"{df:g} degrees of freedom: clusters minus strata, less terms of a model",
            expected="1 or more",
            next_step="Widen the subset or the groups, merge strata, or leave out terms",
        )
    return df


def with_levels(result: Imputations, name: str) -> Variable:
    """Return a categorical column, or raise."""
    variable = find_variable(result, name)
    if not variable.column.is_categorical:
        raise InputError(
            "has no levels",
            column=name,
            found="a continuous column",
            expected="a categorical question",
            next_step="Estimate its mean instead",
        )
    return variable


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
