"""Medians and other quantiles over all draws, with the design of the sample.

With heaped answers, quantiles are far from normally distributed, but shares are not. So Rubin's
rules pool the share of respondents below the quantile, and Woodruff's method converts the interval
of that share, computed on the logit scale, to an interval of the quantile.

References
----------
Woodruff, R. S. (1952). Confidence intervals for medians and other position measures. Journal of the
American Statistical Association, 47(260), 635-646.

Francisco, C. A. and Fuller, W. A. (1991). Quantile estimation with a complex survey design. The
Annals of Statistics, 19(1), 454-469.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.estimates import pooled_statistic, used_rows, weighted_means, with_numbers
from tabsoda.analysis.quantile_rules import pooled_by_rule
from tabsoda.analysis.rubin import logit_interval
from tabsoda.analysis.sample_design import DesignChoice, find_sample
from tabsoda.analysis.terms import TermLabel
from tabsoda.errors import InputError
from tabsoda.schema.column import ColumnKind

if TYPE_CHECKING:
    from tabsoda.analysis.linearisation import Sample
    from tabsoda.analysis.pooled import PooledEstimates
    from tabsoda.analysis.replicates import ReplicateWeights
    from tabsoda.analysis.variables import Variable
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
# The level of the interval from which the standard error is computed.
_LEVEL = 0.95
# At least this many respondents must lie beyond a quantile to estimate it.
_FEWEST_BEYOND = 5
# Tolerance for rounding in sums of weights.
_ROUNDING = 1e-9


def pooled_median(
    result: Imputations,
    column: str,
    *,
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
    rule: str | None = None,
) -> PooledEstimates:
    """Pool the median of a question among the respondents who were asked it.

    Parameters are those of :func:`~tabsoda.analysis.pooled_mean`, the method is that of
    :func:`pooled_quantile`.

    Examples
    --------
    >>> from tabsoda import CodedTable, Column, Imputations
    >>> from tabsoda.results import ImputedCells
    >>> values = np.r_[np.arange(1.0, 20.0), np.nan][:, None]
    >>> table = CodedTable.from_values((Column("age", ColumnKind.CONTINUOUS),), values)
    >>> cells = ImputedCells(np.array([19]), np.array([0]), np.array([[30.0], [40.0]]),
    ...                      np.array([35.0]), np.array([35.0]))
    >>> pooled_median(Imputations(table, cells), "age").estimates.tolist()
    [10.5]
    """
    pooled = pooled_quantile(
        result, column, 0.5, weights=weights, where=where, design=design, rule=rule
    )
    return replace(pooled, names=(column,), labels=(), kind="median")


def pooled_quantile(
    result: Imputations,
    column: str,
    quantiles: float | Sequence[float],
    *,
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
    rule: str | None = None,
) -> PooledEstimates:
    """Pool quantiles of a question among the respondents who were asked it.

    Parameters
    ----------
    result : Imputations
    column : str
        A continuous question, or an ordinal one whose levels are numbers.
    quantiles : float or sequence of float
        Between 0 and 1; 0.9 has nine tenths of the respondents below it.
    weights, where, design
        As for :func:`~tabsoda.analysis.pooled_mean`.
    rule : str, optional
        To get what R's ``svyquantile`` and ``mitools`` give: one of its rules, "math" (its
        default), "school", "shahvaish" or "hf1" to "hf9". Quantiles of the draws are then
        averaged.

    Returns
    -------
    PooledEstimates

    Notes
    -----
    Without a rule, the estimate is the quantile of all draws together; between two answers, it is
    their mean. The standard error is the width of Woodruff's 95 % interval over twice the quantile
    of t. It is 0 if so many respondents gave one answer that both ends are that answer.
    """
    shares = _checked(quantiles)
    variable = ordered_numbers(result, column)
    sample = find_sample(result, weights, design)
    texts = [f"{share:g} quantile" for share in shares]
    names = tuple(f"{column}: {text}" for text in texts)
    labels = tuple(TermLabel(text, column) for text in texts)
    if rule is not None:
        pooled = pooled_by_rule(result, variable, shares, names, sample, where, rule)
        return replace(pooled, kind="quantile", labels=labels)
    values, masses = _stacked(result, variable, sample, where)
    points = weighted_quantiles(values, masses, shares)

    below, at = (_share(values, masses, points, side) for side in ("left", "right"))
    part = np.divide(shares - below, at - below, out=np.zeros_like(points), where=at > below)

    def indicators(draw: int) -> Array:
        # Of the respondents with the answer itself, only the part that completes the share counts.
        numbers = variable.numbers(draw)[:, None]
        return np.asarray((numbers < points) + part * (numbers == points))

    pooled = pooled_statistic(result, variable, indicators, names, sample, where, weighted_means)
    pooled = _inverted(pooled, column, shares, points, values, masses)
    return replace(pooled, kind="quantile", labels=labels)


def weighted_quantiles(values: Array, masses: Array, shares: Array) -> Array:
    """Return the quantiles at given shares of the mass.

    Parameters
    ----------
    values, masses : ndarray of float64, shape (n,)
        Values in increasing order, and their masses, all above 0.
    shares : ndarray of float64, shape (k,)

    Returns
    -------
    ndarray of float64, shape (k,)
        The mean of two neighbours if a share ends exactly between them (definition 2 of Hyndman
        and Fan 1996); with equal masses this gives the usual median.

    Examples
    --------
    >>> weighted_quantiles(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]), np.array([0.5]))
    array([3.5])
    """
    reached = np.cumsum(masses) / masses.sum()
    last = len(values) - 1
    at = np.minimum(np.searchsorted(reached, shares - _ROUNDING), last)
    after = np.minimum(np.searchsorted(reached, shares + _ROUNDING), last)
    return np.asarray((values[at] + values[after]) / 2)


def _share(values: Array, masses: Array, points: Array, side: Literal["left", "right"]) -> Array:
    """Return the share of the mass below some points ("left"), or at and below them ("right")."""
    reached = np.r_[0.0, np.cumsum(masses) / masses.sum()]
    return np.asarray(reached[np.searchsorted(values, points, side)])


def _inverted(
    pooled: PooledEstimates,
    column: str,
    shares: Array,
    points: Array,
    values: Array,
    masses: Array,
) -> PooledEstimates:
    """Convert pooled shares below some points to pooled quantiles, by Woodruff's method."""
    from scipy import stats

    n_used = 0 if pooled.counts is None else int(pooled.counts.used.min())
    _check_enough(n_used, shares, column)
    # On a heap, the counted part hardly varies, but the share of the sample does.
    least = shares * (1 - shares) / n_used
    lacking = np.maximum(least - np.diag(pooled.covariance), 0.0)
    pooled = replace(pooled, within=pooled.within + np.diag(lacking))
    t = stats.t.ppf((1 + _LEVEL) / 2, pooled.df)
    edges = logit_interval(shares, pooled.std_errors, t)
    low, high = (weighted_quantiles(values, masses, edge) for edge in edges.T)
    slope = (high - low) / (2 * t * pooled.std_errors)
    scale = np.outer(slope, slope)
    heaped = [f"{share:g}" for share, steep in zip(shares, slope, strict=True) if steep == 0]
    notes = (
        (
            f"Many respondents gave the answer at the {', '.join(heaped)} quantile of {column}:"
            " both ends of its interval are that answer.",
        )
        if heaped
        else ()
    )
    return replace(
        pooled,
        estimates=points,
        within=pooled.within * scale,
        between=pooled.between * scale,
        notes=(*pooled.notes, *notes),
    )


