"""``DefaultEngine``: fit a coded table, estimate and draw its missing cells.

Needs only torch, numpy, scipy and scikit-learn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.files import sealed
from tabsoda._internal.threads import Threads
from tabsoda.coding.engine import Engine, RowPredictor
from tabsoda.coding.missing_cells import MissingCells
from tabsoda.coding.table_checks import (
    check_columns,
    check_table,
    log_clipped_answers,
    log_empty_rows,
)
from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.draws import Drawer
from tabsoda.engine.ensemble import Ensemble
from tabsoda.engine.fit import fit_engine
from tabsoda.engine.interactions import Interactions, forced_questions, with_interactions
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.work import planned_threads
from tabsoda.events import EventLog
from tabsoda.progress import Progress
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.computing import computing
from tabsoda.torch_runtime.devices import resolve_device


@dataclass(eq=False)
class DefaultEngine(Engine):
    """Network, trees and regressions, fitted to tables of certain columns.

    Attributes
    ----------
    columns, seed, device, history, events
        As in :class:`~tabsoda.coding.engine.Engine`.
    settings : EngineSettings
    codec : AnswerCodec
    ensemble : Ensemble or None
        None if no column can be modelled.
    drawer : Drawer or None
        None if no column can be modelled.

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

    settings: EngineSettings
    codec: AnswerCodec
    ensemble: Ensemble | None = None
    drawer: Drawer | None = None

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
        with computing(threads, events):
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
            list(fitted.history),
            events,
            fitted.training.codec,
            fitted.ensemble,
            fitted.drawer,
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

    def _check(self, table: CodedTable, events: EventLog | None) -> None:
        check_columns(self.columns, table)
        self.codec.check(table)
        if events is not None:
            log_empty_rows(table, events)
            log_clipped_answers(table, self.codec.numbers, self.codec.scores, events)

    def _threads(self, n_rows: int) -> Threads:
        return planned_threads(self.settings, self.columns, n_rows, self.device)

    def _missing_cells(self, table: CodedTable) -> MissingCells:
        return MissingCells.of(table, self.codec.modelled, self.codec.constants)

    def _row_predictor(self, table: CodedTable, keys: NDArray[np.int64]) -> RowPredictor:
        ensemble, drawer = self.ensemble, self.drawer
        if ensemble is None or drawer is None:
            raise ValueError("a table without modelled columns has no rows to predict")
        block_rows = self.settings.draws.block_rows
        return RowPredictor(
            lambda whole_numbers, progress: ensemble.points(table, block_rows, whole_numbers),
            lambda number, progress: drawer.draw(table, keys, number),
            lambda: ensemble.level_probabilities(table, block_rows),
        )
