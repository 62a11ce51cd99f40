"""Coverage, width and bias of pooled intervals for several estimands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.pooling import Analysis, pool

Array = NDArray[np.float64]

# Half-width, in standard errors, at which Woodruff's interval inverts the distribution.
_REACH = 1.96


@dataclass(frozen=True, eq=False)
class Estimand:
    """A quantity to estimate from a complete table.

    Attributes
    ----------
    kind : str
        Such as ``"mean"``; coverage is averaged over the estimands of a kind.
    names : tuple of str
        One per estimate.
    columns : tuple of int
        Positions of the columns it reads.
    analyse : callable
        From those columns, shape (n, len(columns)), to an analysis with a covariance.
    """

    kind: str
    names: tuple[str, ...]
    columns: tuple[int, ...]
    analyse: Callable[[Array], Analysis]

    def of(self, values: Array) -> Analysis:
        """Analyse a whole table, shape (n, d)."""
        return self.analyse(values[:, list(self.columns)])


def mean_analysis(values: Array) -> Analysis:
    """Return the mean of a column, shape (n, 1), with its variance.

    Examples
    --------
    >>> found = mean_analysis(np.array([[1.0], [2.0], [3.0]]))
    >>> found.estimates.tolist(), found.covariance.round(3).tolist()
    ([2.0], [[0.333]])
    """
    n = values.shape[0]
    return _single(float(values.mean()), float(values.var(ddof=1)) / n, n)


def share_analysis(values: Array, level: float) -> Analysis:
    """Return the share of a level in a column, shape (n, 1), with its variance."""
    return mean_analysis((values == level).astype(np.float64))


def quantile_analysis(values: Array, probability: float) -> Analysis:
    """Return a quantile of a column, shape (n, 1), with Woodruff's (1952) variance.

    Answers are heaped, so their sample quantile jumps. The inverse of the mid-distribution function
    (Parzen; Ma, Genton and Parzen 2011) varies smoothly with the sample, and equals the usual
    quantile if all answers differ.
    """
    n = values.shape[0]
    answers, counts = np.unique(values, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / n
    reach = _REACH * np.sqrt(probability * (1 - probability) / n)
    low, at, high = np.interp(
        [probability - reach, probability, probability + reach], middle, answers
    )
    return _single(float(at), float(((high - low) / (2 * _REACH)) ** 2), n)


def linear_analysis(values: Array) -> Analysis:
    """Regress the first column on the others, with variances robust to misspecification.

    Returns
    -------
    Analysis
        Slopes without the intercept, one per column after the first.
    """
    import statsmodels.api as sm

    fit = sm.OLS(values[:, 0], sm.add_constant(values[:, 1:], has_constant="add"))
    return _slopes(fit.fit(cov_type="HC1", use_t=True))


def logistic_analysis(values: Array) -> Analysis:
    """Regress a first column of zeros and ones on the others, as :func:`linear_analysis` does."""
    import statsmodels.api as sm

    terms = sm.add_constant(values[:, 1:], has_constant="add")
    return _slopes(sm.GLM(values[:, 0], terms, family=sm.families.Binomial()).fit(cov_type="HC0"))


def intervals(analyses: Sequence[Analysis], level: float = 0.95) -> tuple[Array, Array]:
    """Return estimates, shape (k,), and their intervals, shape (k, 2).

    Several analyses are pooled by Rubin's rules with Barnard and Rubin's degrees of freedom; one
    is treated as that of a table without missing cells.
    """
    if len(analyses) > 1:
        pooled = pool(analyses)
        return pooled.estimates, pooled.intervals(level)
    from scipy import stats

    one = analyses[0]
    reach = stats.t.ppf((1 + level) / 2, one.complete_df) * np.sqrt(np.diag(one.covariance))
    return one.estimates, np.column_stack([one.estimates - reach, one.estimates + reach])


@dataclass(frozen=True)
class Coverage:
    """The coverage of one estimand by one method, over replications.

    Attributes
    ----------
    coverage : float
        Share of intervals that contain the true value.
    bias : float
        Mean difference from the estimates of complete tables, relative to the standard error of the
        latter.
    width : float
        Mean width relative to that of complete tables.
    replications : int
    """

    coverage: float
    bias: float
    width: float
    replications: int


def count_coverage(truth: float, estimates: Array, ends: Array, complete: Array) -> Coverage:
    """Count over replications.

    Parameters
    ----------
    truth : float
    estimates : ndarray, shape (R,)
    ends : ndarray, shape (R, 2)
        Lower and upper ends of the intervals.
    complete : ndarray, shape (R, 2)
        Intervals of the same samples before cells were hidden.

    Examples
    --------
    >>> ends = np.array([[0.0, 2.0], [1.5, 3.5]])
    >>> count_coverage(1.0, ends.mean(axis=1), ends, ends).coverage
    0.5
    """
    held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    usual = float(np.diff(complete, axis=1).mean())
    return Coverage(
        float(held.mean()),
        # The midpoint of an interval is its estimate; sampling error is the same in both.
        float((estimates - complete.mean(axis=1)).mean()) / (usual / (2 * _REACH)),
        float(np.diff(ends, axis=1).mean()) / usual,
        len(estimates),
    )


def association(first: Array, second: Array, *, ordered: bool) -> float:
    """Return the association of two columns: Spearman's correlation, or Cramér's V for levels.

    Examples
    --------
    >>> association(np.array([1.0, 2, 3]), np.array([1.0, 4, 9]), ordered=True)
    1.0
    """
    from scipy import stats

    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    if ordered:
        return float(stats.spearmanr(first, second).statistic)
    table = stats.contingency.crosstab(first, second).count
    return float(stats.contingency.association(table, method="cramer"))


def _single(estimate: float, variance: float, n: int) -> Analysis:
    return Analysis(np.array([estimate]), np.array([[variance]]), None, float(n - 1))


def _slopes(fit: object) -> Analysis:
    params, covariance = np.asarray(fit.params), np.asarray(fit.cov_params())  # type: ignore[attr-defined]
    return Analysis(params[1:], covariance[1:, 1:], None, float(fit.df_resid))  # type: ignore[attr-defined]
