"""Answers as bytes, coded once for all models: trees only use the order of answers.

Input: a CodedTable. Output: one code per cell; missing and skipped cells have their own codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.trees.settings import MOST_CODES, TreeSettings
from tabsoda.errors import InputError
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

Codes = NDArray[np.uint8]

# No cell has the first; it means "none" where a code is required.
NO_CODE = 254
MISSING = 255


@dataclass(frozen=True, eq=False)
class PredictorCodes:
    """The code of every answer.

    A nominal question that trees split by sets of levels keeps its level positions; the skip is
    one more level. Every other question has 0 for the skip, so that one split separates it, and
    codes from 1 for the answers in their order.

    Attributes
    ----------
    names : tuple of str
    kinds : tuple of ColumnKind
    n_levels : ndarray of int64, shape (n_columns,)
    native : ndarray of bool, shape (n_columns,)
        Which questions are split by sets of levels.
    edges : tuple of ndarray of float64
        Per question the upper ends of its groups except the last; empty if native.

    Examples
    --------
    >>> columns = (Column("a", ColumnKind.NOMINAL, (7, 8, 9)), Column("b", ColumnKind.CONTINUOUS))
    >>> values = np.array([[1.0, 10.0], [np.nan, 20.0], [np.nan, np.nan]])
    >>> skipped = np.array([[False, False], [True, False], [False, False]])
    >>> table = CodedTable.from_values(columns, values, skipped)
    >>> coding = PredictorCodes.of(table, table.states.answered, TreeSettings())
    >>> coding.encode(table).tolist()
    [[1, 1], [3, 2], [255, 255]]
    """

    names: tuple[str, ...]
    kinds: tuple[ColumnKind, ...]
    n_levels: NDArray[np.int64]
    native: NDArray[np.bool_]
    edges: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(
        cls, table: CodedTable, visible: NDArray[np.bool_], settings: TreeSettings
    ) -> PredictorCodes:
        """Group the visible answers of a table."""
        native = np.array([_is_native(c, settings.max_native_levels) for c in table.columns])
        edges = tuple(
            np.empty(0)
            if native[position]
            else _edges(table.values[visible[:, position], position], column, settings.max_bins)
            for position, column in enumerate(table.columns)
        )
        return cls(
            table.names,
            tuple(column.kind for column in table.columns),
            np.array([column.n_levels for column in table.columns], dtype=np.int64),
            native,
            edges,
        )

    def encode(self, table: CodedTable, visible: NDArray[np.bool_] | None = None) -> Codes:
        """Return the codes of a table; shape (n_rows, n_columns).

        Answers that are not ``visible`` (all are by default) count as missing.
        """
        self._check(table)
        answered = table.states.answered
        visible = answered if visible is None else answered & visible
        codes = np.full(table.shape, MISSING, dtype=np.uint8)
        for position, edges in enumerate(self.edges):
            shown = visible[:, position]
            answers = table.values[shown, position]
            if self.native[position]:
                codes[shown, position] = answers.astype(np.uint8)
                skip = int(self.n_levels[position])
            else:
                codes[shown, position] = np.searchsorted(edges, answers) + 1
                skip = 0
            codes[table.states.skipped[:, position], position] = skip
        return codes

    def _check(self, table: CodedTable) -> None:
        if table.names != self.names:
            raise InputError(
                "The table has other questions than the trees were fitted on",
                found=", ".join(table.names[:5]),
                expected=", ".join(self.names[:5]),
            )
        for column, kind, n_levels in zip(table.columns, self.kinds, self.n_levels, strict=True):
            if column.kind is not kind or column.n_levels != n_levels:
                raise InputError(
                    "has another description than when the trees were fitted",
                    column=column.name,
                    found=f"{column.kind} with {column.n_levels} levels",
                    expected=f"{kind} with {n_levels} levels",
                )


def _is_native(column: Column, most: int) -> bool:
    # Two levels can be split in only one way, and scikit-learn is slower with sets.
    return column.kind is ColumnKind.NOMINAL and 2 < column.n_levels <= most


def _edges(answers: NDArray[np.float64], column: Column, max_bins: int) -> NDArray[np.float64]:
    """Return the edges between groups: between levels, or between groups of similar size."""
    if column.is_categorical and column.n_levels < MOST_CODES:
        return np.arange(column.n_levels - 1, dtype=np.float64)
    distinct = np.unique(answers)
    if distinct.size <= max_bins:
        return (distinct[:-1] + distinct[1:]) / 2.0
    inner = np.linspace(0.0, 1.0, max_bins + 1)[1:-1]
    return np.unique(np.quantile(answers, inner, method="lower"))
