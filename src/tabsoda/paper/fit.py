"""Prepares a table for training, and fits the paper's model to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.coding.modelled_columns import count_levels
from tabsoda.coding.row_order import canonical_order, hold_out_cells
from tabsoda.coding.table_checks import checked_weights, log_empty_rows, log_no_skips
from tabsoda.events import EventLog
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.em import initial_state, run_em
from tabsoda.paper.model import Model
from tabsoda.paper.ordinal_route import route_ordinals
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.working_table import WorkingTable
from tabsoda.progress import Progress
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.computing import check_memory


@dataclass(frozen=True, eq=False)
class Start:
    """An untrained model, and the table in the order of training."""

    model: Model
    table: CodedTable
    keys: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


def fit_model(
    table: CodedTable,
    settings: PaperSettings,
    seed: int,
    device: torch.device,
    events: EventLog,
    *,
    row_weights: NDArray[np.float64] | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Model, list[dict[str, Any]]]:
    """Fit a table; parameters as in :meth:`tabsoda.paper.engine.PaperEngine.fit`.

    Returns
    -------
    model : Model
    history : list of dict
        One entry per round.
    """
    start = start_model(table, settings, seed, device, row_weights, events)
    model = start.model
    saved = None
    if checkpoint:
        # Imported here because the file format needs more than torch and numpy.
        from tabsoda.paper.checkpoint import Checkpoint

        saved = Checkpoint(checkpoint, start.table, model.settings, seed, start.weights)
    if model.codec.layout.n_coordinates == 0:
        events.add("nothing_to_train")
        return model, []
    data = WorkingTable.build(
        start.table, model.codec, start.keys, device, start.held_out, start.weights
    )
    # Targets, their standardised copy and the completed table are all as large as the encoded one.
    check_memory(4 * data.encoded.numel() * data.encoded.element_size(), device)
    state = saved.load(model, events) if saved else None
    state = run_em(
        model,
        data,
        state or initial_state(model, data),
        events,
        after_round=(lambda done: saved.save(model, done, events)) if saved else None,
        progress=progress,
    )
    return model, state.history


def start_model(
    table: CodedTable,
    settings: PaperSettings,
    seed: int,
    device: torch.device,
    row_weights: NDArray[np.float64] | None,
    events: EventLog,
) -> Start:
    """Order the rows, hold cells out, fit the codec and build an untrained model."""
    kinds = [column.kind for column in table.columns]
    settings = settings.resolve(len(kinds), kinds.count(ColumnKind.CONTINUOUS))
    weights = None if row_weights is None else checked_weights(row_weights, table)
    order, keys = canonical_order(table, weights)
    ordered = table.rows(order)
    weights = None if weights is None else weights[order]
    log_empty_rows(table, events)
    log_no_skips(table, events)
    # Latent ordinals are chosen first, because only they need held-out cells for temperatures.
    latent = latent_columns(ordered, settings, events)
    held_out = choose_held_out(ordered, latent, settings, seed)
    visible = ordered.states.answered & ~held_out
    codec = TableCodec.fit(ordered, visible, settings.encoding, events, latent)
    if settings.training.monitor == "held_out" and not held_out[:, codec.modelled].any():
        settings = settings.replace(training={"monitor": "training_loss"})
        events.add("training_loss_watched")
    return Start(Model.start(codec, settings, seed, device), ordered, keys, held_out, weights)


def latent_columns(
    table: CodedTable, settings: PaperSettings, events: EventLog
) -> NDArray[np.bool_]:
    """Return which columns are ordinals with a latent, by all their answers; shape (d,)."""
    n_levels = np.array([column.n_levels for column in table.columns], dtype=np.int64)
    counts = count_levels(table.values, n_levels)
    return route_ordinals(table.columns, counts, settings.encoding, events)


def choose_held_out(
    table: CodedTable, latent: NDArray[np.bool_], settings: PaperSettings, seed: int
) -> NDArray[np.bool_]:
    """Hold out cells of latents for the temperatures, of every column for the stopping rule."""
    columns = latent | (settings.training.monitor == "held_out")
    share = settings.temperature.held_out_share
    categorical = [column.is_categorical for column in table.columns]
    levels = np.where(categorical, table.values, np.nan)
    return hold_out_cells(table.states.answered, columns, share, seed, levels)
