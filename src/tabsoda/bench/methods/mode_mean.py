"""The simplest method: the most frequent answer, and the mean or median of a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.point_estimates import center, estimates_from, level_shares
from tabsoda.errors import InputError
from tabsoda.table import CodedTable


@dataclass(frozen=True)
class ModeMean:
    """Fill every missing cell of a column with the same value.

    The shares of the answers are its probabilities, so that ordinals get the median of the
    answers in the median decode.

    Parameters
    ----------
    number : {"mean", "median"}
        The estimate of a number.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> asked = Column("q", ColumnKind.ORDINAL, levels=(1, 2, 3))
    >>> values = np.array([[0.0], [0.0], [1.0], [2.0], [2.0], [2.0], [1.0], [np.nan]])
    >>> filled = ModeMean().impute(CodedTable.from_values((asked,), values), 0, SkipView.BLIND)
    >>> filled.mode[-1, 0], filled.median[-1, 0]
    (np.float64(2.0), np.float64(1.0))
    """

    number: str = "mean"
    name = "Mode/mean"
    knows_skips = False

    def __post_init__(self) -> None:
        if self.number not in ("mean", "median"):
            raise InputError(
                "Unknown value of number",
                found=repr(self.number),
                expected="'mean' or 'median'",
            )

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell; neither the seed nor the view of skips matters."""
        numbers, probabilities = {}, {}
        for position, column in enumerate(table.columns):
            values = table.values[:, position]
            if column.is_categorical:
                shares = level_shares(values, column.n_levels)
                probabilities[position] = np.tile(shares, (table.shape[0], 1))
            else:
                estimate = center(values, median=self.number == "median")
                numbers[position] = np.full(table.shape[0], estimate)
        return estimates_from(table, numbers, probabilities)
