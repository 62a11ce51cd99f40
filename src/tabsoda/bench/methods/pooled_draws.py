"""Pool the completed tables of a program without skip support into estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.contract import Estimates
from tabsoda.bench.methods.point_estimates import center, estimates_from, level_shares
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]


def pool_draws(table: CodedTable, draws: Sequence[Numbers]) -> Estimates:
    """Pool draws: shares of levels, means of numbers.

    The marginal distribution of the column counts as one more draw, so that no observed level has
    probability 0. Draws that are not a level of the question, such as a skip, do not count.

    Parameters
    ----------
    table : CodedTable
    draws : sequence of ndarray of float64, shape (n_rows, n_columns)
        NaN where a program left a cell empty.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> asked = Column("q", ColumnKind.NOMINAL, levels=(1, 2))
    >>> table = CodedTable.from_values((asked,), np.array([[0.0], [np.nan]]))
    >>> drawn = [np.array([[0.0], [level]]) for level in (1.0, 1.0, -1.0)]
    >>> pool_draws(table, drawn).probabilities[0][1].round(2).tolist()
    [0.33, 0.67]
    """
    numbers, probabilities = {}, {}
    for position in np.flatnonzero(table.states.missing.any(axis=0)).tolist():
        column, values = table.columns[position], table.values[:, position]
        drawn = np.array([draw[:, position] for draw in draws])
        if column.is_categorical:
            counts = (drawn[:, :, None] == np.arange(column.n_levels)).sum(axis=0)
            counts = counts + level_shares(values, column.n_levels)
            probabilities[position] = counts / counts.sum(axis=1, keepdims=True)
        else:
            numbers[position] = np.where(np.isnan(drawn), center(values), drawn).mean(axis=0)
    return estimates_from(table, numbers, probabilities)
