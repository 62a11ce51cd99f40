"""What an engine does around training: checks, and the cells it holds out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.coding.row_order import hold_out_cells
from tabsoda.coding.visible_answers import count_levels
from tabsoda.encoding.ordinal_route import route_ordinals
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema.column import Column
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


# The squares of larger numbers, summed over many rows, are none any more.
_LARGEST = 1e100


def check_table(table: CodedTable) -> None:
    """Raise where there is too little to learn from, or a number too large to reckon with."""
    n_rows, n_columns = table.shape
    if n_rows < 2 or n_columns < 1:
        raise InputError(
            "The table is too small to learn from",
            # The words in brackets are those that scikit-learn's checks look for.
            found=f"{n_rows} rows (n_samples={n_rows}) and {n_columns} columns",
            expected="at least 2 rows and 1 column",
        )
    if not table.states.answered.any():
        raise InputError(
            "The table has no answered cell",
            next_step="Check that missing codes were not declared for every value",
        )
    with np.errstate(invalid="ignore"):
        huge = (np.abs(table.values) > _LARGEST).any(axis=0)
    if huge.any():
        position = int(np.flatnonzero(huge)[0])
        largest = float(np.nanmax(np.abs(table.values[:, position])))
        raise InputError(
            "holds a number too large to reckon with",
            column=table.names[position],
            found=f"{largest:g} or its negative",
            expected=f"numbers of at most {_LARGEST:g}",
            next_step="Give the column in larger units, or list the number as a missing code",
        )


def check_columns(fitted: tuple[Column, ...], table: CodedTable) -> None:
    """Raise where a table's columns are not those that a model was fitted on."""
    for mine, theirs in zip(fitted, table.columns, strict=False):
        if (mine.name, mine.kind, mine.levels) != (theirs.name, theirs.kind, theirs.levels):
            raise InputError(
                "differs from the column the model was fitted on",
                column=theirs.name,
                found=f"{theirs.kind} with {theirs.n_levels} levels",
                expected=f"'{mine.name}', {mine.kind} with {mine.n_levels} levels",
                next_step="Describe the new table as the old one was described",
            )
    if len(fitted) != len(table.columns):
        raise InputError(
            "The table has another number of columns than the model",
            found=str(len(table.columns)),
            expected=str(len(fitted)),
        )


def checked_weights(weights: Any, table: CodedTable) -> NDArray[np.float64]:
    """Return the weights of the rows, or raise where they are not usable."""
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "The sample weights are not usable",
            found=str(error),
            expected="numbers of at least 0, one of them above 0",
        ) from error
    if weights.shape != (table.shape[0],):
        raise InputError(
            "The sample weights do not fit the table",
            found=f"shape {weights.shape}",
            expected=f"one weight for each of {table.shape[0]} rows",
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(
            "The sample weights are not usable",
            found="a weight that is negative or no number, or all zero",
            expected="numbers of at least 0, one of them above 0",
        )
    return weights
