"""Turn probabilities and numbers into point estimates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.contract import Estimates
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]


def median_level(probabilities: Numbers) -> NDArray[np.int64]:
    """Return the first level at which half of the probability is reached; shape (n_rows,).

    Examples
    --------
    >>> median_level(np.array([[0.4, 0.3, 0.3], [0.5, 0.2, 0.3]])).tolist()
    [1, 0]
    """
    reached = np.cumsum(probabilities, axis=1)
    # A half that sums to 0.49999 by rounding still counts as a half.
    return np.argmax(reached >= 0.5 * reached[:, -1:] - 1e-12, axis=1)


def estimates_from(
    table: CodedTable, numbers: Mapping[int, Numbers], probabilities: Mapping[int, Numbers]
) -> Estimates:
    """Decode a method's predictions into estimates.

    Parameters
    ----------
    table : CodedTable
        The table as given to the method.
    numbers : mapping of int to ndarray, shape (n_rows,)
        By position, for continuous columns with missing cells.
    probabilities : mapping of int to ndarray, shape (n_rows, n_levels)
        By position, for categorical columns with missing cells.

    Returns
    -------
    Estimates
        Answers where answered, NaN where skipped, estimates where missing.
    """
    mode, median = table.values.copy(), table.values.copy()
    for position, column in enumerate(table.columns):
        missing = table.states.missing[:, position]
        if not missing.any():
            continue
        if not column.is_categorical:
            mode[missing, position] = median[missing, position] = numbers[position][missing]
            continue
        rows = probabilities[position][missing]
        mode[missing, position] = rows.argmax(axis=1)
        ordinal = column.kind is ColumnKind.ORDINAL
        median[missing, position] = median_level(rows) if ordinal else rows.argmax(axis=1)
    return within_answers(table, Estimates(mode, median, dict(probabilities)))


def usual_answers(table: CodedTable) -> Numbers:
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


def among_levels(probabilities: NDArray[np.floating], n_levels: int) -> Numbers:
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
    values: Numbers,
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
    kept: dict[int, Numbers] = {}
    for position, given in probabilities.items():
        column = table.columns[position]
        kept[position] = among_levels(given, column.n_levels)
        mode[:, position] = kept[position].argmax(axis=1)
        if modes is not None:
            mode[:, position] = modes[position]
        median[:, position] = mode[:, position]
        if column.kind is ColumnKind.ORDINAL:
            median[:, position] = median_level(kept[position])
    answered = table.states.answered
    mode, median = (np.where(answered, table.values, decoded) for decoded in (mode, median))
    return within_answers(table, Estimates(mode, median, kept))


def within_answers(table: CodedTable, estimates: Estimates) -> Estimates:
    """Apply the rule for numbers that all methods share: not rounded, and clipped.

    An estimate is an expectation, so it is not rounded even if all answers are whole, and it is
    kept between the smallest and the largest answer of its column, in the table as given to the
    method. Every method ends with this function; none rounds or clips on its own.

    Examples
    --------
    >>> from tabsoda.schema import Column
    >>> days = Column("days", ColumnKind.CONTINUOUS)
    >>> table = CodedTable.from_values((days,), np.array([[1.0], [5.0], [np.nan], [np.nan]]))
    >>> raw = np.array([[1.0], [5.0], [2.6], [9.0]])
    >>> within_answers(table, Estimates(raw, raw, {})).mode.ravel().tolist()
    [1.0, 5.0, 2.6, 5.0]
    """
    mode, median = estimates.mode.copy(), estimates.median.copy()
    for position, column in enumerate(table.columns):
        missing = table.states.missing[:, position]
        answers = table.values[table.states.answered[:, position], position]
        if column.is_categorical or not answers.size:
            continue
        for values in (mode, median):
            values[missing, position] = values[missing, position].clip(answers.min(), answers.max())
    return Estimates(mode, median, estimates.probabilities)


def level_shares(values: Numbers, n_levels: int) -> Numbers:
    """Return the share of each level, shape (n_levels,); equal shares if there are no answers.

    Examples
    --------
    >>> level_shares(np.array([0.0, 1.0, 1.0, np.nan]), 3).round(2).tolist()
    [0.33, 0.67, 0.0]
    """
    counts = np.bincount(values[~np.isnan(values)].astype(np.intp), minlength=n_levels)
    total = counts.sum()
    return counts / total if total else np.full(n_levels, 1.0 / n_levels)


def center(values: Numbers, *, median: bool = False) -> float:
    """Return the mean or median of the answers; 0 if there are none."""
    answers = values[~np.isnan(values)]
    if not answers.size:
        return 0.0
    return float(np.median(answers) if median else answers.mean())
