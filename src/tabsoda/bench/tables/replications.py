"""Summaries over replications: mean, SD and SE, and paired differences between methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import t as student


@dataclass(frozen=True)
class Summary:
    """A metric over replications.

    Attributes
    ----------
    mean, sd, se : float
        Over the replications with scored cells; NaN if there are too few (one for the
        mean, two for SD and SE).
    n : int
        Replications that scored something.
    of : int
        Replications in all.
    """

    mean: float
    sd: float
    se: float
    n: int
    of: int

    def to_dict(self) -> dict[str, float | int]:
        """Return a plain dictionary."""
        return asdict(self)


@dataclass(frozen=True)
class PairedDifference:
    """A method minus another on the same replications.

    Attributes
    ----------
    mean, se : float
    low, high : float
        Student's t interval.
    level : float
        Its confidence.
    n : int
        Replications both scored.
    """

    mean: float
    se: float
    low: float
    high: float
    level: float
    n: int

    def to_dict(self) -> dict[str, float | int]:
        """Return a plain dictionary."""
        return asdict(self)

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero; False without an interval."""
        return bool(self.low > 0 or self.high < 0)

    @property
    def p_value(self) -> float:
        """The p-value of a two-sided t test; NaN without an interval."""
        if not self.se > 0:
            return float("nan") if self.n < 2 else float(self.mean == 0)
        return float(2 * student.sf(abs(self.mean / self.se), self.n - 1))


def summarise(values: Sequence[float]) -> Summary:
    """Summarise a metric over replications; NaN values are ignored.

    Examples
    --------
    >>> summary = summarise([0.4, 0.6, float("nan")])
    >>> round(summary.mean, 3), round(summary.sd, 3), round(summary.se, 3), summary.n, summary.of
    (0.5, 0.141, 0.1, 2, 3)
    """
    every = np.asarray(values, dtype=np.float64)
    scored = every[np.isfinite(every)]
    nan = float("nan")
    mean = float(scored.mean()) if scored.size else nan
    sd = float(scored.std(ddof=1)) if scored.size > 1 else nan
    return Summary(mean, sd, sd / max(scored.size, 1) ** 0.5, scored.size, every.size)


def paired_difference(
    ours: Sequence[float], theirs: Sequence[float], level: float = 0.95
) -> PairedDifference:
    """Compare two methods on the same replications, in the same order.

    Examples
    --------
    >>> difference = paired_difference([0.50, 0.52, 0.51], [0.60, 0.63, 0.61])
    >>> round(difference.mean, 3), difference.n, difference.is_clear
    (-0.103, 3, True)
    """
    gaps = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    summary = summarise(gaps.tolist())
    margin = float("nan")
    if summary.n > 1:
        margin = float(student.ppf(0.5 + level / 2, summary.n - 1)) * summary.se
    mean = summary.mean
    return PairedDifference(mean, summary.se, mean - margin, mean + margin, level, summary.n)
