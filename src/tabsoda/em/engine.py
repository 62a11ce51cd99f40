"""The engine's face: fit a coded table, draw and estimate its missing cells, keep new rows apart.

Needs torch, numpy and scipy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from tabsoda.em.e_step import Sampler
from tabsoda.em.estimating import Estimator
from tabsoda.em.fitting import fit_parts
from tabsoda.em.input_events import tell_means_for_medians
from tabsoda.em.model import Model, fingerprint
from tabsoda.em.operations import planned_threads
from tabsoda.em.refitting import redraw
from tabsoda.em.sequential_draws import draw_values
from tabsoda.em.working_table import WorkingTable
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells, Keep, keep_nothing
from tabsoda.schema.column import Column
from tabsoda.settings import Settings
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.devices import resolve_device
from tabsoda.torch_runtime.memory import enough_memory

# report(done, total, what)
Report = Callable[[int, int, str], None]


@dataclass(eq=False)
class Engine:
    """A fitted imputation model for tables of certain columns.

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
    >>> settings = Settings.preset("fast").replace(training={"max_steps": 20})
    >>> engine = Engine.fit(table, settings, seed=1, device="cpu")
    >>> engine.impute(table, n_draws=2).draws.shape
    (2, 20)
    """

    columns: tuple[Column, ...]
    model: Model
    history: list[dict[str, Any]]
    events: EventLog = field(default_factory=EventLog)
    estimator: Estimator | None = None

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        settings: Settings,
        *,
        seed: int = 0,
        device: str = "auto",
        row_weights: NDArray[np.float64] | None = None,
        checkpoint: Path | None = None,
        draws: bool = True,
        report: Report | None = None,
    ) -> Engine:
        """Learn from a table.

        Parameters
        ----------
        table : CodedTable
        settings : Settings
        seed : int
        device : str
        row_weights : ndarray, shape (n_rows,), optional
            Sampling weights in the loss.
        checkpoint : Path, optional
            A folder for the state after each round; a run of the same table, settings and seed
            goes on from there.
        draws : bool
            Whether draws will be asked for. Without, the regressions of refitted draws are not
            fitted, and what is drawn all the same comes from the heads alone.
        report : callable, optional
        """
        events = EventLog()
        check_table(table)
        chosen = resolve_device(device, events)
        threads = planned_threads(settings, table.columns, table.shape[0], chosen)
        events.add("train", "threads chosen", detail=str(threads))
        with worker_threads(threads.network), enough_memory():
            fitted = fit_parts(
                table,
                settings,
                seed,
                chosen,
                threads,
                events,
                row_weights=row_weights,
                checkpoint=checkpoint,
                draws=draws,
                report=report,
            )
        return cls(table.columns, fitted.model, fitted.history, events, fitted.estimator)

    @property
    def settings(self) -> Settings:
        """The resolved settings."""
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

    def fingerprint(self) -> bytes:
        """Return a hash of weights, seed and settings: equal for the same fit."""
        return fingerprint(self.model)

    def save(self, folder: Path) -> None:
        """Write the engine to a folder of safetensors and JSON."""
        from tabsoda.em.model_files import save_engine

        save_engine(self, folder)

    @classmethod
    def load(cls, folder: Path, device: str = "auto") -> Engine:
        """Read an engine that :meth:`save` wrote; nothing in the folder is executed."""
        from tabsoda.em.model_files import load_engine

        return load_engine(folder, device)

    def impute(
        self,
        table: CodedTable,
        n_draws: int = 0,
        report: Report | None = None,
        events: EventLog | None = None,
        *,
        whole_numbers: bool = True,
        keys: NDArray[np.int64] | None = None,
        keep: Keep = keep_nothing,
    ) -> ImputedCells:
        """Estimate every missing cell, and draw it ``n_draws`` times.

        A row's result depends on the row alone: not on the others, their order or their number.
        Rows that are equal are told apart by their order of appearance within one call, so equal
        rows imputed in separate calls get equal draws: impute a table in one call, or give keys.

        Parameters
        ----------
        table : CodedTable
            Of the columns the engine was fitted on; may hold new rows.
        n_draws : int
        report : callable, optional
        events : EventLog, optional
            Gets what had to be decided about this table's rows.
        whole_numbers : bool
            Point estimates of columns whose answers were all whole are rounded.
        keys : ndarray of int64, shape (n_rows,), optional
            As in :meth:`draw`.
        keep : Keep
            Called for the point estimate and every draw; may return what an earlier run kept.

        Returns
        -------
        ImputedCells
            Cells of columns that could not be modelled and have no constant to give are left out.
        """
        check_columns(self.columns, table)
        model, layout = self.model, self.model.codec.layout
        if events is not None:
            log_empty_rows(table, events)
            self._log_clipped(table, events)
            if self.estimator is None:
                tell_means_for_medians(table, model.codec, events)
        missing = table.states.missing
        rows, positions = np.nonzero(missing & model.codec.fillable)
        if not rows.size or layout.n_coordinates == 0:
            filled = model.codec.pass_value[positions]
            return ImputedCells(rows, positions, np.tile(filled, (n_draws, 1)), filled, filled)
        with self._computing(table, events):
            data = self._working(table, keys)
            return self._sample(table, data, rows, positions, n_draws, report, whole_numbers, keep)

    def _log_clipped(self, table: CodedTable, events: EventLog) -> None:
        codec = self.model.codec
        columns = codec.layout.continuous_columns
        counts = codec.continuous.clipped(table.values[:, columns]).sum(axis=0)
        log_clipped_answers(table, columns, counts, events)

    @contextmanager
    def _computing(self, table: CodedTable, events: EventLog | None = None) -> Iterator[None]:
        """Choose threads for a table, and turn a failed allocation into advice."""
        threads = planned_threads(
            self.model.settings, self.columns, table.shape[0], self.model.device
        )
        if events is not None:
            events.add("impute", "threads chosen", detail=str(threads))
        with worker_threads(threads.network), enough_memory():
            yield

    def _working(self, table: CodedTable, keys: NDArray[np.int64] | None) -> WorkingTable:
        if keys is None:
            keys = row_keys(table.values, table.states.states)
        return WorkingTable.build(table, self.model.codec, keys, self.model.device)

    def _sample(
        self,
        table: CodedTable,
        data: WorkingTable,
        rows: NDArray[np.int64],
        positions: NDArray[np.int64],
        n_draws: int,
        report: Report | None,
        whole_numbers: bool,
        keep: Keep,
    ) -> ImputedCells:
        """Estimate and draw the cells at these rows and positions."""
        model = self.model
        total = 1 + n_draws

        def told(number: int, what: str) -> Callable[[int, int], None]:
            def tell(done: int, blocks: int) -> None:
                if report is not None:
                    report(round(1000 * (number + done / blocks) / total), 1000, what)

            return tell

        incomplete = data.incomplete_rows()
        where = np.full(table.shape[0], -1)
        where[incomplete.cpu().numpy()] = np.arange(incomplete.numel())
        # Rows whose only missing cells belong to constant columns are not sampled.
        sampled = where[rows] >= 0

        def read(values: NDArray[np.float64]) -> NDArray[np.float64]:
            result = model.codec.pass_value[positions]
            result[sampled] = values[where[rows[sampled]], positions[sampled]]
            return result

        def drawn(number: int) -> NDArray[np.float64]:
            tell = told(number, f"draw {number} of {n_draws}")
            return read(self._drawn(table, data, incomplete, number, tell))

        def points() -> NDArray[np.float64]:
            tell = told(0, "point estimate")
            both = self._points(table, data, incomplete, whole_numbers, tell)
            return np.stack([read(values) for values in both])

        mode, median = keep("point", points)
        draws = np.empty((n_draws, rows.size))
        for number in range(1, n_draws + 1):
            draws[number - 1] = keep(f"draw {number}", partial(drawn, number))
        return ImputedCells(rows, positions, draws, mode, median)

    def _points(
        self,
        table: CodedTable,
        data: WorkingTable,
        incomplete: torch.Tensor,
        whole_numbers: bool,
        tell: Callable[[int, int], None],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimate the incomplete rows by mode and by median, each of shape (n_incomplete, d)."""
        if self.estimator is not None:
            return self.estimator.points(table, data, incomplete, whole_numbers, tell)
        return Sampler(self.model, self.events).points(data, whole_numbers, tell)

    def _drawn(
        self,
        table: CodedTable,
        data: WorkingTable,
        incomplete: torch.Tensor,
        number: int,
        tell: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float64]:
        """Draw the incomplete rows once, in the way the settings say; shape (n_incomplete, d)."""
        if self.model.settings.sampler.draws != "reverse":
            drawn = draw_values(self.model, data, incomplete, number)
            if self.model.settings.sampler.draws == "refitted" and self.estimator is not None:
                regressions = self.estimator.advisers.draw_regressions
                drawn = redraw(self.model, regressions, table, data, incomplete, number, drawn)
            if tell is not None:
                tell(1, 1)
            return drawn
        _, encoded = Sampler(self.model, self.events).draw(data, number, tell)
        return self.model.codec.decode_point(encoded, rule="interval")

    def draw(
        self, table: CodedTable, number: int, keys: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Draw every missing cell once; for those who settle a table step by step.

        Parameters
        ----------
        table : CodedTable
            Of the columns the engine was fitted on.
        number : int
            Which draw, from 1; another number gives other noise.
        keys : ndarray of int64, shape (n_rows,), optional
            What identifies the rows' noise; :func:`~tabsoda._internal.randomness.row_keys` of
            the table unless given. A row that is drawn again after some of its cells were settled
            keeps its noise if it keeps its key.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns)
            The table's answers with missing cells drawn; NaN at skips and where nothing can be
            given.
        """
        check_columns(self.columns, table)
        model = self.model
        values = np.where(table.states.skipped, np.nan, table.values)
        rows, positions = np.nonzero(table.states.missing & model.codec.fillable)
        values[rows, positions] = model.codec.pass_value[positions]
        if not rows.size or model.codec.layout.n_coordinates == 0:
            return values
        with self._computing(table):
            data = self._working(table, keys)
            incomplete = data.incomplete_rows()
            drawn = self._drawn(table, data, incomplete, number)
        decoded = np.full(table.shape, np.nan)
        decoded[incomplete.cpu().numpy()] = drawn
        known = ~np.isnan(decoded[rows, positions])
        values[rows[known], positions[known]] = decoded[rows[known], positions[known]]
        return values

    def level_probabilities(
        self, table: CodedTable, keys: NDArray[np.int64] | None = None
    ) -> dict[int, NDArray[np.float64]]:
        """Return how probable each level is, from the same estimate as :meth:`impute`.

        Parameters
        ----------
        table : CodedTable
        keys : ndarray of int64, shape (n_rows,), optional
            As in :meth:`draw`.

        Returns
        -------
        dict of int to ndarray of float64, shape (n_rows, n_levels)
            By position, for the categorical columns that are modelled; NaN in cells that are
            not missing.
        """
        check_columns(self.columns, table)
        model, codec = self.model, self.model.codec
        if codec.layout.n_coordinates == 0:
            return {}
        with self._computing(table):
            data = self._working(table, keys)
            incomplete = data.incomplete_rows()
            if not incomplete.numel():
                return {}
            probabilities: NDArray[np.floating]
            if self.estimator is not None:
                cells = table.states.missing[incomplete.cpu().numpy()]
                probabilities = self.estimator.answers(table, data, incomplete, cells).probabilities
            else:
                _, expected = Sampler(model, self.events).expect(data)
                probabilities = codec.level_probabilities(
                    expected, model.temperatures, cutpoints=model.cutpoints().detach()
                )
        found = {}
        for place, position in enumerate(codec.categorical_columns.tolist()):
            n_levels = self.columns[position].n_levels
            found[position] = np.full((table.shape[0], n_levels), np.nan)
            found[position][incomplete.cpu().numpy()] = probabilities[:, place, :n_levels]
            found[position][~table.states.missing[:, position]] = np.nan
        return found
