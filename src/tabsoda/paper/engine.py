"""``PaperEngine``: fit a coded table, then draw and estimate its missing cells.

Needs only torch, numpy and scipy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.files import sealed
from tabsoda._internal.threads import worker_threads
from tabsoda.coding.missing_cells import MissingCells
from tabsoda.coding.table_checks import check_columns, check_table
from tabsoda.coding.table_events import log_clipped_answers, log_empty_rows
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells, Keep, keep_nothing
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.fit import fit_model
from tabsoda.paper.model import Model
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.work import planned_threads
from tabsoda.paper.working_table import WorkingTable
from tabsoda.progress import Progress, StageProgress
from tabsoda.schema.column import Column
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.chosen_threads import log_threads
from tabsoda.torch_runtime.devices import resolve_device
from tabsoda.torch_runtime.memory import enough_memory

Values = NDArray[np.float64]


@dataclass(eq=False)
class PaperEngine:
    """A fitted imputation model for tables of certain columns.

    Attributes
    ----------
    columns : tuple of Column
    model : Model
    history : list of dict
        One entry per round.
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
    >>> settings = PaperSettings.preset("small").replace(training={"max_steps": 20})
    >>> engine = PaperEngine.fit(table, settings, seed=1, device="cpu")
    >>> engine.impute(table, n_draws=2).draws.shape
    (2, 20)
    """

    columns: tuple[Column, ...]
    model: Model
    history: list[dict[str, Any]]
    events: EventLog = field(default_factory=EventLog)

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        settings: PaperSettings,
        *,
        seed: int = 0,
        device: str = "auto",
        row_weights: Values | None = None,
        checkpoint: Path | None = None,
        draws: bool = True,
        progress: Progress | None = None,
    ) -> PaperEngine:
        """Fit to a table.

        Parameters
        ----------
        table : CodedTable
        settings : PaperSettings
        seed : int
        device : str
        row_weights : ndarray, shape (n_rows,), optional
            Sampling weights in the loss.
        checkpoint : Path, optional
            A folder for the state after each round; a run with the same table, settings and seed
            continues from there.
        draws : bool
            Not used: draws need nothing beyond the model.
        progress : callable, optional
        """
        events = EventLog()
        check_table(table)
        chosen = resolve_device(device, events)
        threads = planned_threads(settings, table.columns, table.shape[0], chosen)
        log_threads(threads, events, imputing=False)
        with worker_threads(threads.network), enough_memory():
            model, history = fit_model(
                table,
                settings,
                seed,
                chosen,
                events,
                row_weights=row_weights,
                checkpoint=checkpoint,
                progress=progress,
            )
        return cls(table.columns, model, history, events)

    @property
    def settings(self) -> PaperSettings:
        """The settings of the fit, with ``"auto"`` resolved."""
        return self.model.settings

    @property
    def seed(self) -> int:
        """The seed of the fit, which also keys the noise of draws."""
        return self.model.seed

    @property
    def fillable(self) -> NDArray[np.bool_]:
        """Columns whose missing cells get a value, shape (n_columns,)."""
        return self.model.codec.fillable

    @property
    def fractional_columns(self) -> NDArray[np.int64]:
        """Positions of the modelled numbers that are not all whole."""
        codec = self.model.codec
        return codec.layout.continuous_columns[~codec.continuous.whole]

    def save(self, folder: Path) -> None:
        """Write the engine to a folder of safetensors and JSON."""
        from tabsoda.paper.files import save_engine

        save_engine(self, folder)

    @classmethod
    def load(cls, folder: Path, device: str = "auto") -> PaperEngine:
        """Read an engine that :meth:`save` wrote; nothing in the folder is executed."""
        from tabsoda.paper.files import load_engine

        return load_engine(folder, device)

    def fingerprint(self) -> str:
        """Return a hash of weights, seed and settings: equal for the same fit."""
        text = json.dumps([self.seed, self.settings.to_dict()], sort_keys=True)
        weights = self.model.denoiser.state_dict().items()
        return sealed(text, {name: one.detach().cpu().numpy() for name, one in weights})

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
        check_columns(self.columns, table)
        if events is not None:
            self._log_input(table, events)
        cells = self._missing_cells(table)
        if not cells.open_rows.size:
            return cells.without_model(n_draws)
        with self._computing(table, events):
            data, sampler = self._working(*cells.open_part(keys)), self._sampler()

            def points(progress: StageProgress) -> tuple[Values, Values]:
                return sampler.points(data, whole_numbers, progress)

            def draw(number: int, progress: StageProgress) -> Values:
                return sampler.draw_values(data, number, progress)

            return cells.impute(n_draws, points, draw, keep, progress)

    def draw(self, table: CodedTable, number: int, keys: NDArray[np.int64] | None = None) -> Values:
        """Draw every missing cell once; see :meth:`tabsoda.engines.Engine.draw`."""
        check_columns(self.columns, table)
        cells = self._missing_cells(table)
        if not cells.open_rows.size:
            return cells.complete()
        with self._computing(table):
            data = self._working(*cells.open_part(keys))
            return cells.complete(self._sampler().draw_values(data, number))

    def level_probabilities(
        self, table: CodedTable, keys: NDArray[np.int64] | None = None
    ) -> dict[int, Values]:
        """Return probabilities; see :meth:`tabsoda.engines.Engine.level_probabilities`."""
        check_columns(self.columns, table)
        model, codec = self.model, self.model.codec
        cells = self._missing_cells(table)
        if not cells.open_rows.size:
            return {}
        with self._computing(table):
            data = self._working(*cells.open_part(keys))
            _, expected = self._sampler().expect(data)
            probabilities = codec.level_probabilities(
                expected, model.temperatures, cutpoints=model.cutpoints().detach()
            )
        found = {}
        for place, position in enumerate(codec.categorical_columns.tolist()):
            n_levels = self.columns[position].n_levels
            found[position] = np.full((table.shape[0], n_levels), np.nan)
            found[position][cells.open_rows] = probabilities[:, place, :n_levels]
            found[position][~table.states.missing[:, position]] = np.nan
        return found

    def _missing_cells(self, table: CodedTable) -> MissingCells:
        return MissingCells.of(table, self.model.codec.modelled, self.model.codec.pass_value)

    def _log_input(self, table: CodedTable, events: EventLog) -> None:
        """Log rows and answers that need special treatment."""
        codec = self.model.codec
        log_empty_rows(table, events)
        numbers = codec.layout.continuous_columns
        counts = codec.continuous.clipped(table.values[:, numbers]).sum(axis=0)
        log_clipped_answers(table, numbers, counts, events)
        if table.states.missing[:, numbers].any():
            events.add("means_in_median_table")

    @contextmanager
    def _computing(self, table: CodedTable, events: EventLog | None = None) -> Iterator[None]:
        """Set the number of threads, and convert a failed allocation into an error with advice."""
        threads = planned_threads(self.settings, self.columns, table.shape[0], self.model.device)
        if events is not None:
            log_threads(threads, events, imputing=True)
        with worker_threads(threads.network), enough_memory():
            yield

    def _sampler(self) -> Sampler:
        """Return a sampler with the noise of the last EM round."""
        rounds = self.history[-1]["round"] if self.history else 0
        return Sampler(self.model, self.events, rounds)

    def _working(self, table: CodedTable, keys: NDArray[np.int64]) -> WorkingTable:
        return WorkingTable.build(table, self.model.codec, keys, self.model.device)
