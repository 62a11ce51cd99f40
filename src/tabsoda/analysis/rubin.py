"""The formulas of Rubin's rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Below this share the draws differ only by rounding.
_ROUNDING = 1e-12
# The formulas divide by the share; mice uses the same floor.
_SMALLEST_SHARE = 1e-4


def total_covariance(within: Array, between: Array, n_draws: int) -> Array:
    """Add the sampling variance and the variance between draws (Rubin 1987, Eq. 3.1.5)."""
    return within + (1 + 1 / n_draws) * between


def missing_share(between: Array, total: Array, n_draws: int) -> Array:
    """Return lambda, the share of the variance that is due to missing answers."""
    added = (1 + 1 / n_draws) * between
    return np.divide(added, total, out=np.zeros_like(total), where=total > 0)


def relative_increase(within: Array, between: Array, n_draws: int) -> Array:
    """Return r, by how much missing answers increase the variance."""
    added = (1 + 1 / n_draws) * between
    unknown = np.where(added > 0, np.inf, 0.0)
    return np.divide(added, within, out=unknown, where=within > 0)


def barnard_rubin(share: Array, n_draws: int, complete_df: float = np.inf) -> Array:
    """Return the degrees of freedom for small samples (Barnard and Rubin 1999).

    Parameters
    ----------
    share : ndarray of float64
        Lambda, see :func:`missing_share`.
    n_draws : int
    complete_df : float
        Degrees of freedom without missing answers; infinite gives Rubin's old formula.

    Notes
    -----
    If the draws do not differ, nothing is missing, and the result is ``complete_df``.

    Examples
    --------
    >>> barnard_rubin(np.array([0.5]), 5).tolist()
    [16.0]
    >>> barnard_rubin(np.array([0.5, 0.0]), 5, 20.0).round(3).tolist()
    [5.813, 20.0]
    """
    floored = np.maximum(share, _SMALLEST_SHARE)
    df = (n_draws - 1) / floored**2
    if np.isfinite(complete_df):
        observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - floored)
        df = df * observed / (df + observed)
    return np.where(share <= _ROUNDING, complete_df, df)


def logit_interval(shares: Array, std_errors: Array, quantiles: Array) -> Array:
    """Return intervals of shares computed on the logit scale, shape (k, 2), within 0 to 1.

    Parameters
    ----------
    shares, std_errors : ndarray of float64, shape (k,)
        Shares strictly between 0 and 1.
    quantiles : ndarray of float64, shape (k,)
        Quantiles of the t distribution.

    Examples
    --------
    >>> logit_interval(np.array([0.02]), np.array([0.01]), np.array([1.96])).round(4).tolist()
    [[0.0075, 0.0526]]
    """
    centre = np.log(shares / (1 - shares))
    reach = quantiles * std_errors / (shares * (1 - shares))
    ends = np.column_stack([centre - reach, centre + reach])
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-ends))


def extreme_share_interval(share: float, n: float, level: float) -> tuple[float, float]:
    """Return the exact binomial interval (Clopper and Pearson) of a share of 0 or 1 among n.

    Examples
    --------
    >>> [round(end, 3) for end in extreme_share_interval(0.0, 30, 0.95)]
    [0.0, 0.116]
    """
    reach = 1 - ((1 - level) / 2) ** (1 / n)
    return (0.0, reach) if share < 0.5 else (1 - reach, 1.0)


def missing_information(increase: Array, df: Array) -> Array:
    """Return the fraction of missing information, adjusted for the degrees of freedom.

    It is 0 if the draws do not differ; the formula would give 2 / (df + 3).

    Examples
    --------
    >>> missing_information(np.array([0.25, 0.0]), np.array([17.0, 17.0])).round(2).tolist()
    [0.28, 0.0]
    """
    finite = np.where(np.isfinite(increase), increase, 0.0)
    fraction = np.where(finite <= _ROUNDING, 0.0, (finite + 2 / (df + 3)) / (finite + 1))
    return np.where(np.isfinite(increase), fraction, 1.0)


def wald_denominator_df(
    increase: float, n_terms: int, n_draws: int, complete_df: float = np.inf
) -> float:
    """Return the denominator degrees of freedom of the D1 test.

    Li, Raghunathan and Rubin (1991) for large samples, Reiter (2007) if the complete data have few
    degrees of freedom.

    Parameters
    ----------
    increase : float
        The average relative increase of variance over the terms.
    n_terms, n_draws : int
    complete_df : float
    """
    spare = n_terms * (n_draws - 1)
    if increase <= 0:
        return complete_df
    if not np.isinf(complete_df):
        return _reiter(increase, n_terms, spare, complete_df)
    if spare > 4:
        return float(4 + (spare - 4) * (1 + (1 - 2 / spare) / increase) ** 2)
    return float(spare * (1 + 1 / n_terms) * (1 + 1 / increase) ** 2 / 2)


def _reiter(increase: float, n_terms: int, spare: int, complete_df: float) -> float:
    """Return the degrees of freedom of Reiter (2007), which needs more than four spare ones."""
    if spare <= 4:
        return float(spare * (1 + 1 / n_terms) * (1 + 1 / increase) ** 2 / 2)
    adjusted = (complete_df + 1) / (complete_df + 3) * complete_df
    raised = increase * spare / (spare - 2)
    factor = 1 + raised
    two, four = adjusted - 2 * factor, adjusted - 4 * factor
    between = raised**2 * (
        two / (factor**2 * four)
        + 8 * two / (factor * four**2)
        + 4 / (factor * four)
        + 4 / (four * two)
        + 16 * two / four**3
        + 8 / four**2
    )
    return float(4 + 1 / (1 / four + between / (spare - 4)))
