"""Converts coded values back to a table of the same kind as the input.

Only cells that were missing and are now filled, or skipped in a draw, are changed. Answers are
returned bit for bit, skips keep their code or blank, and columns that are not questions stay as
they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Column, Reason
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    import polars as pl


def restore(
    values: NDArray[np.float64],
    table: CodedTable,
    survey: Survey | None,
    skipped: NDArray[np.bool_] | None = None,
) -> Any:
    """Write coded values into the table they came from.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
    table : CodedTable
    survey : Survey or None
    skipped : ndarray of bool, shape (n_rows, n_columns), optional
        Missing cells skipped because of a drawn gate; they get the column's skip code or a blank.

    Returns
    -------
    polars.DataFrame, or ndarray of float64 if ``survey`` is None
    """
    if survey is None:
        return _restore_array(values, table)
    filled = table.states.missing & ~np.isnan(values)
    frame = survey.frame
    if skipped is not None:
        frame = frame.with_columns(
            _skip(frame[column.name], column, skipped[:, position])
            for position, column in enumerate(table.columns)
            if skipped[:, position].any()
        )
    return frame.with_columns(
        _fill(frame[column.name], column, values[:, position], filled[:, position])
        for position, column in enumerate(table.columns)
        if filled[:, position].any()
    )


def _restore_array(values: NDArray[np.float64], table: CodedTable) -> NDArray[np.float64]:
    """Return an array with the original codes; levels of array columns are numbers."""
    result = values.copy()
    for position, column in enumerate(table.columns):
        if column.is_categorical:
            known = ~np.isnan(values[:, position])
            codes = np.asarray(column.levels, dtype=np.float64)
            result[known, position] = codes[values[known, position].astype(np.int64)]
    return result


def _skip(series: pl.Series, column: Column, skipped: NDArray[np.bool_]) -> pl.Series:
    """Write skips as in the file: by their code, or as blanks if there is no code."""
    import polars as pl

    code = next((c for c, why in column.special_codes.items() if why is Reason.SKIP), None)
    if series.dtype == pl.String:
        code = None if code is None else str(code)
    elif isinstance(code, str):
        # A letter of Stata or SAS: such cells are null in the frame.
        code = None
    codes = [code] * int(skipped.sum())
    series = _able_to_hold(series, codes)
    new = pl.Series(series.name, codes, dtype=series.dtype, strict=False)
    return _scatter(series, np.flatnonzero(skipped), new)


def _fill(
    series: pl.Series, column: Column, values: NDArray[np.float64], filled: NDArray[np.bool_]
) -> pl.Series:
    import polars as pl

    codes: list[Any]
    if column.is_categorical:
        codes = [column.levels[int(value)] for value in values[filled]]
        if series.dtype in (pl.String, pl.Categorical) or isinstance(series.dtype, pl.Enum):
            codes = [str(code) for code in codes]
        elif series.dtype == pl.Boolean:
            codes = [bool(code) for code in codes]
    else:
        codes = values[filled].tolist()
        if isinstance(series.dtype, pl.Enum):
            # A number between two categories is not a category.
            series = series.cast(pl.String)
        if series.dtype in (pl.String, pl.Categorical):
            codes = [_number_text(code) for code in codes]
        elif series.dtype.is_integer() and any(code != round(code) for code in codes):
            series = series.cast(pl.Float64)
    series = _able_to_hold(series, codes)
    # strict=False lets an integer code enter a float column and the other way round.
    new = pl.Series(series.name, codes, strict=False).cast(series.dtype)
    return _scatter(series, np.flatnonzero(filled), new)


def _number_text(number: float) -> str:
    """Format a number as in a text file: whole numbers without a fraction."""
    return str(int(number)) if number.is_integer() else str(number)


def _able_to_hold(series: pl.Series, codes: list[Any]) -> pl.Series:
    """Return the series; an entirely blank one is converted to the type of the codes."""
    import polars as pl

    if series.null_count() < len(series):
        return series
    given = pl.Series(codes, strict=False).dtype
    is_other = series.dtype.is_numeric() and given == pl.String
    return series.cast(given) if series.dtype == pl.Null or is_other else series


def _scatter(series: pl.Series, rows: NDArray[np.intp], new: pl.Series) -> pl.Series:
    """Return the series with some rows replaced, whatever its type."""
    import polars as pl

    where = np.full(len(series), -1, dtype=np.int64)
    where[rows] = np.arange(len(rows))
    source = pl.concat([series, new])
    take = np.where(where >= 0, len(series) + where, np.arange(len(series)))
    return source.gather(take)
