"""Which questions are most informative about a question, each on its own.

Input: codes. Output: the information of every question about every other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.trees.predictor_codes import MISSING

# Enough to rank associations; more rows only take time.
_MOST_ROWS = 20_000
_MOST_GROUPS = 16


def information(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the information of each question (row) about each other (column), in nats per row.

    Mutual information over the rows in which the other question is known, minus its expectation
    for independent questions. For the informing question, missing is a value like any other. More
    than 16 codes are grouped. Minus infinity on the diagonal.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n_rows, n_questions)

    Returns
    -------
    ndarray of float64, shape (n_questions, n_questions)

    Examples
    --------
    >>> codes = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]] * 50, dtype=np.uint8)
    >>> shared = information(codes)
    >>> bool(shared[0, 1] > 0.6), bool(shared[0, 2] < 0.01)
    (True, True)
    """
    step = -(-codes.shape[0] // _MOST_ROWS) or 1
    groups = [_grouped(column) for column in codes[::step].T]
    widths = np.array([column.max(initial=0) + 1 for column in groups])
    starts = np.concatenate([[0], np.cumsum(widths)])
    indicators = np.zeros((groups[0].size if groups else 0, starts[-1]), dtype=np.float32)
    for column, start in zip(groups, starts, strict=False):
        indicators[np.arange(column.size), start + column] = 1.0
    known = indicators.copy()
    # Group 0 is "missing"; such rows carry no information about the answer.
    known[:, starts[:-1]] = 0.0
    counts = (indicators.T @ known).astype(np.float64)
    n_questions = len(groups)
    result = np.full((n_questions, n_questions), -np.inf)
    for target in range(n_questions):
        block = counts[:, starts[target] + 1 : starts[target + 1]]
        for teller in range(n_questions):
            if teller != target:
                pair = block[starts[teller] : starts[teller + 1]]
                result[teller, target] = _mutual_information(pair)
    return result


def _grouped(column: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return 0 for missing, and 1 .. 16 for codes in their order."""
    known = column != MISSING
    distinct, position = np.unique(column[known], return_inverse=True)
    result = np.zeros(column.size, dtype=np.int64)
    if distinct.size > _MOST_GROUPS:
        reached = np.cumsum(np.bincount(position)) / position.size
        position = np.minimum((reached * _MOST_GROUPS).astype(np.int64), _MOST_GROUPS - 1)[position]
    result[known] = position + 1
    return result


def _mutual_information(counts: NDArray[np.float64]) -> float:
    """Return the information in a table of counts minus its expectation under independence."""
    total = counts.sum()
    if not total:
        return 0.0
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    cells = counts[counts > 0]
    raw = (
        np.log(total) + (cells @ np.log(cells) - _sum_x_log_x(rows) - _sum_x_log_x(columns)) / total
    )
    freedom = ((rows > 0).sum() - 1) * ((columns > 0).sum() - 1)
    return float(raw - freedom / (2.0 * total))


def _sum_x_log_x(counts: NDArray[np.float64]) -> float:
    positive = counts[counts > 0]
    return float(positive @ np.log(positive))
