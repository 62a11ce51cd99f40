"""``DefaultEngine``: fit a coded table, estimate and draw its missing cells.

Needs only torch, numpy, scipy and scikit-learn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import row_keys
from tabsoda._internal.threads import worker_threads
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
from tabsoda.progress import Progress
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

    def fingerprint(self) -> bytes:
        """Return a hash of everything fitted, the seed and the settings: equal for the same fit."""
        from tabsoda.engine.files import engine_state

        arrays, content = engine_state(self)
        text = json.dumps([self.settings.to_dict(), self.seed, content], sort_keys=True)
        digest = hashlib.sha256(text.encode())
        for name in sorted(arrays):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
        return digest.digest()

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
        missing = table.states.missing
        rows, positions = np.nonzero(missing & self.codec.fillable)
        filled = self.codec.constants[positions]
        open_rows = np.flatnonzero(missing[:, self.codec.modelled].any(axis=1))
        if self.ensemble is None or self.drawer is None or not open_rows.size:
            return ImputedCells(rows, positions, np.tile(filled, (n_draws, 1)), filled, filled)
        ensemble, drawer = self.ensemble, self.drawer
        keys = row_keys(table.values, table.states.states) if keys is None else keys
        part, part_keys = table.rows(open_rows), keys[open_rows]
        place = np.full(table.shape[0], -1)
        place[open_rows] = np.arange(open_rows.size)
        # Rows whose only missing cells are in constant columns need no prediction.
        is_open = place[rows] >= 0

        def read(values: NDArray[np.float64]) -> NDArray[np.float64]:
            result = filled.copy()
            result[is_open] = values[place[rows[is_open]], positions[is_open]]
            return result

        def update(done: int, what: str) -> None:
            if progress is not None:
                progress(round(1000 * done / (1 + n_draws)), 1000, what)

        def points() -> NDArray[np.float64]:
            both = ensemble.points(part, self.settings.draws.block_rows, whole_numbers)
            return np.stack([read(values) for values in both])

        def drawn(number: int) -> NDArray[np.float64]:
            return read(drawer.draw(part, part_keys, number))

        with self._computing(table, events):
            mode, median = keep("point", points)
            update(1, "point estimate")
            draws = np.empty((n_draws, rows.size))
            for number in range(1, n_draws + 1):
                draws[number - 1] = keep(f"draw {number}", partial(drawn, number))
                update(1 + number, f"draw {number} of {n_draws}")
        return ImputedCells(rows, positions, draws, mode, median)

    def draw(
        self, table: CodedTable, number: int, keys: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
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
        self._check(table)
        values = np.where(table.states.skipped, np.nan, self.codec.with_constants(table))
        open_rows = np.flatnonzero(table.states.missing[:, self.codec.modelled].any(axis=1))
        if self.drawer is None or not open_rows.size:
            return values
        keys = row_keys(table.values, table.states.states) if keys is None else keys
        with self._computing(table):
            drawn = self.drawer.draw(table.rows(open_rows), keys[open_rows], number)
        values[open_rows] = np.where(np.isnan(drawn), values[open_rows], drawn)
        return values

    def level_probabilities(
        self, table: CodedTable, keys: NDArray[np.int64] | None = None
    ) -> dict[int, NDArray[np.float64]]:
        """Return the probabilities of levels behind the point estimates of :meth:`impute`.

        Parameters
        ----------
        table : CodedTable
        keys : ndarray of int64, shape (n_rows,), optional
            Not used: these estimates have no random part.

        Returns
        -------
        dict of int to ndarray of float64, shape (n_rows, n_levels)
            By position, for the categorical columns that are modelled; NaN in cells that are
            not missing.
        """
        self._check(table)
        missing = table.states.missing
        open_rows = np.flatnonzero(missing[:, self.codec.modelled].any(axis=1))
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
