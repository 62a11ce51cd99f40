"""``DefaultEngine``: fit a coded table, estimate and draw its missing cells.

Needs only torch, numpy, scipy and scikit-learn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.files import sealed
from tabsoda._internal.threads import worker_threads
from tabsoda.coding.missing_cells import MissingCells
from tabsoda.coding.table_checks import check_columns, check_table
from tabsoda.coding.table_events import log_clipped_answers, log_empty_rows
from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.draws import Drawer
from tabsoda.engine.ensemble import Ensemble
from tabsoda.engine.fit import fit_engine
from tabsoda.engine.interactions import Interactions, forced_questions, with_interactions
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.work import planned_threads
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells, Keep, keep_nothing
from tabsoda.progress import Progress, StageProgress
from tabsoda.schema.column import Column
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.chosen_threads import log_threads
from tabsoda.torch_runtime.devices import resolve_device
from tabsoda.torch_runtime.memory import enough_memory


@dataclass(eq=False)
class DefaultEngine:
    """A fitted imputation model for tables of certain columns.

    Attributes
    ----------
    columns : tuple of Column
    settings : EngineSettings
    seed : int
    device : torch.device
    codec : AnswerCodec
    ensemble : Ensemble or None
        None if no column can be modelled.
    drawer : Drawer or None
    history : list of dict
    events : EventLog

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=(200, 1))
    >>> values = np.hstack([x, x + 0.1 * generator.normal(size=(200, 1))])
    >>> values[:20, 1] = np.nan
    >>> columns = (Column("x", ColumnKind.CONTINUOUS), Column("y", ColumnKind.CONTINUOUS))
    >>> table = CodedTable.from_values(columns, values)
    >>> settings = EngineSettings().replace(training={"max_steps": 20}, trees={"effort": "none"})
    >>> engine = DefaultEngine.fit(table, settings, seed=1, device="cpu")
    >>> engine.impute(table, n_draws=2).draws.shape
    (2, 20)
    """

    columns: tuple[Column, ...]
    settings: EngineSettings
    seed: int
    device: torch.device
    codec: AnswerCodec
    ensemble: Ensemble | None
    drawer: Drawer | None
    history: list[dict[str, Any]]
    events: EventLog = field(default_factory=EventLog)

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        settings: EngineSettings,
        *,
        seed: int = 0,
        device: str = "auto",
        row_weights: NDArray[np.float64] | None = None,
        checkpoint: Path | None = None,
        draws: bool = True,
        interactions: Interactions = True,
        progress: Progress | None = None,
    ) -> DefaultEngine:
        """Fit to a table.

        Parameters
        ----------
        table : CodedTable
        settings : EngineSettings
        seed : int
        device : str
        row_weights : ndarray, shape (n_rows,), optional
            Sampling weights in the loss.
        checkpoint : Path, optional
            A folder for the trained network; a run with the same table, settings and seed
            continues from there.
        draws : bool
            Whether draws will be made. If False, the regressions for draws are not fitted, and
            draws come from the network alone.
        interactions : bool or sequence of str
            True: the regressions for draws have the products and curves that the answers show.
            False: none. A list of terms, such as ``["AGE:SEX", "AGE:AGE"]``: these as well.
        progress : callable, optional
            Called as ``progress(done, total, what)``.
        """
        events = EventLog()
        check_table(table)
        settings = with_interactions(settings, interactions)
        forced = forced_questions(interactions, table.columns)
        chosen = resolve_device(device, events)
        threads = planned_threads(settings, table.columns, table.shape[0], chosen)
        log_threads(threads, events, imputing=False)
        with worker_threads(threads.network), enough_memory():
            fitted = fit_engine(
                table,
                settings,
                seed,
                chosen,
                threads,
                events,
                row_weights=row_weights,
                checkpoint=checkpoint,
                draws=draws,
                forced=forced,
                progress=progress,
            )
        return cls(
            table.columns,
            settings,
            seed,
            chosen,
            fitted.training.codec,
            fitted.ensemble,
            fitted.drawer,
            list(fitted.history),
            events,
        )

    @property
    def fillable(self) -> NDArray[np.bool_]:
        """Columns whose missing cells get a value, shape (n_columns,)."""
        return self.codec.fillable

    @property
    def fractional_columns(self) -> NDArray[np.int64]:
        """Positions of the modelled numbers that are not all whole."""
        return self.codec.numbers[~self.codec.scores.whole]

    def save(self, folder: Path) -> None:
        """Write the engine to a folder of safetensors and JSON."""
        from tabsoda.engine.files import save_engine

        save_engine(self, folder)

    def fingerprint(self) -> str:
        """Return a hash of everything fitted, the seed and the settings: equal for the same fit."""
        from tabsoda.engine.files import engine_state

        arrays, content = engine_state(self)
        text = json.dumps([self.settings.to_dict(), self.seed, content], sort_keys=True)
        return sealed(text, arrays)

    @classmethod
    def load(cls, folder: Path, device: str = "auto") -> DefaultEngine:
        """Read an engine that :meth:`save` wrote; nothing in the folder is executed."""
        from tabsoda.engine.files import load_engine

        return load_engine(folder, device)

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
        """Estimate every missing cell, and draw it; see :meth:`tabsoda.engines.Engine.impute`."""
        self._check(table, events)
        cells = self._missing_cells(table)
        if self.ensemble is None or self.drawer is None or not cells.open_rows.size:
            return cells.without_model(n_draws)
        ensemble, drawer, block_rows = self.ensemble, self.drawer, self.settings.draws.block_rows
        part, part_keys = cells.open_part(keys)

        def points(progress: StageProgress) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return ensemble.points(part, block_rows, whole_numbers)

        def draw(number: int, progress: StageProgress) -> NDArray[np.float64]:
            return drawer.draw(part, part_keys, number)

        with self._computing(table, events):
            return cells.impute(n_draws, points, draw, keep, progress)

    def draw(
        self, table: CodedTable, number: int, keys: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Draw every missing cell once; see :meth:`tabsoda.engines.Engine.draw`."""
        self._check(table)
        cells = self._missing_cells(table)
        if self.drawer is None or not cells.open_rows.size:
            return cells.complete()
        with self._computing(table):
            return cells.complete(self.drawer.draw(*cells.open_part(keys), number))

    def level_probabilities(
        self, table: CodedTable, keys: NDArray[np.int64] | None = None
    ) -> dict[int, NDArray[np.float64]]:
        """Return probabilities; see :meth:`tabsoda.engines.Engine.level_probabilities`.

        The keys are not used: these estimates have no random part.
        """
        self._check(table)
        missing, open_rows = table.states.missing, self._missing_cells(table).open_rows
        if self.ensemble is None or not open_rows.size:
            return {}
        found = {
            position: np.full((table.shape[0], int(self.codec.n_levels[position])), np.nan)
            for position in self.codec.categorical.tolist()
        }
        size = self.settings.draws.block_rows
        with self._computing(table):
            for start in range(0, open_rows.size, size):
                rows = open_rows[start : start + size]
                predicted = self.ensemble.answers(table.rows(rows), missing[rows]).probabilities
                for place, (position, own) in enumerate(found.items()):
                    asked = missing[rows, position]
                    own[rows[asked]] = predicted[asked, place, : own.shape[1]]
        return found

    def _missing_cells(self, table: CodedTable) -> MissingCells:
        return MissingCells.of(table, self.codec.modelled, self.codec.constants)

    def _check(self, table: CodedTable, events: EventLog | None = None) -> None:
        check_columns(self.columns, table)
        self.codec.check(table)
        if events is not None:
            log_empty_rows(table, events)
            log_clipped_answers(table, self.codec.numbers, self.codec.clipped(table), events)

    @contextmanager
    def _computing(self, table: CodedTable, events: EventLog | None = None) -> Iterator[None]:
        """Set the number of threads, and convert a failed allocation into an error with advice."""
        threads = planned_threads(self.settings, self.columns, table.shape[0], self.device)
        if events is not None:
            log_threads(threads, events, imputing=True)
        with worker_threads(threads.network), enough_memory():
            yield
