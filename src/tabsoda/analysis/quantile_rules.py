"""Quantiles as R's survey package defines them: a rule for each draw, Woodruff's standard error.

Each draw is analysed as ``svyquantile(interval.type = "mean")`` does, and the estimates are pooled
by Rubin's rules, as ``mitools`` does.

References
----------
Hyndman, R. J. and Fan, Y. (1996). Sample quantiles in statistical packages. The American
Statistician, 50(4), 361-365.

Lumley, T. (2021). survey: analysis of complex survey samples. R package version 4.1, vignette
"Estimating quantiles".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.estimates import (
    analysis_of,
    notes_on_sample,
    used_rows,
    weighted_means,
    with_subset_warning,
)
from tabsoda.analysis.pooling import Analysis, pool
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.analysis.linearisation import Sample
    from tabsoda.analysis.pooled import PooledEstimates
    from tabsoda.analysis.replicates import ReplicateWeights
    from tabsoda.analysis.variables import Variable
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
# The level of the interval from which the standard error is computed.
_LEVEL = 0.95
# Where the interpolating rules place an answer: a mixture of the weight below it and up to it, and
# how much of the last weight the total has in addition.
_INTERPOLATED = {
    "hf5": (1 / 2, 0.0),
    "hf6": (1.0, 1.0),
    "hf8": (2 / 3, 1 / 3),
    "hf9": (5 / 8, 1 / 4),
}
RULES = ("math", "school", "shahvaish", *(f"hf{number}" for number in range(1, 10)))


def quantile_by_rule(values: Array, weights: Array, share: float, rule: str) -> float:
    """Return a weighted quantile by one of the rules of R's survey package.

    Parameters
    ----------
    values, weights : ndarray of float64, shape (n,)
        Weights above 0.
    share : float
    rule : str
        "math" is the inverse of the distribution function, "school" the mean of the two
        neighbours at a step; "hf1" to "hf9" are the definitions of Hyndman and Fan (1996), with
        weights.

    Examples
    --------
    >>> answers, weights = np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)
    >>> [quantile_by_rule(answers, weights, 0.5, rule) for rule in ("math", "school", "hf6")]
    [2.0, 2.5, 2.5]
    """
    if rule == "hf3":
        values, place = np.unique(values, return_inverse=True)
        weights = np.bincount(place, weights).astype(np.float64)
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    if values[0] == values[-1]:
        # The only answer; some rules would divide by 0.
        return float(values[0])
    # R adds with extended precision; whether a share ends exactly at a step depends on it.
    reached = np.cumsum(weights.astype(np.longdouble)).astype(np.float64)
    total = float(weights.astype(np.longdouble).sum())
    if rule in _INTERPOLATED:
        part, extra = _INTERPOLATED[rule]
        before = np.r_[0.0, reached[:-1]]
        places = (before * (1 - part) + reached * part) / (reached[-1] + extra * weights[-1])
        return float(np.interp(share, places, values))
    if rule == "hf7":
        return float(np.interp(share, np.r_[0.0, reached[:-1]] / reached[-2], values))
    if rule == "shahvaish":
        places = np.cumsum(weights / weights.mean()) + 0.5 - weights / 2
        # With weights above 1 these places are not in order; R sorts them.
        order = np.argsort(places, kind="stable")
        at = int(np.searchsorted(places[order] / (values.size + 1), share, side="right")) - 1
        return float(values[order][max(at, 0)])
    # As in R, a share below the first step counts as if it were just above it.
    low = max(int(np.searchsorted(reached, share * total, side="right")) - 1, 0)
    high = min(low + 1, values.size - 1)
    if low == high:
        return float(values[high])
    below, above = share - reached[low] / total, reached[high] / total - share
    if rule == "hf4":
        part = below / (above + below)
        return float(values[low] * (1 - part) + values[high] * part)
    if below != 0 or (rule == "hf3" and (low + 1) % 2):
        return float(values[high])
    return (
        float(values[low] + values[high]) / 2 if rule in ("school", "hf2") else float(values[low])
    )


def pooled_by_rule(
    result: Imputations,
    variable: Variable,
    shares: Array,
    names: tuple[str, ...],
    sample: Sample | ReplicateWeights | None,
    where: Any,
    rule: str,
) -> PooledEstimates:
    """Pool the quantiles of all draws by Rubin's rules; parameters as for ``pooled_quantile``."""
    if rule not in RULES:
        raise InputError(
            "The rule for quantiles is unknown", found=repr(rule), expected=", ".join(RULES)
        )
    rows = used_rows(result, [variable], sample, where)
    base = np.ones(rows.counted.shape[1]) if sample is None else sample.weights
    analyses = []
    for draw, counted in enumerate(rows.counted, 1):
        numbers = variable.numbers(draw)
        used = counted & (base > 0)

        def quantile(share: float, numbers: Array = numbers, used: Any = used) -> float:
            return quantile_by_rule(numbers[used], base[used], share, rule)

        points = np.array([quantile(share) for share in shares])
        below = (numbers[:, None] <= points).astype(np.float64)
        share = analysis_of(below, counted, sample, names, weighted_means)
        analyses.append(_inverted(share, points, quantile, variable.column.name))
    notes = (
        *notes_on_sample(sample),
        f"Quantiles and standard errors of each draw as in R's survey package, rule {rule!r}.",
    )
    pooled = replace(pool(analyses, notes=notes), counts=rows.counts())
    return with_subset_warning(pooled, result, (variable.column.name,), rows)


def _inverted(
    below: Analysis, points: Array, quantile: Callable[[float], float], column: str
) -> Analysis:
    """Convert shares at and below some points to quantiles, by Woodruff's interval."""
    from scipy import stats

    t = float(stats.t.ppf((1 + _LEVEL) / 2, below.complete_df))
    errors = np.sqrt(np.diag(below.covariance))
    edges = below.estimates[:, None] + t * errors[:, None] * np.array([-1.0, 1.0])
    # All answers are at or below the point: their share is 1, up to rounding.
    edges = np.where(np.abs(edges - 1) < 1e-9, 1.0, edges)
    outside = (edges < 0) | (edges > 1)
    if outside.any():
        raise InputError(
            "has too few answers for the interval of a quantile",
            column=column,
            found="an interval of shares from "
            + " to ".join(f"{edge:.3f}" for edge in edges[outside.any(axis=1)][0]),
            expected="shares between 0 and 1",
            next_step="Choose a quantile closer to the median, or leave the rule out",
        )
    ends = np.array([[quantile(edge) for edge in pair] for pair in edges])
    # The standard error is the width of the interval over twice the quantile of t.
    slope = (ends[:, 1] - ends[:, 0]) / (2 * t * np.where(errors > 0, errors, np.inf))
    return replace(below, estimates=points, covariance=below.covariance * np.outer(slope, slope))
