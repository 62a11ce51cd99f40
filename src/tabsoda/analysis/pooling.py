"""``pool``: pools m analyses given as models, pairs or arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.pooled import PooledEstimates
from tabsoda.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Analysis:
    """The analysis of one completed table.

    Attributes
    ----------
    estimates : ndarray of float64, shape (k,)
    covariance : ndarray of float64, shape (k, k)
    names : tuple of str or None
    complete_df : float
    """

    estimates: Array
    covariance: Array
    names: tuple[str, ...] | None = None
    complete_df: float = np.inf


def pool(
    analyses: Sequence[Any],
    variances: Sequence[Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    complete_df: float | None = None,
    notes: Sequence[str] = (),
) -> PooledEstimates:
    """Pool the analyses of all completed tables by Rubin's rules.

    Parameters
    ----------
    analyses : sequence
        One entry per imputation: fitted models with ``params``, ``cov_params()`` and ``df_resid``
        (as in statsmodels); or pairs of estimates and variances; or, with ``variances``, only the
        estimates. An estimate is a number or a vector.
    variances : sequence, optional
        Per imputation: the variance of the number, or the covariance matrix of the vector.
    names : sequence of str, optional
        Names of the estimates; by default those of the fitted model.
    complete_df : float, optional
        Degrees of freedom without missing answers; by default those of the fitted models (the
        smallest if they differ), otherwise infinite.
    notes : sequence of str
        Stored in the result.

    Returns
    -------
    PooledEstimates

    Examples
    --------
    >>> pooled = pool([1.0, 1.2, 1.4], [0.1, 0.1, 0.1], complete_df=99)
    >>> pooled.estimates.round(3).tolist(), pooled.std_errors.round(4).tolist()
    ([1.2], [0.3916])
    """
    entries = list(analyses)
    if variances is not None:
        given = list(variances)
        if len(given) != len(entries):
            raise InputError(
                "The numbers of variances and estimates differ",
                found=f"{len(given)} variances",
                expected=f"{len(entries)}, one per imputation",
            )
        entries = list(zip(entries, given, strict=True))
    if len(entries) < 2:
        raise InputError(
            "Too few analyses to pool",
            found=f"{len(entries)} analyses",
            expected="2 or more, to estimate the variance between draws",
            next_step="Draw more imputations",
        )
    read = [_analysis(entry, number) for number, entry in enumerate(entries, 1)]
    _check_alike(read)
    estimates = np.array([one.estimates for one in read])
    k = estimates.shape[1]
    found = tuple(names) if names is not None else read[0].names
    if found is None:
        found = ("estimate",) if k == 1 else tuple(f"estimate {i}" for i in range(1, k + 1))
    if len(found) != k:
        raise InputError(
            "The names do not match the estimates", found=f"{len(found)} names", expected=str(k)
        )
    df = min(one.complete_df for one in read) if complete_df is None else float(complete_df)
    if not df > 0:
        raise InputError(
            "The degrees of freedom are invalid", found=f"{df:g}", expected="more than 0"
        )
    return PooledEstimates(
        tuple(str(name) for name in found),
        estimates.mean(axis=0),
        np.mean([one.covariance for one in read], axis=0),
        np.atleast_2d(np.cov(estimates, rowvar=False)),
        len(read),
        df,
        tuple(notes),
    )


def _analysis(entry: Any, number: int) -> Analysis:
    if isinstance(entry, Analysis):
        return _checked(entry, number)
    if hasattr(entry, "params") and hasattr(entry, "cov_params"):
        return _checked(_from_fit(entry), number)
    is_pair = isinstance(entry, Sequence) and not isinstance(entry, str) and len(entry) == 2
    if not is_pair:
        raise InputError(
            f"Analysis {number} cannot be pooled",
            found=type(entry).__name__,
            expected="a fitted model, or a pair of estimate and variance",
            next_step="Return (estimate, variance), not the standard error",
        )
    labels = getattr(entry[0], "index", None)
    estimates = _floats(entry[0], number)
    covariance = _floats(entry[1], number)
    estimates = np.atleast_1d(estimates)
    if covariance.ndim < 2 and estimates.size == 1:
        covariance = covariance.reshape(1, 1)
    # A list has a method with this name.
    names = None if labels is None or callable(labels) else tuple(map(str, labels))
    return _checked(Analysis(estimates, covariance, names), number)


def _floats(values: Any, number: int) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"Analysis {number} contains something that is not a number", found=str(error)
        ) from error


def _from_fit(fit: Any) -> Analysis:
    """Read a fitted model of statsmodels; several equations are stacked."""
    params, covariance = fit.params, fit.cov_params()
    # The covariance is ordered by equation; the parameters have one column per equation.
    estimates = np.asarray(params, dtype=np.float64).ravel(order="F")
    labels = getattr(params, "index", None) if np.ndim(params) == 1 else None
    if labels is None:
        labels = getattr(covariance, "index", None)
    names = None if labels is None else tuple(_label(label) for label in labels)
    df = getattr(fit, "df_resid", None)
    return Analysis(
        estimates,
        np.asarray(covariance, dtype=np.float64),
        names,
        np.inf if df is None or np.isnan(df) else float(df),
    )


def _label(label: Any) -> str:
    return ": ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _checked(one: Analysis, number: int) -> Analysis:
    k = one.estimates.size
    if one.estimates.ndim != 1 or one.covariance.shape != (k, k):
        raise InputError(
            f"Analysis {number} has variances that do not match its estimates",
            found=f"estimates {one.estimates.shape}, variances {one.covariance.shape}",
            expected="a covariance matrix for a vector, a variance for a number",
        )
    if not np.isfinite(one.estimates).all() or not np.isfinite(one.covariance).all():
        raise InputError(
            f"Analysis {number} has no finite result",
            next_step="Check whether the model can be estimated: blanks, a constant, too few rows",
        )
    variances = np.diag(one.covariance)
    if (variances < 0).any():
        first = int(np.flatnonzero(variances < 0)[0])
        what = f"of {one.names[first]}" if one.names else f"of estimate {first + 1}"
        raise InputError(
            f"Analysis {number} has a negative variance",
            found=f"{variances[first]:g} {what}",
            next_step="Check whether the model can be estimated: merge a level that always has the"
            " same outcome with another one",
        )
    return one


def _check_alike(analyses: list[Analysis]) -> None:
    first = analyses[0]
    for number, other in enumerate(analyses[1:], 2):
        if other.names != first.names or other.estimates.shape != first.estimates.shape:
            differ = sorted(set(first.names or ()) ^ set(other.names or ()))
            raise InputError(
                f"Analysis {number} has other terms than the first",
                found=", ".join(differ[:4]) or f"{other.estimates.size} estimates",
                expected="the same terms from every imputation",
                next_step="A level may be absent from one draw: merge rare levels",
            )
