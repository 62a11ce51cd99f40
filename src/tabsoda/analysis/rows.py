"""Which respondents an analysis uses in every draw, and why it leaves out the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.linearisation import Sample
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.analysis.replicates import ReplicateWeights
    from tabsoda.analysis.variables import Variable
    from tabsoda.results.imputations import Imputations

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

# Why respondents are left out, in the words of the output.
OUTSIDE = "outside the subset"
UNDECIDED = "subset undecided (a question of the condition is blank)"
BLANK_WEIGHT = "blank weight"
ZERO_WEIGHT = "weight 0"
SKIPPED = "question skipped"
NO_ANSWER = "no answer"


@dataclass(frozen=True, eq=False)
class RowCounts:
    """How many respondents were used in every draw, and how many were left out and why.

    Attributes
    ----------
    used : ndarray of int64, shape (n_draws,)
    left_out : dict of str to ndarray of int64, shape (n_draws,)
        By reason; a respondent counts for the first reason that applies.

    Examples
    --------
    >>> counts = RowCounts(np.array([8, 9]), {"question skipped": np.array([2, 1])})
    >>> print(counts)
    N = 8 to 9 of 10 respondents; left out: 1 to 2 question skipped
    """

    used: Counts
    left_out: dict[str, Counts] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        """Respondents used and left out, shape (n_draws,)."""
        return np.asarray(self.used + sum(self.left_out.values()))

    def used_text(self) -> str:
        """Format how many were used: a number, or the smallest and largest of the draws."""
        return span(self.used)

    def __str__(self) -> str:
        reasons = {why: n for why, n in self.left_out.items() if n.any()}
        text = f"N = {span(self.used)}"
        if not reasons:
            return f"{text} respondents"
        listed = ", ".join(f"{span(n)} {why}" for why, n in reasons.items())
        return f"{text} of {span(self.total)} respondents; left out: {listed}"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts per draw, ready for JSON."""
        return {
            "used": self.used.tolist(),
            "used_min": int(self.used.min()),
            "used_max": int(self.used.max()),
            "left_out": {why: n.tolist() for why, n in self.left_out.items() if n.any()},
        }


@dataclass(frozen=True, eq=False)
class Rows:
    """The respondents counted in every draw.

    Attributes
    ----------
    counted : ndarray of bool, shape (n_draws, n_rows)
    left_out : dict of str to ndarray of int64, shape (n_draws,)
    chosen_by : tuple of str
        Columns whose answers decide who is counted: those of a condition, and of groups.
    """

    counted: Mask
    left_out: dict[str, Counts] = field(default_factory=dict)
    chosen_by: tuple[str, ...] = ()

    @classmethod
    def everybody(cls, result: Imputations) -> Rows:
        """Count all rows in all draws."""
        return cls(np.ones((len(result), result.table.shape[0]), dtype=bool))

    def keep(self, mask: Mask, reason: str) -> Rows:
        """Leave out rows outside a mask, shape (n_rows,) or (n_draws, n_rows), with a reason."""
        lost = (self.counted & ~mask).sum(axis=1)
        before = self.left_out.get(reason, np.zeros_like(lost))
        left_out = {**self.left_out, reason: before + lost}
        return Rows(self.counted & mask, left_out, self.chosen_by)

    def group(self, mask: Mask) -> Rows:
        """Return a group of the counted rows; the others are ignored, not left out."""
        return Rows(self.counted & mask, chosen_by=self.chosen_by)

    def by(self, columns: Iterable[str]) -> Rows:
        """Return the same rows, chosen by further columns."""
        return replace(self, chosen_by=tuple(dict.fromkeys((*self.chosen_by, *columns))))

    def answered(self, variables: Sequence[Variable]) -> Rows:
        """Leave out rows without an answer in one of several columns."""
        draws = range(1, len(self.counted) + 1)
        rows = self
        for variable in variables:
            rows = rows.keep(~np.array([variable.skipped(d) for d in draws]), SKIPPED)
        for variable in variables:
            blank = np.array([np.isnan(variable.coded(d)) for d in draws])
            rows = rows.keep(~blank, NO_ANSWER)
        return rows

    def counts(self) -> RowCounts:
        """Return the numbers of rows used and left out."""
        return RowCounts(self.counted.sum(axis=1), dict(self.left_out))

    def check_not_empty(self, what: str) -> Rows:
        """Raise if no row is counted in a draw; ``what`` names the analysis."""
        empty = np.flatnonzero(~self.counted.any(axis=1))
        if len(empty):
            draw = int(empty[0])
            why = [f"{n[draw]:,} {reason}" for reason, n in self.left_out.items() if n[draw]]
            raise InputError(
                f"No respondents are left to estimate {what} in draw {draw + 1}",
                found=f"left out: {', '.join(why)}" if why else "no respondent in this group",
                expected="at least one respondent in every draw",
                next_step="Widen the subset or the groups, or choose other columns",
            )
        return self


def with_weights(rows: Rows, sample: Sample | ReplicateWeights | None) -> Rows:
    """Leave out rows without a weight or with weight 0."""
    if not isinstance(sample, Sample):
        return rows
    return rows.keep(sample.sampled, BLANK_WEIGHT).keep(sample.weights != 0, ZERO_WEIGHT)


def span(numbers: Counts) -> str:
    """Format a number, or the smallest and the largest of several."""
    low, high = int(numbers.min()), int(numbers.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
