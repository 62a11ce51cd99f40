"""Choose predictors of each question by correlation, as mice's ``quickpred``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.skip_views import PredictorForm
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]


def choose_predictors(
    form: PredictorForm, min_correlation: float, max_questions: int
) -> dict[int, NDArray[np.intp]]:
    """Choose predictors for every column with missing cells.

    A question counts by the largest correlation of one of its predictors with the target, or with
    an indicator of one of the target's levels, over the rows where both are known.

    Parameters
    ----------
    form : PredictorForm
    min_correlation : float
    max_questions : int

    Returns
    -------
    dict of int to ndarray of intp
        Positions in the predictor matrix, by position of the target.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "abc")
    >>> values = np.array([[1, 1, 0], [2, 2, 1], [3, 3, 0], [4, 4, 1], [np.nan, 5, 0.5]])
    >>> form = PredictorForm(CodedTable.from_values(columns, values), np.zeros(3))
    >>> {target: kept.tolist() for target, kept in choose_predictors(form, 0.6, 5).items()}
    {0: [1]}
    """
    table = form.table
    predictors = form.of(np.where(table.states.missing, 0.0, table.values))
    known = ~table.states.missing[:, predictors.column_of]
    centered = _centered(predictors.matrix, known)
    chosen = {}
    for target in np.flatnonzero(table.states.missing.any(axis=0)).tolist():
        strength = _correlations(centered, known, *_target(table, target))
        by_question = np.zeros(len(table.columns))
        np.maximum.at(by_question, predictors.column_of, strength)
        by_question[target] = -1.0
        strongest = np.argsort(-by_question, kind="stable")[:max_questions]
        kept = strongest[by_question[strongest] >= min_correlation]
        chosen[target] = np.flatnonzero(np.isin(predictors.column_of, kept))
    return chosen


def _centered(matrix: Numbers, known: NDArray[np.bool_]) -> Numbers:
    """Subtract the mean of the known cells of each column; 0 where not known."""
    counts = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, matrix, 0.0).sum(axis=0) / counts
    return np.where(known, matrix - mean, 0.0)


def _target(table: CodedTable, position: int) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the target, or indicators of its levels, centred; and where it is answered."""
    column, answered = table.columns[position], table.states.answered[:, position]
    values = table.values[:, [position]]
    if column.is_categorical:
        values = (values == np.arange(column.n_levels)).astype(np.float64)
    return _centered(values, np.broadcast_to(answered[:, None], values.shape)), answered


def _correlations(
    centered: Numbers, known: NDArray[np.bool_], target: Numbers, answered: NDArray[np.bool_]
) -> Numbers:
    """Return each predictor's largest absolute correlation with the target, (n_predictors,)."""
    left, seen, right = centered[answered], known[answered], target[answered]
    spread = np.sqrt((left**2).sum(axis=0)[:, None] * (seen.T.astype(np.float64) @ right**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.abs(left.T @ right) / spread
    return np.where(spread > 0, correlation, 0.0).max(axis=1)
