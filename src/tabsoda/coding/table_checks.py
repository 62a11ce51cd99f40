"""Checks of a table before it is fitted or imputed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.schema.column import Column
from tabsoda.table import CodedTable

# The squares of larger numbers, summed over many rows, overflow.
_LARGEST = 1e100


def check_table(table: CodedTable) -> None:
    """Raise if the table is too small to fit, or a number is too large."""
    n_rows, n_columns = table.shape
    if n_rows < 2 or n_columns < 1:
        raise InputError(
            "The table is too small to fit a model",
            # scikit-learn's checks expect the words in brackets.
            found=f"{n_rows} rows (n_samples={n_rows}) and {n_columns} columns",
            expected="at least 2 rows and 1 column",
        )
    if not table.states.answered.any():
        raise InputError(
            "The table has no answered cell",
            next_step="Check that not every value is declared as a missing code",
        )
    with np.errstate(invalid="ignore"):
        huge = (np.abs(table.values) > _LARGEST).any(axis=0)
    if huge.any():
        position = int(np.flatnonzero(huge)[0])
        largest = float(np.nanmax(np.abs(table.values[:, position])))
        raise InputError(
            "contains a number that is too large",
            column=table.names[position],
            found=f"{largest:g} or its negative",
            expected=f"numbers of at most {_LARGEST:g}",
            next_step="Use larger units for the column, or list the number as a missing code",
        )


def check_columns(fitted: tuple[Column, ...], table: CodedTable) -> None:
    """Raise if a table's columns are not those that a model was fitted on."""
    for mine, theirs in zip(fitted, table.columns, strict=False):
        if (mine.name, mine.kind, mine.levels) != (theirs.name, theirs.kind, theirs.levels):
            raise InputError(
                "differs from the column the model was fitted on",
                column=theirs.name,
                found=f"{theirs.kind} with {theirs.n_levels} levels",
                expected=f"'{mine.name}', {mine.kind} with {mine.n_levels} levels",
                next_step="Use the same description for the new table as for the fit",
            )
    if len(fitted) != len(table.columns):
        raise InputError(
            "The table does not have the same number of columns as the model",
            found=str(len(table.columns)),
            expected=str(len(fitted)),
        )


def checked_weights(weights: Any, table: CodedTable) -> NDArray[np.float64]:
    """Return the weights of the rows; raise if they are invalid."""
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "The sample weights are invalid",
            found=str(error),
            expected="numbers of at least 0, one of them above 0",
        ) from error
    if weights.shape != (table.shape[0],):
        raise InputError(
            "The sample weights do not match the table",
            found=f"shape {weights.shape}",
            expected=f"one weight for each of {table.shape[0]} rows",
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(
            "The sample weights are invalid",
            found="a weight that is negative or not a number, or only zeros",
            expected="numbers of at least 0, one of them above 0",
        )
    return weights
