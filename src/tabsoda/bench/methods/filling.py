"""Turn model output into estimates for every missing cell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.contract import Estimates
from tabsoda.bench.methods.point_estimates import within_answers
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

Values = NDArray[np.float64]


def usual_answers(table: CodedTable) -> Values:
    """Return each column's most frequent level or mean; 0 if there are no answers.

    Examples
    --------
    >>> from tabsoda.schema import Column
    >>> age = Column("age", ColumnKind.CONTINUOUS)
    >>> usual_answers(CodedTable.from_values((age,), np.array([[30.0], [40.0], [np.nan]])))
    array([35.])
    """
    usual = np.zeros(len(table.columns))
    for position, column in enumerate(table.columns):
        answers = table.values[table.states.answered[:, position], position]
        if not answers.size:
            continue
        if column.is_categorical:
            usual[position] = np.bincount(answers.astype(np.int64)).argmax()
        else:
            usual[position] = answers.mean()
    return usual


def among_levels(probabilities: NDArray[np.floating], n_levels: int) -> Values:
    """Keep the first levels, those of the question itself, and normalise them to sum to 1.

    Examples
    --------
    >>> among_levels(np.array([[0.2, 0.2, 0.6]]), 2).tolist()
    [[0.5, 0.5]]
    """
    kept = np.asarray(probabilities[:, :n_levels], dtype=np.float64)
    total = kept.sum(axis=1, keepdims=True)
    # If all probability is on the extra level, nothing is known about the others.
    even = np.full_like(kept, 1.0 / max(n_levels, 1))
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), even)


def fill(
    table: CodedTable,
    values: Values,
    probabilities: Mapping[int, NDArray[np.floating]],
    modes: Mapping[int, NDArray[np.integer]] | None = None,
) -> Estimates:
    """Combine numbers and level probabilities into estimates.

    Parameters
    ----------
    table : CodedTable
        The table to impute; answers are copied unchanged.
    values : ndarray of float64, shape (n_rows, n_columns)
        Used for columns without probabilities. NaN, and values that are not a level of the
        question, are replaced by the column's most frequent answer or mean.
    probabilities : mapping of int to ndarray, shape (n_rows, n_levels or more)
        By position; levels beyond the question's own are dropped.
    modes : mapping of int to ndarray of int, shape (n_rows,), optional
        By position; the most probable level if not given.
    """
    usual = usual_answers(table)
    mode = np.array(values[:, : len(table.columns)], dtype=np.float64)
    levels = np.array([c.n_levels if c.is_categorical else np.inf for c in table.columns])
    mode = np.where(np.isfinite(mode) & (mode < levels), mode, usual)
    median = mode.copy()
    kept: dict[int, Values] = {}
    for position, given in probabilities.items():
        column = table.columns[position]
        kept[position] = among_levels(given, column.n_levels)
        mode[:, position] = kept[position].argmax(axis=1)
        if modes is not None:
            mode[:, position] = modes[position]
        median[:, position] = mode[:, position]
        if column.kind is ColumnKind.ORDINAL:
            # Rounding may leave the last cumulative sum slightly below one half.
            reached = kept[position].cumsum(axis=1) >= 0.5 - 1e-9
            median[:, position] = reached.argmax(axis=1)
    answered = table.states.answered
    mode, median = (np.where(answered, table.values, decoded) for decoded in (mode, median))
    return within_answers(table, Estimates(mode, median, kept))
