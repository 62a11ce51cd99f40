"""Hide answers of a table, estimate them with methods, and compare; for diagnosis and reports."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.gates import Track, seen_table
from tabsoda.bench.methods.contract import Estimates, ImputationMethod, SkipView
from tabsoda.bench.methods.point_estimates import usual_answers
from tabsoda.bench.metrics.imputation_metrics import ColumnErrors, compare
from tabsoda.bench.metrics.probability_scores import calibration_error, reliability
from tabsoda.bench.tables.replications import paired_difference
from tabsoda.followers import find_followers
from tabsoda.progress import Progress, StagedProgress
from tabsoda.table import CodedTable

__all__ = [
    "ColumnErrors",
    "Estimates",
    "HeldOut",
    "ImputationMethod",
    "calibration",
    "clearly_lower",
    "hide_answers",
    "usual_answers",
]

BoolArray = NDArray[np.bool_]
# Approximate relative time of each method; methods that are not listed count as 1.
_RELATIVE_TIME = {"mode": 0.01, "boosting": 0.5, "mice": 0.5, "missforest": 4.0, "r-mice": 2.0}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A table with some of its answers hidden.

    Attributes
    ----------
    truth : CodedTable
        The rows used, with all their answers.
    seen : CodedTable
        The table that a method sees.
    hidden : ndarray of bool, shape (n_rows, n_columns)
        The hidden answers, which are scored.
    """

    truth: CodedTable
    seen: CodedTable
    hidden: BoolArray

    def errors(self, estimates: Estimates, cells: BoolArray | None = None) -> list[ColumnErrors]:
        """Compare estimates with the hidden answers, or with those among ``cells`` only."""
        scored = self.hidden if cells is None else self.hidden & cells
        return compare(self.truth, self.seen, estimates, scored)

    def run(
        self, methods: Mapping[str, ImputationMethod], seed: int, progress: Progress | None = None
    ) -> tuple[dict[str, list[ColumnErrors]], dict[str, float]]:
        """Run methods on the visible answers; return errors per column, and seconds, by method."""
        errors: dict[str, list[ColumnErrors]] = {}
        seconds: dict[str, float] = {}
        stages = StagedProgress(progress, {name: _RELATIVE_TIME.get(name, 1.0) for name in methods})
        for name, method in methods.items():
            started = time.perf_counter()
            update = stages.stage(name)
            update(0, 1, name)
            estimates = method.impute(
                self.seen, seed, SkipView.LEVEL, **_reporting(method, update, name)
            )
            seconds[name] = round(time.perf_counter() - started, 1)
            errors[name] = self.errors(estimates)
        return errors, seconds


def hide_answers(
    table: CodedTable,
    share: float,
    *,
    most_rows: int,
    seed: int,
    purpose: str,
    track: Track | str = Track.RESOLVED,
    n_questions: int | None = None,
) -> HeldOut:
    """Hide each answered cell with the same probability; every question keeps an answer.

    Parameters
    ----------
    table : CodedTable
    share : float
        Probability that an answer is hidden.
    most_rows : int
        Maximum number of rows; a larger table is sampled.
    seed : int
    purpose : str
        Names the random stream, so that different uses of a seed hide different answers.
    track : {"resolved", "unresolved"}
        As in :func:`~tabsoda.bench.gates.seen_table`: with "unresolved", the questions that depend
        on a hidden gate are missing too, so that they do not reveal its answer.
    n_questions : int, optional
        Columns after this many are only predictors: nothing in them is hidden.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> column = Column("age", ColumnKind.CONTINUOUS)
    >>> table = CodedTable.from_values((column,), np.arange(100.0)[:, None])
    >>> held = hide_answers(table, 0.2, most_rows=50, seed=0, purpose="example")
    >>> held.truth.shape, bool(np.isnan(held.seen.values[held.hidden]).all())
    ((50, 1), True)
    """
    truth = table
    if table.shape[0] > most_rows:
        rows = numpy_generator(seed, purpose, "rows")
        truth = table.rows(np.sort(rows.choice(table.shape[0], most_rows, replace=False)))
    luck = numpy_generator(seed, purpose, "hidden").random(truth.shape)
    answered = truth.states.answered
    hidden = answered & (luck < share)
    if n_questions is not None:
        hidden[:, n_questions:] = False
    # A question without any visible answer could not be learned.
    hidden[np.where(answered, luck, -1.0).argmax(axis=0), np.arange(truth.shape[1])] = False
    if Track(track) is Track.RESOLVED:
        return HeldOut(truth, truth.with_states(truth.states.hide(hidden)), hidden)
    return HeldOut(truth, *seen_table(truth, hidden, find_followers(truth), track))


def calibration(
    errors: Sequence[ColumnErrors],
) -> tuple[list[dict[str, Any]], float]:
    """Return the bins of the reliability curve over columns, and the calibration error."""
    sure = np.concatenate([np.empty(0), *(one.confidence for one in errors)])
    right = np.concatenate([np.empty(0, dtype=bool), *(one.hits for one in errors)])
    bins = reliability(sure, right)
    return bins, calibration_error(bins)


def clearly_lower(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> bool:
    """Return whether the 95 % interval of the mean difference between paired scores is below 0.

    Examples
    --------
    >>> clearly_lower(np.zeros(50), np.ones(50)), clearly_lower(np.ones(50), np.ones(50))
    (True, False)
    """
    gap = paired_difference(ours.tolist(), theirs.tolist())
    if gap.se == 0:
        return gap.mean < 0
    return gap.mean < 0 and gap.is_clear


def _reporting(method: ImputationMethod, progress: Progress, name: str) -> dict[str, Any]:
    """Return the argument by which a method reports its progress, if it has one."""
    if "progress" not in inspect.signature(method.impute).parameters:
        return {}
    return {"progress": lambda share: progress(round(1000 * min(share, 1.0)), 1000, name)}
