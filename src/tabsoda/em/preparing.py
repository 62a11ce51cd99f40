"""What an engine does before training: routes of ordinals, and the cells it holds out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.coding.row_order import hold_out_cells
from tabsoda.coding.visible_answers import count_levels
from tabsoda.encoding.ordinal_route import route_ordinals
from tabsoda.events import EventLog
from tabsoda.settings import Settings
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable


def latent_columns(table: CodedTable, settings: Settings, events: EventLog) -> NDArray[np.bool_]:
    """Say which columns are ordinals with a latent, by all their answers."""
    n_levels = np.array([column.n_levels for column in table.columns], dtype=np.int64)
    counts = count_levels(table.values, n_levels)
    return route_ordinals(table.columns, counts, settings.encoding, events)


def choose_held_out(
    table: CodedTable, latent: NDArray[np.bool_], settings: Settings, seed: int
) -> NDArray[np.bool_]:
    """Hold out cells of latents for the temperatures, of every column for the stopping rule."""
    columns = latent | (settings.training.monitor == "held_out")
    share = settings.temperature.held_out_share
    categorical = [column.is_categorical for column in table.columns]
    levels = np.where(categorical, table.values, np.nan)
    return hold_out_cells(table.states.answered, columns, share, seed, levels)


def without_cells(table: CodedTable, held_out: NDArray[np.bool_]) -> CodedTable:
    """Return the table with held-out cells missing."""
    answered = table.states.answered & ~held_out
    states = CellStates.from_masks(answered, table.states.skipped, table.states.names)
    return CodedTable(table.columns, np.where(answered, table.values, np.nan), states)
