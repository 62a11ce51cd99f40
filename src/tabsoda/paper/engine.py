"""``PaperEngine``: fit a coded table, then draw and estimate its missing cells.

Needs only torch, numpy and scipy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import row_keys
from tabsoda._internal.threads import worker_threads
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
from tabsoda.progress import Progress
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

    def fingerprint(self) -> bytes:
        """Return a hash of weights, seed and settings: equal for the same fit."""
        return self.model.fingerprint()

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
        check_columns(self.columns, table)
        codec = self.model.codec
        if events is not None:
            self._log_input(table, events)
        rows, positions = np.nonzero(table.states.missing & codec.fillable)
        if not rows.size or codec.layout.n_coordinates == 0:
            filled = codec.pass_value[positions]
            return ImputedCells(rows, positions, np.tile(filled, (n_draws, 1)), filled, filled)
        with self._computing(table, events):
            data = self._working(table, keys)
            return self._sample(data, rows, positions, n_draws, progress, whole_numbers, keep)

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

    def _working(self, table: CodedTable, keys: NDArray[np.int64] | None) -> WorkingTable:
        if keys is None:
            keys = row_keys(table.values, table.states.states)
        return WorkingTable.build(table, self.model.codec, keys, self.model.device)

    def _sample(
        self,
        data: WorkingTable,
        rows: NDArray[np.int64],
        positions: NDArray[np.int64],
        n_draws: int,
        progress: Progress | None,
        whole_numbers: bool,
        keep: Keep,
    ) -> ImputedCells:
        """Estimate and draw the cells at these rows and positions."""
        sampler = self._sampler()
        incomplete = data.incomplete_rows()
        where = np.full(data.n_rows, -1)
        where[incomplete.cpu().numpy()] = np.arange(incomplete.numel())
        # Rows whose only missing cells are in constant columns are not sampled.
        sampled = where[rows] >= 0

        def read(values: Values) -> Values:
            result = self.model.codec.pass_value[positions]
            result[sampled] = values[where[rows[sampled]], positions[sampled]]
            return result

        def part(number: int, what: str) -> Callable[[int, int], None]:
            def blocks_done(done: int, blocks: int) -> None:
                if progress is not None:
                    progress(round(1000 * (number + done / blocks) / (1 + n_draws)), 1000, what)

            return blocks_done

        def points() -> Values:
            both = sampler.points(data, whole_numbers, part(0, "point estimate"))
            return np.stack([read(values) for values in both])

        def drawn(number: int) -> Values:
            progress = part(number, f"draw {number} of {n_draws}")
            return read(sampler.draw_values(data, number, progress))

        mode, median = keep("point", points)
        draws = np.empty((n_draws, rows.size))
        for number in range(1, n_draws + 1):
            draws[number - 1] = keep(f"draw {number}", partial(drawn, number))
        return ImputedCells(rows, positions, draws, mode, median)

    def draw(self, table: CodedTable, number: int, keys: NDArray[np.int64] | None = None) -> Values:
        """Draw every missing cell once.

        Parameters
        ----------
        table : CodedTable
            Must have the columns the engine was fitted on.
        number : int
            Number of the draw, from 1; another number gives other noise.
        keys : ndarray of int64, shape (n_rows,), optional
            Identify the rows' noise; :func:`~tabsoda._internal.randomness.row_keys` of the table
            unless given. A row that is drawn again after some of its cells were filled keeps its
            noise if it keeps its key.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns)
            The table's answers with missing cells drawn; NaN at skips and where nothing can be
            drawn.
        """
        check_columns(self.columns, table)
        codec = self.model.codec
        values = np.where(table.states.skipped, np.nan, table.values)
        rows, positions = np.nonzero(table.states.missing & codec.fillable)
        values[rows, positions] = codec.pass_value[positions]
        if not rows.size or codec.layout.n_coordinates == 0:
            return values
        with self._computing(table):
            data = self._working(table, keys)
            drawn = self._sampler().draw_values(data, number)
        decoded = np.full(table.shape, np.nan)
        decoded[data.incomplete_rows().cpu().numpy()] = drawn
        known = ~np.isnan(decoded[rows, positions])
        values[rows[known], positions[known]] = decoded[rows[known], positions[known]]
        return values

    def level_probabilities(
        self, table: CodedTable, keys: NDArray[np.int64] | None = None
    ) -> dict[int, Values]:
        """Return the probabilities of levels behind the point estimates of :meth:`impute`.

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
            incomplete = data.incomplete_rows().cpu().numpy()
            if not incomplete.size:
                return {}
            _, expected = self._sampler().expect(data)
            probabilities = codec.level_probabilities(
                expected, model.temperatures, cutpoints=model.cutpoints().detach()
            )
        found = {}
        for place, position in enumerate(codec.categorical_columns.tolist()):
            n_levels = self.columns[position].n_levels
            found[position] = np.full((table.shape[0], n_levels), np.nan)
            found[position][incomplete] = probabilities[:, place, :n_levels]
            found[position][~table.states.missing[:, position]] = np.nan
        return found
