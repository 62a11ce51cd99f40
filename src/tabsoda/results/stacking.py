"""All completed tables in one long table, as in R's mice, and tables with blanked skips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.errors import InputError
from tabsoda.results.restore import restore

if TYPE_CHECKING:
    import polars as pl

    from tabsoda.results.imputations import Imputations


def long_table(result: Imputations, *, include_observed: bool = False) -> pl.DataFrame:
    """Stack the completed tables, one below the other.

    Parameters
    ----------
    result : Imputations
    include_observed : bool
        Include the observed table first, as number 0.

    Returns
    -------
    polars.DataFrame
        ``.imp`` and ``.id`` (the row, from 1), then the columns as published.
    """
    import polars as pl

    numbers = range(0 if include_observed else 1, len(result) + 1)
    own = None if result.survey is None else {".imp", ".id"} & {*result.survey.frame.columns}
    if own:
        raise InputError(
            "has a name that is reserved in the stacked table",
            column=min(own),
            next_step="Rename the column in the survey",
        )
    tables = []
    for number in numbers:
        table = _frame(_restored(result, number), result.table.names)
        index = [
            pl.lit(number, dtype=pl.Int32).alias(".imp"),
            pl.int_range(1, table.height + 1, dtype=pl.Int64).alias(".id"),
        ]
        tables.append(table.select(*index, pl.all()))
    # Integer columns become floats if a draw has fractional numbers.
    return pl.concat(tables, how="vertical_relaxed") if tables else pl.DataFrame()


def without_codes(result: Imputations, number: int) -> Any:
    """Return a completed table with every cell without an answer blank, also special codes.

    Returns
    -------
    polars.DataFrame, or ndarray of float64 if the input was a plain array
    """
    import polars as pl

    table = _restored(result, number)
    if result.survey is None:
        return table
    blank = np.isnan(result.values(number))
    return table.with_columns(
        pl.when(pl.Series(~blank[:, position])).then(pl.col(name)).otherwise(None).alias(name)
        for position, name in enumerate(result.table.names)
        if blank[:, position].any()
    )


def _restored(result: Imputations, number: int) -> Any:
    """Return draw ``number``, or the observed table for 0, with the survey's own codes."""
    if number == 0:
        return restore(result.table.values, result.table, result.survey)
    skipped = result.skipped_in(number) & result.table.states.missing
    return restore(result.values(number), result.table, result.survey, skipped)


def _frame(table: Any, names: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    if not isinstance(table, np.ndarray):
        return table
    return pl.DataFrame(table, schema=list(names)).with_columns(pl.all().fill_nan(None))
