"""Overimputation: hide some answers, impute them, and compare with the true answers.

The model was trained on these answers, so the result is optimistic; ``tabsoda diagnose`` hides
answers before training, which takes longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.held_out import (
    ColumnErrors,
    Estimates,
    HeldOut,
    calibration,
    hide_answers,
    usual_answers,
)
from tabsoda.report.suppression import withhold_alone
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.coding.engine import Engine

MOST_ROWS = 2000
SHARE = 0.1
# Numbers are estimated separately, with the engine's imputation, for this many respondents.
_NUMBER_ROWS = 500
# Questions with fewer hidden answers are left out.
_FEWEST = 20


def overimpute(
    engine: Engine,
    table: CodedTable,
    *,
    seed: int = 0,
    most_rows: int = MOST_ROWS,
    suppress_below: int = 0,
    n_questions: int | None = None,
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
    n_questions : int, optional
        Columns after this many are only predictors.

    Returns
    -------
    dict or None
        ``rows``, ``cells``, ``bins`` of the reliability curve, ``calibration_error``,
        ``accuracy`` and ``mode_accuracy`` over categorical cells, ``relative_error`` of numbers
        (root mean squared error in standard deviations: 1 is no better than the mean), and
        ``variables`` with ``gain``: the improvement over the most frequent answer or the mean.
        None if there was nothing to hide.
    """
    held = hide_answers(
        table, SHARE, most_rows=most_rows, seed=seed, purpose="report", n_questions=n_questions
    )
    if not held.hidden.any():
        return None
    fewest = max(_FEWEST, suppress_below)
    probabilities = engine.level_probabilities(held.seen)
    # The most frequent answer of the whole table, so that it does not depend on the sample.
    usual = np.broadcast_to(usual_answers(table), held.truth.shape)
    cells = np.zeros(held.truth.shape, dtype=bool)
    mode = usual.copy()
    for position, given in probabilities.items():
        cells[:, position] = ~np.isnan(given).any(axis=1)
        mode[:, position] = given.argmax(axis=1)
    ours = held.errors(Estimates(mode, mode, probabilities), cells)
    theirs = held.errors(Estimates(usual, usual, {}), cells)
    bins, calibration_error = calibration(ours)
    right, usual_right = _right(ours), _right(theirs)
    variables = [
        _accuracy(a, b) for a, b in zip(ours, theirs, strict=True) if a.mode.size >= fewest
    ]
    numbers = _numbers(engine, table, held, fewest)
    return {
        "rows": held.truth.shape[0],
        "cells": withhold_alone(int(held.hidden.sum()), suppress_below),
        "share": SHARE,
        "bins": [one for one in bins if one["cells"] >= max(suppress_below, 1)],
        "calibration_error": calibration_error,
        "accuracy": float(right.mean()) if right.size else None,
        "mode_accuracy": float(usual_right.mean()) if right.size else None,
        "relative_error": _pooled_error(numbers),
        "variables": [*variables, *numbers],
    }


def _right(errors: list[ColumnErrors]) -> NDArray[np.bool_]:
    return np.concatenate([one.mode == 0 for one in errors])


def _accuracy(ours: ColumnErrors, usual: ColumnErrors) -> dict[str, Any]:
    accuracy, mode_accuracy = float((ours.mode == 0).mean()), float((usual.mode == 0).mean())
    return {
        "name": ours.column.name,
        "cells": int(ours.mode.size),
        "accuracy": round(accuracy, 4),
        "mode_accuracy": round(mode_accuracy, 4),
        "gain": round(accuracy - mode_accuracy, 4),
    }


def _numbers(engine: Engine, table: CodedTable, held: HeldOut, fewest: int) -> list[dict[str, Any]]:
    """Return the error of every question of numbers, relative to its standard deviation."""
    numeric = np.array([not column.is_categorical for column in table.columns])
    rows = np.flatnonzero((held.hidden & numeric).any(axis=1))[:_NUMBER_ROWS]
    if not rows.size:
        return []
    cells = np.zeros(held.truth.shape, dtype=bool)
    cells[rows] = numeric
    imputed = engine.impute(held.seen.rows(rows))
    mode = held.truth.values.copy()
    mode[rows[imputed.rows], imputed.positions] = imputed.mode
    found = []
    for position, one in enumerate(held.errors(Estimates(mode, mode, {}), cells)):
        if one.mode.size < fewest:
            continue
        spread = float(table.values[table.states.answered[:, position], position].std())
        if spread > 0:
            relative = float(np.sqrt(np.mean(one.mode**2))) / spread
            found.append(
                {
                    "name": one.column.name,
                    "cells": int(one.mode.size),
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
