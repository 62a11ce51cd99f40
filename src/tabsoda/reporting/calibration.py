"""Overimputation: hide some answers, impute them, and hold what comes out against the answers.

The model has seen these answers while it was trained, so the result is an upper bound of how good
it is; ``tabsoda diagnose`` hides answers before training, and takes longer for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.filling import usual_answers
from tabsoda.bench.metrics.probability_scores import calibration_error, reliability
from tabsoda.reporting.suppression import withhold_alone
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.em.engine import Engine

MOST_ROWS = 2000
SHARE = 0.1
# Numbers are estimated once more, by the engine's other method, for this many respondents.
_NUMBER_ROWS = 500
# Of so few hidden answers nothing is said.
_FEWEST = 20


def overimpute(
    engine: Engine,
    table: CodedTable,
    *,
    seed: int = 0,
    most_rows: int = MOST_ROWS,
    suppress_below: int = 0,
) -> dict[str, Any] | None:
    """Hide a tenth of the answers of some respondents and impute them again.

    Parameters
    ----------
    engine : Engine
        Fitted on the table.
    table : CodedTable
    seed : int
    most_rows : int
    suppress_below : int

    Returns
    -------
    dict or None
        ``rows``, ``cells``, ``bins`` of the reliability curve, ``calibration_error``,
        ``accuracy`` and ``mode_accuracy`` over categorical cells, ``relative_error`` of numbers
        (root mean squared error in standard deviations: 1 is no better than the mean), and
        ``variables`` with ``gain``: what is won over the most frequent answer or the mean. None
        where there was nothing to hide.
    """
    truth = _sample(table, most_rows, seed)
    hidden = _hidden(truth, seed)
    if not hidden.any():
        return None
    seen = truth.with_states(truth.states.hide(hidden))
    probabilities = engine.level_probabilities(seen)
    # The usual answer is that of the whole table, so that it does not pay for the sample.
    usual = usual_answers(table)
    variables, confidence, hits, usual_hits = [], [], [], []
    for position, given in probabilities.items():
        cells = hidden[:, position] & ~np.isnan(given).any(axis=1)
        answers = truth.values[cells, position]
        right = given[cells].argmax(axis=1) == answers
        confidence.append(given[cells].max(axis=1))
        hits.append(right)
        usual_hits.append(answers == usual[position])
        if answers.size >= max(_FEWEST, suppress_below):
            variables.append(
                {
                    "name": truth.columns[position].name,
                    "cells": int(answers.size),
                    "accuracy": round(float(right.mean()), 4),
                    "mode_accuracy": round(float(usual_hits[-1].mean()), 4),
                    "gain": round(float(right.mean() - usual_hits[-1].mean()), 4),
                }
            )
    numbers = _numbers(engine, table, truth, seen, hidden, max(_FEWEST, suppress_below))
    sure, right = _joined(confidence), _joined(hits) > 0
    bins = reliability(sure, right)
    return {
        "rows": truth.shape[0],
        "cells": withhold_alone(int(hidden.sum()), suppress_below),
        "share": SHARE,
        "bins": [one for one in bins if one["cells"] >= max(suppress_below, 1)],
        "calibration_error": calibration_error(bins),
        "accuracy": float(right.mean()) if right.size else None,
        "mode_accuracy": float(_joined(usual_hits).mean()) if right.size else None,
        "relative_error": _pooled_error(numbers),
        "variables": [*variables, *numbers],
    }


def _sample(table: CodedTable, most_rows: int, seed: int) -> CodedTable:
    if table.shape[0] <= most_rows:
        return table
    generator = numpy_generator(seed, "report", "rows")
    return table.rows(np.sort(generator.choice(table.shape[0], most_rows, replace=False)))


def _hidden(table: CodedTable, seed: int) -> NDArray[np.bool_]:
    luck = numpy_generator(seed, "report", "hidden").random(table.shape)
    return table.states.answered & (luck < SHARE)


def _numbers(
    engine: Engine,
    table: CodedTable,
    truth: CodedTable,
    seen: CodedTable,
    hidden: NDArray[np.bool_],
    fewest: int,
) -> list[dict[str, Any]]:
    """Return the error of every question of numbers, relative to its standard deviation."""
    numeric = np.array([not column.is_categorical for column in truth.columns])
    rows = np.flatnonzero((hidden & numeric).any(axis=1))[:_NUMBER_ROWS]
    wanted = hidden[rows] & numeric
    if not wanted.any():
        return []
    estimated = truth.values[rows].copy()
    cells = engine.impute(seen.rows(rows))
    estimated[cells.rows, cells.positions] = cells.mode
    found = []
    for position in np.flatnonzero(wanted.sum(axis=0) >= fewest).tolist():
        chosen = wanted[:, position]
        spread = float(table.values[table.states.answered[:, position], position].std())
        errors = estimated[chosen, position] - truth.values[rows][chosen, position]
        if spread > 0:
            relative = float(np.sqrt(np.mean(errors**2))) / spread
            found.append(
                {
                    "name": truth.columns[position].name,
                    "cells": int(chosen.sum()),
                    "relative_error": round(relative, 4),
                    "gain": round(1 - relative, 4),
                }
            )
    return found


def _pooled_error(numbers: list[dict[str, Any]]) -> float | None:
    """Return the root mean squared relative error over questions, weighted by their cells."""
    cells = sum(one["cells"] for one in numbers)
    squares = sum(one["cells"] * one["relative_error"] ** 2 for one in numbers)
    return (squares / cells) ** 0.5 if cells else None


def _joined(parts: list[NDArray[Any]]) -> NDArray[np.float64]:
    return np.concatenate(parts).astype(np.float64) if parts else np.empty(0)
