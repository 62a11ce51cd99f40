"""``PaperEngine``: fit a coded table, then draw and estimate its missing cells.

Needs only torch, numpy and scipy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

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
from tabsoda.events import EventLog
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.fit import fit_model
from tabsoda.paper.model import Model
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.work import planned_threads
from tabsoda.paper.working_table import WorkingTable
from tabsoda.progress import Progress
from tabsoda.schema.column import Column
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.computing import computing
from tabsoda.torch_runtime.devices import resolve_device

Values = NDArray[np.float64]


@dataclass(eq=False)
class PaperEngine(Engine):
    """The paper's model, fitted to tables of certain columns.

    Attributes
    ----------
    columns, seed, device, history, events
        As in :class:`~tabsoda.coding.engine.Engine`.
    settings : PaperSettings
        With ``"auto"`` resolved.
    model : Model

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

    settings: PaperSettings
    model: Model

    @classmethod
    def of_model(
        cls,
        columns: tuple[Column, ...],
        model: Model,
        history: list[dict[str, Any]],
        events: EventLog,
    ) -> PaperEngine:
        """Return the engine of a fitted model."""
        return cls(columns, model.settings, model.seed, model.device, history, events, model)

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
        with computing(threads, events):
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
        return cls.of_model(table.columns, model, history, events)

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

    def _check(self, table: CodedTable, events: EventLog | None) -> None:
        check_columns(self.columns, table)
        if events is not None:
            codec = self.model.codec
            numbers = codec.layout.continuous_columns
            log_empty_rows(table, events)
            log_clipped_answers(table, numbers, codec.continuous, events)
            if table.states.missing[:, numbers].any():
                events.add("means_in_median_table")

    def _threads(self, n_rows: int) -> Threads:
        return planned_threads(self.settings, self.columns, n_rows, self.device)

    def _missing_cells(self, table: CodedTable) -> MissingCells:
        return MissingCells.of(table, self.model.codec.modelled, self.model.codec.pass_value)

    def _row_predictor(self, table: CodedTable, keys: NDArray[np.int64]) -> RowPredictor:
        data = WorkingTable.build(table, self.model.codec, keys, self.device)
        # With the noise of the last EM round.
        rounds = self.history[-1]["round"] if self.history else 0
        sampler = Sampler(self.model, self.events, rounds)
        return RowPredictor(
            partial(sampler.points, data),
            partial(sampler.draw_values, data),
            partial(sampler.level_probabilities, data),
        )
