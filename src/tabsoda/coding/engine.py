"""What both engines do in the same way: check a table, find its missing cells, fill them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.threads import Threads
from tabsoda.coding.missing_cells import MissingCells
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells, Keep, keep_nothing
from tabsoda.progress import Progress, StageProgress
from tabsoda.schema.column import Column
from tabsoda.settings_base import SettingsBase
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.computing import computing

if TYPE_CHECKING:
    import torch

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowPredictor:
    """Estimates and draws the missing cells of some rows.

    Attributes
    ----------
    points : callable
        Called as ``points(whole_numbers, progress)``; returns the point estimates by mode and by
        median, each of shape (n, d).
    draw : callable
        Called as ``draw(number, progress)``; returns shape (n, d).
    level_probabilities : callable
        Returns arrays of shape (n, n_levels) by position of the categorical columns.
    """

    points: Callable[[bool, StageProgress], tuple[Values, Values]]
    draw: Callable[[int, StageProgress | None], Values]
    level_probabilities: Callable[[], dict[int, Values]]


@dataclass(eq=False)
class Engine(ABC):
    """A fitted imputation model for tables of certain columns.

    Attributes
    ----------
    columns : tuple of Column
    settings : EngineSettings or PaperSettings
        The settings of the fit.
    seed : int
        The seed of the fit, which also keys the noise of draws.
    device : torch.device
    history : list of dict
        One entry per network or round.
    events : EventLog
        The automatic decisions of the fit.
    """

    columns: tuple[Column, ...]
    settings: SettingsBase
    seed: int
    device: torch.device
    history: list[dict[str, Any]]
    events: EventLog

    @property
    @abstractmethod
    def fillable(self) -> NDArray[np.bool_]:
        """Columns whose missing cells get a value, shape (n_columns,)."""

    @property
    @abstractmethod
    def fractional_columns(self) -> NDArray[np.int64]:
        """Positions of the modelled numbers that are not all whole."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of everything fitted, the seed and the settings: equal for the same fit."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the engine to a folder of safetensors and JSON."""

    @abstractmethod
    def _check(self, table: CodedTable, events: EventLog | None) -> None:
        """Raise if the table cannot be imputed; log what needs special treatment."""

    @abstractmethod
    def _threads(self, n_rows: int) -> Threads:
        """Plan the threads for a table of so many rows."""

    @abstractmethod
    def _missing_cells(self, table: CodedTable) -> MissingCells:
        """Find the cells of a table that get a value."""

    @abstractmethod
    def _row_predictor(self, table: CodedTable, keys: NDArray[np.int64]) -> RowPredictor:
        """Prepare estimates and draws of rows in which a model fills a cell."""

    def impute(
        self,
        table: CodedTable,
        n_draws: int = 0,
        progress: Progress | None = None,
        events: EventLog | None = None,
        *,
        whole_numbers: bool = True,
        keys: NDArray[np.int64] | None = None,
        keep: Keep = keep_nothing,
    ) -> ImputedCells:
        """Estimate every missing cell, and draw it ``n_draws`` times.

        A row's result depends only on the row, not on the others, their order or their number.
        Equal rows are numbered by their order of appearance within one call, so equal rows imputed
        in separate calls get equal draws: impute a table in one call, or give keys.

        Parameters
        ----------
        table : CodedTable
            Must have the columns the engine was fitted on; may contain new rows.
        n_draws : int
        progress : callable, optional
        events : EventLog, optional
            Receives decisions about this table's rows.
        whole_numbers : bool
            Point estimates of columns whose answers were all whole are rounded.
        keys : ndarray of int64, shape (n_rows,), optional
            As in :meth:`draw`.
        keep : Keep
            Called for the point estimate and every draw; may return stored results of an earlier
            run.

        Returns
        -------
        ImputedCells
            Without the cells of columns that could not be modelled and have no constant.
        """
        self._check(table, events)
        cells = self._missing_cells(table)
        if not cells.open_rows.size:
            return cells.without_model(n_draws)
        with computing(self._threads(table.shape[0]), events, imputing=True):
            rows = self._row_predictor(*cells.open_part(keys))
            return cells.impute(
                n_draws, partial(rows.points, whole_numbers), rows.draw, keep, progress
            )

    def draw(self, table: CodedTable, number: int, keys: NDArray[np.int64] | None = None) -> Values:
        """Draw every missing cell once.

        Parameters
        ----------
        table : CodedTable
            Of the columns the engine was fitted on.
        number : int
            Which draw, from 1.
        keys : ndarray of int64, shape (n_rows,), optional
            Identify the rows' random numbers;
            :func:`~tabsoda._internal.randomness.row_keys` of the table unless given. A row that
            is drawn again after some of its cells were filled keeps its random numbers if it keeps
            its key.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns)
            The table's answers with missing cells drawn; NaN at skips and where nothing can be
            drawn.
        """
        self._check(table, None)
        cells = self._missing_cells(table)
        if not cells.open_rows.size:
            return cells.complete()
        with computing(self._threads(table.shape[0])):
            rows = self._row_predictor(*cells.open_part(keys))
            return cells.complete(rows.draw(number, None))

    def level_probabilities(
        self, table: CodedTable, keys: NDArray[np.int64] | None = None
    ) -> dict[int, Values]:
        """Return the probabilities of levels behind the point estimates of :meth:`impute`.

        Parameters
        ----------
        table : CodedTable
        keys : ndarray of int64, shape (n_rows,), optional
            As in :meth:`draw`; not used where estimates have no random part.

        Returns
        -------
        dict of int to ndarray of float64, shape (n_rows, n_levels)
            By position, for the categorical columns that are modelled; NaN in cells that are
            not missing.
        """
        self._check(table, None)
        cells = self._missing_cells(table)
        if not cells.open_rows.size:
            return {}
        with computing(self._threads(table.shape[0])):
            predicted = self._row_predictor(*cells.open_part(keys)).level_probabilities()
        found = {}
        for position, probabilities in predicted.items():
            found[position] = np.full((table.shape[0], probabilities.shape[1]), np.nan)
            found[position][cells.open_rows] = probabilities
            found[position][~table.states.missing[:, position]] = np.nan
        return found
