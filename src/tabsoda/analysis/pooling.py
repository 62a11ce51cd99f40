"""``pool``: from m analyses, in whatever form they come, to pooled estimates."""

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
    """What one completed table gave.

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
        (as statsmodels has them); or pairs of estimates and variances; or, with ``variances``,
        the estimates alone. An estimate is a number or a vector.
    variances : sequence, optional
        Per imputation: the variance of the number, or the covariance matrix of the vector.
    names : sequence of str, optional
        Names of the estimates; those of a fitted model where absent.
    complete_df : float, optional
        Degrees of freedom had nothing been missing; those of the fitted models where absent (the
        smallest where they differ), else infinite.
    notes : sequence of str
        Kept with the result.

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
                "There are not as many variances as estimates",
                found=f"{len(given)} variances",
                expected=f"{len(entries)}, one per imputation",
            )
        entries = list(zip(entries, given, strict=True))
    if len(entries) < 2:
        raise InputError(
            "There is nothing to pool",
            found=f"{len(entries)} analyses",
            expected="2 or more, which show how much the draws differ",
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
            "The names do not fit the estimates", found=f"{len(found)} names", expected=str(k)
        )
    df = min(one.complete_df for one in read) if complete_df is None else float(complete_df)
    if not df > 0:
        raise InputError(
            "The degrees of freedom are not usable", found=f"{df:g}", expected="more than 0"
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
            next_step="Return (estimate, variance); give no standard error in its place",
        )
    labels = getattr(entry[0], "index", None)
    estimates = _floats(entry[0], number)
    covariance = _floats(entry[1], number)
    estimates = np.atleast_1d(estimates)
    if covariance.ndim < 2 and estimates.size == 1:
        covariance = covariance.reshape(1, 1)
    # A list has a method of this name.
    names = None if labels is None or callable(labels) else tuple(map(str, labels))
    return _checked(Analysis(estimates, covariance, names), number)


def _floats(values: Any, number: int) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"Analysis {number} has something that is not a number", found=str(error)
        ) from error


def _from_fit(fit: Any) -> Analysis:
    """Read a fitted model as statsmodels writes it; several equations are put below each other."""
    params, covariance = fit.params, fit.cov_params()
    # The covariance is ordered equation by equation, and the parameters have a column for each.
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
            f"Analysis {number} has variances that do not fit its estimates",
            found=f"estimates {one.estimates.shape}, variances {one.covariance.shape}",
            expected="a covariance matrix for a vector, a variance for a number",
        )
    if not np.isfinite(one.estimates).all() or not np.isfinite(one.covariance).all():
        raise InputError(
            f"Analysis {number} has no finite result",
            next_step="See whether the model can be estimated: blanks, a constant, too few rows",
        )
    variances = np.diag(one.covariance)
    if (variances < 0).any():
        first = int(np.flatnonzero(variances < 0)[0])
        what = f"of {one.names[first]}" if one.names else f"of estimate {first + 1}"
        raise InputError(
            f"Analysis {number} has a negative variance",
            found=f"{variances[first]:g} {what}",
            next_step="See whether the model can be estimated: a level that always has the same"
            " outcome is to be joined with another one",
        )
    return one


def _check_alike(analyses: list[Analysis]) -> None:
    first = analyses[0]
    for number, other in enumerate(analyses[1:], 2):
        if other.names != first.names or other.estimates.shape != first.estimates.shape:
            differ = sorted(set(first.names or ()) ^ set(other.names or ()))
            raise InputError(
                f"Analysis {number} estimates something else than the first",
                found=", ".join(differ[:4]) or f"{other.estimates.size} estimates",
                expected="the same terms from every imputation",
                next_step="A level may be absent from one draw: join rare levels",
            )