def _check_enough(n_used: int, shares: Array, column: str) -> None:
    """Raise if a quantile is too close to the end of the sample for an interval."""
    extreme = shares[np.argmin(np.minimum(shares, 1 - shares))]
    beyond = n_used * min(extreme, 1 - extreme)
    if beyond < _FEWEST_BEYOND - _ROUNDING:
        needed = int(np.ceil(_FEWEST_BEYOND / min(extreme, 1 - extreme) - _ROUNDING))
        raise InputError(
            f"has too few answers for the {extreme:g} quantile",
            column=column,
            found=f"{n_used:,} respondents used",
            expected=f"{needed:,} or more",
            next_step="Widen the subset or the groups, or choose a quantile closer to the median",
        )


def _stacked(
    result: Imputations,
    variable: Variable,
    sample: Sample | ReplicateWeights | None,
    where: Any,
) -> tuple[Array, Array]:
    """Return the answers of all draws in increasing order, with masses; draws count equally."""
    rows = used_rows(result, [variable], sample, where)
    base = np.ones(rows.counted.shape[1]) if sample is None else sample.weights
    values, masses = [], []
    for draw, counted in enumerate(rows.counted, 1):
        used = counted & (base > 0)
        values.append(variable.numbers(draw)[used])
        masses.append(base[used] / base[used].sum())
    together, mass = np.concatenate(values), np.concatenate(masses)
    order = np.argsort(together, kind="stable")
    return together[order], mass[order]


def _checked(quantiles: float | Sequence[float]) -> Array:
    shares = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if shares.ndim != 1 or not shares.size or not ((shares > 0) & (shares < 1)).all():
        raise InputError(
            "The quantile is invalid",
            found=str(quantiles),
            expected="a number between 0 and 1, such as 0.9",
        )
    return shares


def ordered_numbers(result: Imputations, name: str) -> Variable:
    """Return a column whose answers are ordered numbers, or raise."""
    variable = with_numbers(result, name)
    if variable.column.kind is ColumnKind.NOMINAL:
        raise InputError(
            "is nominal, so it has no quantiles",
            column=name,
            expected="a continuous question, or an ordinal one whose levels are numbers",
            next_step="Estimate the shares of its levels instead",
        )
    return variable
