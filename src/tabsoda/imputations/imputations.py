"""The result of imputing: observed answers once, imputed cells per draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.imputations.integer_types import fit_integer_types
from tabsoda.imputations.restore import restore
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ImputedCells:
    """Which cells were imputed, and every value they were given.

    A *draw* is one plausible answer; averages of draws are called point estimates, because they
    vary less than answers do and give intervals that are too short.

    Attributes
    ----------
    rows, positions : ndarray of int64, shape (n_cells,)
        Row and column of each imputed cell.
    draws : ndarray of float64, shape (n_draws, n_cells)
        Level positions or numbers, as in :class:`tabsoda.table.CodedTable`.
    mode, median : ndarray of float64, shape (n_cells,)
        Point estimates; they differ for ordinals only.
    """

    rows: NDArray[np.int64]
    positions: NDArray[np.int64]
    draws: Values
    mode: Values
    median: Values

    def __post_init__(self) -> None:
        for array in (self.rows, self.positions, self.draws, self.mode, self.median):
            array.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Imputations:
    """A survey with its missing answers imputed, once as a point estimate and ``m`` times as draws.

    Attributes
    ----------
    table : CodedTable
        The answers and states that were imputed from.
    cells : ImputedCells
    survey : Survey or None
        Where the table came from; None when it came from a plain array.
    original : frame, array or None
        The data frame or array that was put in, whose kind, index and types come back; None for a
        file or an array of float64.
    settings : dict
        Resolved settings of the run.
    history : list of dict
        Losses and movement of the imputed table, one entry per round.
    events : EventLog
    """

    table: CodedTable
    cells: ImputedCells
    survey: Survey | None = None
    original: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    events: EventLog = field(default_factory=EventLog)

    def __post_init__(self) -> None:
        # Here and not when tables are restored, so that values and completed tables agree.
        cells = fit_integer_types(self.cells, self.table, self.survey, self.original, self.events)
        object.__setattr__(self, "cells", cells)

    def __len__(self) -> int:
        return self.cells.draws.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self.complete(number) for number in range(1, len(self) + 1))

    def values(self, number: int) -> Values:
        """Return draw ``number`` (from 1) as coded values, NaN at skips; shape (n, d)."""
        whole = isinstance(number, int | np.integer)
        if not whole or not 1 <= number <= len(self):
            raise InputError(
                "There is no such imputation",
                found=str(number),
                expected=f"a whole number from 1 to {len(self)}" if len(self) else "none was drawn",
            )
        return self._filled(self.cells.draws[number - 1])

    def point_values(self, ordinal: str = "mode") -> Values:
        """Return the point estimate as coded values, NaN at skips; shape (n, d)."""
        if ordinal not in ("mode", "median"):
            raise InputError(
                "There is no such point estimate of an ordinal",
                found=repr(ordinal),
                expected="'mode' (most probable level) or 'median' (least expected error)",
            )
        return self._filled(self.cells.mode if ordinal == "mode" else self.cells.median)

    def complete(self, number: int) -> Any:
        """Return draw ``number`` (from 1) as a table of the kind that was put in."""
        return self._restored(self.values(number))

    def point(self, ordinal: str = "mode") -> Any:
        """Return the point estimate as a table of the kind that was put in.

        Parameters
        ----------
        ordinal : {"mode", "median"}
            The mode is right most often; the median is closest on average.
        """
        return self._restored(self.point_values(ordinal))

    def counts(self) -> dict[str, int]:
        """Return how many cells were imputed, by column."""
        counts = np.bincount(self.cells.positions, minlength=self.table.shape[1])
        return {name: int(count) for name, count in zip(self.table.names, counts, strict=True)}

    def _restored(self, values: Values) -> Any:
        table = restore(values, self.table, self.survey)
        if self.original is None:
            return table
        if isinstance(self.original, np.ndarray):
            values = table if self.survey is None else table.to_numpy()
            is_widened = values.dtype.kind == "f" and self.original.dtype.kind in "iu"
            return values if is_widened else values.astype(self.original.dtype)
        from tabsoda.reading.frames import like_input

        return like_input(table, self.original)

    def _filled(self, imputed: Values) -> Values:
        values = self.table.values.copy()
        values[self.cells.rows, self.cells.positions] = imputed
        return values
