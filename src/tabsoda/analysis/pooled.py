"""Pooled estimates with standard errors, intervals and tests."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.rubin import (
    barnard_rubin,
    extreme_share_interval,
    logit_interval,
    missing_information,
    missing_share,
    relative_increase,
    total_covariance,
    wald_denominator_df,
)
from tabsoda.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from tabsoda.analysis.rows import RowCounts
    from tabsoda.analysis.terms import TermLabel

Array = NDArray[np.float64]
# Kinds of estimates that are logarithms and shown as ratios.
RATIOS = ("odds ratio", "rate ratio", "ratio")


@dataclass(frozen=True)
class WaldTest:
    """A test of several terms at once (D1 of Li, Raghunathan and Rubin).

    Attributes
    ----------
    statistic : float
        F distributed if all terms are zero.
    df_numerator, df_denominator : float
    p_value : float
    """

    statistic: float
    df_numerator: float
    df_denominator: float
    p_value: float


@dataclass(frozen=True, eq=False)
class PooledEstimates:
    """Estimates pooled over ``m`` analyses by Rubin's rules.

    Attributes
    ----------
    names : tuple of str
        One per estimate.
    estimates : ndarray of float64, shape (k,)
        Means over the analyses.
    within, between : ndarray of float64, shape (k, k)
        Covariance of sampling, and covariance of the estimates between analyses.
    n_draws : int
    complete_df : float
        Degrees of freedom without missing answers.
    notes : tuple of str
        Notes for the reader, such as the weights used.
    labels : tuple of TermLabel
        Readable names, one per estimate; empty if they are the names.
    counts : RowCounts or None
        How many respondents were used in every draw, and why others were left out.
    kind : str
        ``"estimate"``, ``"mean"``, ``"median"``, ``"quantile"``, ``"total"``, ``"ratio of totals"``
        or ``"share"``; or ``"odds ratio"``, ``"rate ratio"`` or ``"ratio"``, for which
        ``estimates`` are logarithms of the values shown.
    warnings : tuple of str
        Reasons not to trust the estimates, such as a term that the draws were made without.

    Examples
    --------
    >>> from tabsoda.analysis import pool
    >>> pooled = pool([2.0, 2.5, 3.0], [1.0, 1.0, 1.0], names=["mean"])
    >>> print(pooled)
    Pooled over 3 imputations (Rubin's rules)
          estimate  std error     df  95 % interval     p    fmi
    mean       2.5       1.15   32.0  0.148 to 4.85  .038  0.293
    fmi: fraction of missing information
    """

    names: tuple[str, ...]
    estimates: Array
    within: Array
    between: Array
    n_draws: int
    complete_df: float = np.inf
    notes: tuple[str, ...] = field(default=())
    labels: tuple[TermLabel, ...] = ()
    counts: RowCounts | None = None
    kind: str = "estimate"
    warnings: tuple[str, ...] = ()

    @property
    def label_texts(self) -> tuple[str, ...]:
        """The label of each estimate, or its name if there is none."""
        return tuple(map(str, self.labels)) or self.names

    @property
    def covariance(self) -> Array:
        """Total covariance, shape (k, k)."""
        return total_covariance(self.within, self.between, self.n_draws)

    @property
    def std_errors(self) -> Array:
        """Standard errors, shape (k,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_increase(self) -> Array:
        """By how much missing answers increase each variance (r), shape (k,)."""
        return relative_increase(np.diag(self.within), np.diag(self.between), self.n_draws)

    @property
    def missing_share(self) -> Array:
        """Share of each variance that is due to missing answers (lambda), shape (k,)."""
        return missing_share(np.diag(self.between), np.diag(self.covariance), self.n_draws)

    @property
    def df(self) -> Array:
        """Degrees of freedom of Barnard and Rubin, shape (k,)."""
        return barnard_rubin(self.missing_share, self.n_draws, self.complete_df)

    @property
    def missing_information(self) -> Array:
        """Fraction of missing information (fmi), shape (k,)."""
        return missing_information(self.relative_increase, self.df)

    @property
    def statistics(self) -> Array:
        """Estimates over their standard errors, shape (k,)."""
        unknown = np.full_like(self.estimates, np.nan)
        return np.divide(self.estimates, self.std_errors, out=unknown, where=self.std_errors > 0)

    @property
    def p_values(self) -> Array:
        """Two-sided p-values of the hypothesis that an estimate is 0; shape (k,)."""
        from scipy import stats

        return np.asarray(2 * stats.t.sf(np.abs(self.statistics), self.df))

    def intervals(self, level: float = 0.95) -> Array:
        """Return lower and upper ends, shape (k, 2); for shares, computed on the logit scale."""
        from scipy import stats

        if not 0 < level < 1:
            raise InputError("The confidence level is invalid", found=str(level), expected="0 to 1")
        quantiles = stats.t.ppf((1 + level) / 2, self.df)
        reach = quantiles * self.std_errors
        ends = np.column_stack([self.estimates - reach, self.estimates + reach])
        if self.kind == "share":
            inner = (self.estimates > 0) & (self.estimates < 1)
            ends[inner] = logit_interval(
                self.estimates[inner], self.std_errors[inner], quantiles[inner]
            )
            for place in np.flatnonzero(~inner):
                n = self.complete_df + 1 if self.counts is None else float(self.counts.used.min())
                ends[place] = extreme_share_interval(float(self.estimates[place]), n, level)
        return ends

    def wald_test(self, names: Sequence[str] | None = None) -> WaldTest:
        """Test that several estimates are all zero.

        Parameters
        ----------
        names : sequence of str, optional
            The estimates to test; by default all except an intercept.
        """
        from scipy import stats

        chosen = [n for n in self.names if n != "Intercept"] if names is None else list(names)
        unknown = [name for name in chosen if name not in self.names]
        if unknown or not chosen:
            raise InputError(
                "Unknown estimate",
                found=", ".join(map(repr, unknown)) or "none",
                expected=", ".join(map(repr, self.names)),
            )
        places = [self.names.index(name) for name in chosen]
        block = np.ix_(places, places)
        try:
            standardized = np.linalg.solve(self.within[block], self.between[block])
            k, estimates = len(places), self.estimates[places]
            increase = float((1 + 1 / self.n_draws) * np.trace(standardized) / k)
            distance = estimates @ np.linalg.solve(self.within[block], estimates)
        except np.linalg.LinAlgError as error:
            raise InputError(
                "The estimates cannot be tested together",
                found="a singular covariance matrix",
                next_step="Leave out estimates that depend linearly on others",
            ) from error
        statistic = float(distance / (k * (1 + increase)))
        df = wald_denominator_df(increase, k, self.n_draws, self.complete_df)
        # With infinite denominator degrees of freedom, F is chi-square over its degrees of freedom.
        p_value = stats.chi2.sf(k * statistic, k) if np.isinf(df) else stats.f.sf(statistic, k, df)
        return WaldTest(statistic, float(k), df, float(p_value))

    def table(self, level: float = 0.95) -> pl.DataFrame:
        """Return a row per estimate, with all results of Rubin's rules.

        If ``kind`` is a ratio, ``estimate``, ``low`` and ``high`` are on the log scale, and
        ``ratio``, ``ratio_low`` and ``ratio_high`` are added.
        """
        import polars as pl

        ends = self.intervals(level)
        frame = pl.DataFrame(
            {
                "term": list(self.names),
                "label": list(self.label_texts),
                "estimate": self.estimates,
                "std_error": self.std_errors,
                "statistic": self.statistics,
                "df": self.df,
                "p_value": self.p_values,
                "low": ends[:, 0],
                "high": ends[:, 1],
                "within": np.diag(self.within).copy(),
                "between": np.diag(self.between).copy(),
                "total": np.diag(self.covariance).copy(),
                "relative_increase": self.relative_increase,
                "missing_share": self.missing_share,
                "missing_information": self.missing_information,
            }
        )
        if self.kind not in RATIOS:
            return frame
        ratios = {"ratio": self.estimates, "ratio_low": ends[:, 0], "ratio_high": ends[:, 1]}
        return frame.with_columns(
            pl.Series(name, np.exp(values)) for name, values in ratios.items()
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the table, counts and notes, ready for JSON."""
        rows = [
            {
                key: None if isinstance(v, float) and not np.isfinite(v) else v
                for key, v in r.items()
            }
            for r in self.table(level).to_dicts()
        ]
        return {
            "imputations": self.n_draws,
            "complete_df": float(self.complete_df) if np.isfinite(self.complete_df) else None,
            "level": level,
            "kind": self.kind,
            "n": None if self.counts is None else self.counts.to_dict(),
            "estimates": rows,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        from tabsoda.analysis.text import pooled_text

        return pooled_text(self)

    def _repr_html_(self) -> str:
        from tabsoda.analysis.text import header, headline, shown_rows

        def row(cells: Sequence[str], tag: str) -> str:
            inner = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
            return f"<tr>{inner}</tr>"

        body = "".join(row(cells, "td") for cells in shown_rows(self))
        lines = self.notes if self.counts is None else (str(self.counts), *self.notes)
        notes = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
        caption, heads = html.escape(headline(self)), row(("", *header(self.kind)), "th")
        return (
            f"<table><caption>{caption}</caption><thead>{heads}</thead>"
            f"<tbody>{body}</tbody></table>{notes}"
        )
