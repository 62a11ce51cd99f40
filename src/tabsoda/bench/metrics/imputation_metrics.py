"""Score estimates against the answers that were hidden (appendix "Evaluation metrics")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.contract import Estimates
from tabsoda.bench.metrics.probability_scores import (
    brier_scores,
    calibration_error,
    log_scores,
    ranked_probability_scores,
    reliability,
)
from tabsoda.errors import TabSODAError
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Metric -> whether higher is better, in the order of the tables.
METRICS: dict[str, bool] = {
    "mace": False,
    "mace_median": False,
    "ordinal_accuracy": True,
    "ordinal_accuracy_median": True,
    "categorical_accuracy": True,
    "nominal_accuracy": True,
    "rmse": False,
    "mae": False,
    "rmse_raw": False,
    "mae_raw": False,
    "rps": False,
    "log_score": False,
    "calibration_error": False,
}
# A method's confidence in a level, and whether it was right.
_CALIBRATION = ("confidence", "hits")


def score_estimates(
    truth: CodedTable,
    seen: CodedTable,
    estimates: Estimates,
    scored: BoolArray,
    gates: BoolArray | None = None,
) -> dict[str, dict[str, Any]]:
    """Score estimates over all columns, and separately over gates and other questions.

    Parameters
    ----------
    truth : CodedTable
        With the answers that were hidden.
    seen : CodedTable
        The table that the method saw; its answers give the mean and standard deviation used to
        standardise continuous columns.
    estimates : Estimates
    scored : ndarray of bool, shape (n_rows, n_columns)
        Hidden cells that were answered.
    gates : ndarray of bool, shape (n_columns,), optional

    Returns
    -------
    dict of dict
        ``"all"``, ``"gates"`` and ``"others"``: each with the metrics of :data:`METRICS`, the
        counts ``n_continuous``, ``n_nominal``, ``n_ordinal``, ``n_probabilities``, and the bins
        of a reliability diagram. Accuracies and MACE are of the mode; the ``_median`` ones of
        the ordinal median. NaN where nothing was scored.

    Examples
    --------
    >>> from tabsoda.schema import Column
    >>> column = Column("pain", ColumnKind.ORDINAL, levels=("none", "some", "much"))
    >>> truth = CodedTable.from_values((column,), np.array([[0.0], [2.0], [1.0]]))
    >>> hidden = np.array([[False], [True], [True]])
    >>> seen = truth.with_states(truth.states.hide(hidden))
    >>> guess = Estimates(np.zeros((3, 1)), np.ones((3, 1)), {})
    >>> scores = score_estimates(truth, seen, guess, hidden)["all"]
    >>> scores["mace"], scores["mace_median"], scores["n_ordinal"], scores["rmse"]
    (1.5, 0.5, 2, nan)
    """
    chosen = np.zeros(truth.shape[1], dtype=bool) if gates is None else np.asarray(gates)
    return groups_of(compare(truth, seen, estimates, scored), chosen)


@dataclass(frozen=True, eq=False)
class ColumnErrors:
    """The errors of one column; arrays have one entry per scored cell.

    Attributes
    ----------
    column : Column
    mode, median : ndarray
        Estimate minus answer; level positions for categorical columns.
    spread : float
        Standard deviation of the answers the method saw.
    ranked, brier, logs, confidence : ndarray
        Empty where there are no probabilities; ``ranked`` for ordinals only.
    hits : ndarray of bool
        Whether the most probable level was the answer.
    """

    column: Column
    mode: FloatArray
    median: FloatArray
    spread: float
    ranked: FloatArray
    brier: FloatArray
    logs: FloatArray
    confidence: FloatArray
    hits: BoolArray


def compare(
    truth: CodedTable, seen: CodedTable, estimates: Estimates, scored: BoolArray
) -> list[ColumnErrors]:
    """Compare estimates with answers, column by column."""
    _check(truth, estimates, scored)
    return [
        _column_errors(truth, seen, estimates, scored[:, position], position)
        for position in range(truth.shape[1])
    ]


def groups_of(errors: list[ColumnErrors], gates: BoolArray) -> dict[str, dict[str, Any]]:
    """Return the metrics of all columns, of gates, and of the others."""
    marked = list(zip(errors, gates.tolist(), strict=True))
    return {
        "all": _scores(errors),
        "gates": _scores([one for one, gate in marked if gate]),
        "others": _scores([one for one, gate in marked if not gate]),
    }


def columns_of(errors: list[ColumnErrors]) -> list[dict[str, Any]]:
    """Return the metrics of each column separately."""
    wanted = {
        ColumnKind.CONTINUOUS: ("rmse", "rmse_raw"),
        ColumnKind.NOMINAL: ("nominal_accuracy",),
        ColumnKind.ORDINAL: ("ordinal_accuracy", "mace", "mace_median"),
    }
    rows = []
    for one in errors:
        kind = one.column.kind
        entry: dict[str, Any] = {"name": one.column.name, "kind": kind.value}
        entry["cells"] = one.mode.size
        if one.mode.size:
            scores = _answer_scores([one])
            entry |= {name: scores[name] for name in wanted[kind]}
        rows.append(entry)
    return rows


def _column_errors(
    truth: CodedTable, seen: CodedTable, estimates: Estimates, cells: BoolArray, position: int
) -> ColumnErrors:
    column = truth.columns[position]
    answers = truth.values[cells, position]
    mode = estimates.mode[cells, position] - answers
    median = estimates.median[cells, position] - answers
    ranked, brier, logs, confidence = (np.empty(0) for _ in range(4))
    hits = np.empty(0, dtype=bool)
    if position in estimates.probabilities and column.is_categorical:
        given, levels = estimates.probabilities[position][cells], answers.astype(np.intp)
        brier, logs = brier_scores(given, levels), log_scores(given, levels)
        hits = given.argmax(axis=1) == levels
        confidence = given.max(axis=1, initial=0.0)
        if column.kind is ColumnKind.ORDINAL:
            ranked = ranked_probability_scores(given, levels)
    spread = 1.0 if column.is_categorical else _spread(seen, position)
    return ColumnErrors(column, mode, median, spread, ranked, brier, logs, confidence, hits)


def _scores(errors: list[ColumnErrors]) -> dict[str, Any]:
    confidence, hits = (_joined([getattr(e, name) for e in errors]) for name in _CALIBRATION)
    bins = reliability(confidence, hits > 0)
    return _answer_scores(errors) | {
        "n_probabilities": confidence.size,
        "rps": _mean(_joined([one.ranked for one in errors])),
        "log_score": _mean(_joined([one.logs for one in errors])),
        "calibration_error": calibration_error(bins),
        "reliability": bins,
    }


def _answer_scores(errors: list[ColumnErrors]) -> dict[str, Any]:
    by_kind = {kind: [e for e in errors if e.column.kind is kind] for kind in ColumnKind}
    raw = _joined([one.mode for one in by_kind[ColumnKind.CONTINUOUS]])
    standardised = _joined([one.mode / one.spread for one in by_kind[ColumnKind.CONTINUOUS]])
    nominal = _joined([one.mode for one in by_kind[ColumnKind.NOMINAL]])
    ordinal = _joined([one.mode for one in by_kind[ColumnKind.ORDINAL]])
    median = _joined([one.median for one in by_kind[ColumnKind.ORDINAL]])
    return {
        "n_continuous": raw.size,
        "n_nominal": nominal.size,
        "n_ordinal": ordinal.size,
        "mace": _mean(np.abs(ordinal)),
        "mace_median": _mean(np.abs(median)),
        "ordinal_accuracy": _mean(ordinal == 0),
        "ordinal_accuracy_median": _mean(median == 0),
        "categorical_accuracy": _mean(np.concatenate([nominal, ordinal]) == 0),
        "nominal_accuracy": _mean(nominal == 0),
        "rmse": _mean(standardised**2) ** 0.5,
        "mae": _mean(np.abs(standardised)),
        "rmse_raw": _mean(raw**2) ** 0.5,
        "mae_raw": _mean(np.abs(raw)),
    }


def _spread(seen: CodedTable, position: int) -> float:
    """Return the standard deviation of the answers a method saw; 1 for a constant."""
    answers = seen.values[seen.states.answered[:, position], position]
    spread = float(answers.std()) if answers.size else 0.0
    return spread if spread > 0 else 1.0


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if values.size else float("nan")


def _joined(parts: list[NDArray[Any]]) -> FloatArray:
    return np.concatenate(parts) if parts else np.empty(0)


def _check(truth: CodedTable, estimates: Estimates, scored: BoolArray) -> None:
    """Raise if a method left cells empty or gave estimates outside the levels."""
    if (scored & ~truth.states.answered).any():
        raise TabSODAError("Some cells to score have no known answer")
    for decode, values in (("mode", estimates.mode), ("median", estimates.median)):
        if values.shape != truth.shape:
            raise TabSODAError(f"The {decode} estimates have shape {values.shape}, not the table's")
        for position, column in enumerate(truth.columns):
            given = values[scored[:, position], position]
            fine = np.isfinite(given)
            if column.is_categorical:
                fine &= (given >= 0) & (given < column.n_levels) & (given == np.floor(given))
            if not fine.all():
                raise TabSODAError(
                    f"Column '{column.name}': {int((~fine).sum())} of {given.size} {decode} "
                    "estimates are not answers that the question allows"
                )
