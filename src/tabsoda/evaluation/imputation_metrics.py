"""How far estimates are from the answers that were hidden (appendix "Evaluation metrics").

Input: the true table, the table a method saw, its estimates, and the cells to score. Output: one
number per metric, NaN where nothing was scored, with the counts beside them. Needs numpy alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.baselines.contract import Estimates
from tabsoda.errors import TabSODAError
from tabsoda.evaluation.probability_scores import (
    calibration_error,
    log_scores,
    ranked_probability_scores,
    reliability,
)
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Metric -> whether more is better. The order is that of the tables.
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


def score_estimates(
    truth: CodedTable,
    seen: CodedTable,
    estimates: Estimates,
    scored: BoolArray,
    gates: BoolArray | None = None,
) -> dict[str, dict[str, Any]]:
    """Score estimates over all columns, and over gates and other questions apart.

    Parameters
    ----------
    truth : CodedTable
        With the answers that were hidden.
    seen : CodedTable
        What the method saw; its answers give the mean and standard deviation by which continuous
        columns are standardised.
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
    _check(truth, estimates, scored)
    chosen = np.zeros(truth.shape[1], dtype=bool) if gates is None else np.asarray(gates)
    every = np.ones_like(chosen)
    groups = {"all": every, "gates": chosen, "others": ~chosen}
    return {
        name: _group_scores(truth, seen, estimates, scored, np.flatnonzero(positions))
        for name, positions in groups.items()
    }


def score_columns(
    truth: CodedTable, seen: CodedTable, estimates: Estimates, scored: BoolArray
) -> list[dict[str, Any]]:
    """Score each column by itself: ``accuracy`` and ``mace``, or standardised ``rmse``."""
    _check(truth, estimates, scored)
    rows = []
    for position, column in enumerate(truth.columns):
        cells = scored[:, position]
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
        entry["cells"] = int(cells.sum())
        if cells.any():
            scores = _group_scores(truth, seen, estimates, scored, np.array([position]))
            wanted = {
                ColumnKind.CONTINUOUS: ("rmse", "rmse_raw"),
                ColumnKind.NOMINAL: ("nominal_accuracy",),
                ColumnKind.ORDINAL: ("ordinal_accuracy", "mace", "mace_median"),
            }[column.kind]
            entry |= {name: scores[name] for name in wanted}
        rows.append(entry)
    return rows


def _group_scores(
    truth: CodedTable,
    seen: CodedTable,
    estimates: Estimates,
    scored: BoolArray,
    positions: NDArray[np.intp],
) -> dict[str, Any]:
    raw: list[FloatArray] = []
    standardised: list[FloatArray] = []
    by_mode: dict[ColumnKind, list[FloatArray]] = {ColumnKind.NOMINAL: [], ColumnKind.ORDINAL: []}
    by_median: list[FloatArray] = []
    probable: list[tuple[FloatArray, FloatArray, FloatArray, BoolArray]] = []
    for position in positions:
        cells, column = scored[:, position], truth.columns[position]
        answers = truth.values[cells, position]
        errors = estimates.mode[cells, position] - answers
        if column.kind is ColumnKind.CONTINUOUS:
            raw.append(errors)
            standardised.append(errors / _spread(seen, position))
            continue
        by_mode[column.kind].append(errors)
        if column.kind is ColumnKind.ORDINAL:
            by_median.append(estimates.median[cells, position] - answers)
        if position in estimates.probabilities:
            given = estimates.probabilities[position][cells]
            probable.append(_probability_parts(given, answers.astype(np.intp), column))
    nominal, ordinal = (_joined(by_mode[kind]) for kind in (ColumnKind.NOMINAL, ColumnKind.ORDINAL))
    scores: dict[str, Any] = {
        "n_continuous": sum(part.size for part in raw),
        "n_nominal": nominal.size,
        "n_ordinal": ordinal.size,
        "mace": _mean(np.abs(ordinal)),
        "mace_median": _mean(np.abs(_joined(by_median))),
        "ordinal_accuracy": _mean(ordinal == 0),
        "ordinal_accuracy_median": _mean(_joined(by_median) == 0),
        "categorical_accuracy": _mean(np.concatenate([nominal, ordinal]) == 0),
        "nominal_accuracy": _mean(nominal == 0),
        "rmse": _mean(_joined(standardised) ** 2) ** 0.5,
        "mae": _mean(np.abs(_joined(standardised))),
        "rmse_raw": _mean(_joined(raw) ** 2) ** 0.5,
        "mae_raw": _mean(np.abs(_joined(raw))),
    }
    return scores | _probability_scores(probable)


def _probability_parts(
    probabilities: FloatArray, levels: NDArray[np.intp], column: Column
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Return ranked scores (ordinals only), log scores, confidences and hits of a column."""
    ranked = np.empty(0)
    if column.kind is ColumnKind.ORDINAL:
        ranked = ranked_probability_scores(probabilities, levels)
    hits = probabilities.argmax(axis=1) == levels
    return ranked, log_scores(probabilities, levels), probabilities.max(axis=1, initial=0.0), hits


def _probability_scores(
    parts: list[tuple[FloatArray, FloatArray, FloatArray, BoolArray]],
) -> dict[str, Any]:
    ranked = _joined([part[0] for part in parts])
    logs = _joined([part[1] for part in parts])
    confidence = _joined([part[2] for part in parts])
    hits = _joined([part[3].astype(np.float64) for part in parts]) > 0
    bins = reliability(confidence, hits)
    return {
        "n_probabilities": logs.size,
        "rps": _mean(ranked),
        "log_score": _mean(logs),
        "calibration_error": calibration_error(bins),
        "reliability": bins,
    }


def _spread(seen: CodedTable, position: int) -> float:
    """Return the standard deviation of the answers a method saw; 1 for a constant."""
    answers = seen.values[seen.states.answered[:, position], position]
    spread = float(answers.std()) if answers.size else 0.0
    return spread if spread > 0 else 1.0


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if values.size else float("nan")


def _joined(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate(parts) if parts else np.empty(0)


def _check(truth: CodedTable, estimates: Estimates, scored: BoolArray) -> None:
    """Refuse to score a method that left cells empty or answered outside the levels."""
    if (scored & ~truth.states.answered).any():
        raise TabSODAError("Cells are to be scored whose answer is not known")
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
                    "estimates are no answer it allows"
                )
