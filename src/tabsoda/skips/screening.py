"""Statistical tests of a rule: Wilson bounds, Fisher's test, Benjamini-Hochberg, caps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from tabsoda.skips.rules import Evidence
from tabsoda.skips.settings import PaperScreenSettings


def wilson_upper(errors: ArrayLike, total: ArrayLike, z: float = 1.96) -> NDArray[np.float64]:
    """Wilson upper confidence bound of a share (Appendix A); 1 where there are no rows.

    Examples
    --------
    >>> round(float(wilson_upper(0, 545)), 4)
    0.007
    """
    n = np.maximum(np.asarray(total, dtype=np.float64), 1.0)
    p = np.asarray(errors, dtype=np.float64) / n
    shrink = 1.0 + z**2 / n
    center = (p + z**2 / (2 * n)) / shrink
    spread = z / shrink * np.sqrt((p * (1 - p) + z**2 / (4 * n)) / n)
    return np.where(np.asarray(total) > 0, center + spread, 1.0)


def is_pure(blank: NDArray | int, asked: NDArray | int, max_share: float) -> NDArray:
    """Return whether the Wilson upper bound of the asked share is low enough."""
    return wilson_upper(asked, np.asarray(blank) + asked) <= max_share


@dataclass(frozen=True)
class Counts:
    """The 2x2 table of a rule against a target: TP, FP, FN and TN of Section 3.2."""

    fired_blank: int
    fired_asked: int
    silent_blank: int
    silent_asked: int

    @classmethod
    def of(cls, fires: NDArray[np.bool_], blank: NDArray[np.bool_]) -> Counts:
        """Cross-tabulate a rule's mask and the target's blanks, both of shape (n_rows,)."""
        fired, blanks = int(fires.sum()), int(blank.sum())
        both = int((fires & blank).sum())
        return cls(both, fired - both, blanks - both, len(blank) - fired - blanks + both)

    @property
    def fired(self) -> int:
        """Rows in which the rule fires."""
        return self.fired_blank + self.fired_asked

    @property
    def blank(self) -> int:
        """n_+: rows in which the target is blank."""
        return self.fired_blank + self.silent_blank

    @property
    def asked(self) -> int:
        """n_-: rows in which the target was asked."""
        return self.fired_asked + self.silent_asked


def fisher_log_p(counts: Counts) -> float:
    """Log p-value of Fisher's exact test, one-sided: the rule fires on blanks more than by chance.

    On surveys of thousands of rows the p-value itself is below the smallest float.

    Examples
    --------
    >>> round(math.exp(fisher_log_p(Counts(3, 1, 1, 3))), 4)
    0.2429
    """
    # Tables with at least the observed number of fired blanks: few if a rule is pure.
    both = np.arange(counts.fired_blank, min(counts.fired, counts.blank) + 1)
    chances = (
        _log_choose(counts.blank, both)
        + _log_choose(counts.asked, counts.fired - both)
        - _log_choose(counts.blank + counts.asked, np.array([counts.fired]))
    )
    return float(np.logaddexp.reduce(chances))


def _log_choose(n: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of the binomial coefficients n over k."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def adjust(log_p: Sequence[float]) -> NDArray[np.float64]:
    """Benjamini-Hochberg q-values of one target's tests."""
    # scipy.stats takes a third of a second to load, also for --help, which needs only the rules.
    from scipy.stats import false_discovery_control

    if not len(log_p):
        return np.zeros(0)
    # exp underflows to 0, which is far below any threshold; a p above 1 is rounding.
    return np.asarray(false_discovery_control(np.minimum(np.exp(np.asarray(log_p)), 1.0)))


def evidence(counts: Counts, q_value: float, z: float = 1.96) -> Evidence:
    """Return the evidence stored with a rule: its counts and bounds."""
    return Evidence(
        fired_blank=counts.fired_blank,
        fired_answered=counts.fired_asked,
        silent_blank=counts.silent_blank,
        silent_answered=counts.silent_asked,
        answered_upper=float(wilson_upper(counts.fired_asked, counts.fired, z)),
        false_positive_upper=float(wilson_upper(counts.fired_asked, counts.asked, z)),
        false_negative_upper=float(wilson_upper(counts.silent_blank, counts.blank, z)),
        p_value=math.exp(min(fisher_log_p(counts), 0.0)),
        q_value=float(q_value),
        coverage=counts.fired_blank / counts.blank if counts.blank else 0.0,
    )


@dataclass(frozen=True)
class Caps:
    """The paper's limits for a rule on one target."""

    false_positive: float
    false_negative: float
    support: int


def position_caps(
    position: int, n_columns: int, n_rows: int, n_blank: int, settings: PaperScreenSettings
) -> Caps:
    """Caps and support of a target by its position in the questionnaire (Appendix A).

    Parameters
    ----------
    position : int
        Zero-based position of the target.
    n_columns, n_rows : int
    n_blank : int
        n_+ of the target.
    settings : PaperScreenSettings
    """
    rho = position / n_columns
    false_positive = settings.max_false_positive_rate * (1 + settings.position_false_positive * rho)
    false_negative = settings.max_false_negative_rate * (1 + settings.position_false_negative * rho)
    least = max(settings.min_leaf, math.ceil(settings.min_support_fraction * n_rows))
    return Caps(
        false_positive=false_positive,
        false_negative=min(
            false_negative + max(n_blank, 1) ** -0.5, settings.false_negative_ceiling
        ),
        support=max(
            math.floor(settings.support_floor * settings.min_leaf),
            math.floor(least * (1 - settings.position_support * rho)),
        ),
    )
