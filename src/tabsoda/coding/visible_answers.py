"""Checks and counts of the visible answers.

Input: a table and the mask of visible cells. Output: counts per level, or an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.table import CodedTable


def check_visible(table: CodedTable, visible: NDArray[np.bool_]) -> None:
    """Raise unless every visible cell is answered."""
    if visible.shape != table.shape:
        raise InputError(
            "The mask of visible cells does not match the table",
            found=f"{visible.shape}",
            expected=f"{table.shape}",
        )
    wrong = visible & ~table.states.answered
    if wrong.any():
        position = int(np.flatnonzero(wrong.any(axis=0))[0])
        raise InputError(
            "has visible cells without an answer",
            column=table.names[position],
            found=f"{int(wrong[:, position].sum())} such cells",
            expected="answers in all visible cells",
            next_step="Use the mask of the same table",
        )


def check_levels(
    values: NDArray[np.float64],
    usable: NDArray[np.bool_],
    n_levels: NDArray[np.int64],
    names: tuple[str, ...],
) -> None:
    """Raise if a usable categorical answer is a level that the encoding does not know.

    Parameters
    ----------
    values, usable : ndarray, shape (n, d)
    n_levels : ndarray of int64, shape (d,)
        0 for continuous columns, which are not checked.
    names : tuple of str
    """
    with np.errstate(invalid="ignore"):
        unknown = usable & (n_levels > 0) & ((values < 0) | (values >= n_levels))
    if unknown.any():
        row, position = np.argwhere(unknown)[0]
        raise InputError(
            "contains a level that the model does not know",
            column=names[position],
            found=f"position {values[row, position]:g} in row {row + 1}",
            expected=f"0 to {n_levels[position] - 1}",
            next_step="Describe the survey with the same levels as when the model was fitted",
        )


def count_levels(values: NDArray[np.float64], n_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the answers per level; NaN does not count.

    Returns
    -------
    ndarray of int64, shape (d, max_levels)
        0 in the padding and for continuous columns; at least two levels wide.

    Examples
    --------
    >>> count_levels(np.array([[0.0, 3.5], [1.0, np.nan], [1.0, 2.0]]), np.array([2, 0])).tolist()
    [[1, 2], [0, 0]]
    """
    width = int(n_levels.max(initial=2))
    counts = np.zeros((n_levels.size, width), dtype=np.int64)
    for position in np.flatnonzero(n_levels):
        answers = values[~np.isnan(values[:, position]), position].astype(np.int64)
        counts[position] = np.bincount(answers, minlength=width)
    return counts
