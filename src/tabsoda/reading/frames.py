"""Read data frames as polars, and convert results back to the user's kind of frame."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from tabsoda.errors import InputError
from tabsoda.reading.raw import RawTable, refuse_repeated_names
from tabsoda.schema.codes import plain
from tabsoda.schema.hints import ColumnHints

# Unordered categories are names, even if they are numbers.
_UNORDERED = ColumnHints(measure="nominal", is_category=True)


def to_polars(frame: Any) -> pl.DataFrame:
    """Convert any data frame to polars; categories become their plain values.

    Examples
    --------
    >>> to_polars(pl.DataFrame({"a": [1, 2]})).shape
    (2, 1)
    """
    return read_frame(frame).frame


def read_frame(frame: Any) -> RawTable:
    """Read a pandas, polars, pyarrow or other frame; the order of categories becomes a hint."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return _from_pandas(frame)
    if isinstance(frame, pl.DataFrame):
        table = frame
    elif isinstance(frame, pl.LazyFrame):
        table = frame.collect()
    elif nw.dependencies.is_pyarrow_table(frame):
        refuse_repeated_names(list(frame.column_names), "")
        table = pl.DataFrame(pl.from_arrow(frame))
    else:
        try:
            narwhals_frame = nw.from_native(frame)
        except TypeError as error:
            raise InputError(
                "The source is neither a path nor a data frame",
                found=type(frame).__name__,
                expected="a path, or a pandas, polars or pyarrow table",
            ) from error
        lazy = narwhals_frame.lazy()
        table = lazy.collect("polars").to_native()
    _refuse_infinities(table)
    hints = {
        column.name: ColumnHints(order=tuple(column.dtype.categories.to_list()))
        for column in table
        if isinstance(column.dtype, pl.Enum)
    }
    hints |= {c.name: _UNORDERED for c in table if c.dtype == pl.Categorical}
    return RawTable(table, hints)


def _from_pandas(frame: Any) -> RawTable:
    names = [str(name) for name in frame.columns]
    refuse_repeated_names(names, "")
    series = []
    hints: dict[str, ColumnHints] = {}
    for position, name in enumerate(names):
        column = frame.iloc[:, position]
        categories = getattr(column.dtype, "categories", None)
        if categories is not None and hasattr(column.dtype, "ordered"):
            # Intervals and other unusual categories are represented by their text.
            levels = [c if isinstance(c, int | float | str) else str(c) for c in categories]
            values = [None if code < 0 else levels[code] for code in column.cat.codes]
            series.append(pl.Series(name, values, strict=False))
            hints[name] = _UNORDERED
            if column.dtype.ordered:
                hints[name] = ColumnHints(order=tuple(plain(level) for level in levels))
        else:
            series.append(_pandas_series(name, column))
    table = pl.DataFrame(series)
    _refuse_infinities(table)
    return RawTable(table, hints)


def _refuse_infinities(table: pl.DataFrame) -> None:
    """Raise if a number is infinite; otherwise the whole column would be guessed as texts."""
    for column in table:
        if column.dtype.is_float() and column.is_infinite().any():
            raise InputError(
                "contains an answer that is not a finite number",
                column=column.name,
                found=f"{column.is_infinite().sum()} infinite cells",
                expected="finite numbers, or a blank",
                next_step="Replace infinities by a blank or by a number",
            )


def _pandas_series(name: str, column: Any) -> pl.Series:
    kind = column.to_numpy().dtype.kind
    if kind in "iufbM":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = [
        None if missing else value for value, missing in zip(column, column.isna(), strict=True)
    ]
    types = {type(value) for value in values if value is not None}
    if str in types and len(types) > 1:
        # An object column with texts among numbers: all become texts, as in a file.
        values = [None if value is None else _as_text(value) for value in values]
    return pl.Series(name, values, strict=False)


def _as_text(value: Any) -> str:
    """Write a value as in a file, so that 1.0 and "1" are the same answer."""
    return str(value) if isinstance(value, bool) else str(plain(value))


def like_input(table: pl.DataFrame, original: Any) -> Any:
    """Return a polars table as the kind of frame the user gave, with its index and types.

    Parameters
    ----------
    table : polars.DataFrame
        The columns of ``original``, or some of them, with its rows in order.
    original : frame
        What was read.

    Returns
    -------
    frame
        pandas with the index, dtypes and category orders of ``original``; polars with its dtypes;
        pyarrow with its types; for any other library a polars frame.

    Examples
    --------
    >>> original = pl.DataFrame({"a": [1, None]}, schema={"a": pl.Int8})
    >>> like_input(pl.DataFrame({"a": [1, 2]}), original)["a"].dtype
    Int8
    """
    if nw.dependencies.is_pandas_dataframe(original):
        return _to_pandas(table, original)
    if isinstance(original, pl.DataFrame | pl.LazyFrame):
        types = original.collect_schema()
        return table.cast(
            {
                c.name: types[c.name]
                for c in table
                if c.name in types and not _widened(c, types[c.name])
            }
        )
    if nw.dependencies.is_pyarrow_table(original):
        known = [name for name in table.columns if name in original.schema.names]
        arrow = table.to_arrow()
        read_types = pl.DataFrame(pl.from_arrow(original.schema.empty_table())).schema
        for name in known:
            position = arrow.schema.get_field_index(name)
            wanted = original.schema.field(name)
            if _widened(table[name], read_types[name]):
                continue
            arrow = arrow.set_column(position, wanted, arrow.column(name).cast(wanted.type))
        return arrow
    return table


def _widened(series: pl.Series, original: pl.DataType) -> bool:
    """Whether a column had to change its type to hold imputed values; casting back would fail.

    Integers become floats; an all-blank column, texts or numbers; categories, texts.
    """
    if series.dtype == pl.String:
        return original.is_numeric() or original == pl.Null or isinstance(original, pl.Enum)
    return original == pl.Null or (series.dtype.is_float() and original.is_integer())


def _to_pandas(table: pl.DataFrame, original: Any) -> Any:
    import pandas as pd

    by_name = {str(name): name for name in original.columns}
    columns = {}
    for series in table:
        values = series.to_list()
        name = by_name.get(series.name, series.name)
        if series.name not in by_name:
            columns[name] = pd.Series(values, index=original.index)
            continue
        dtype = original[name].dtype
        if isinstance(dtype, pd.CategoricalDtype):
            texts = {str(c): c for c in dtype.categories}
            known = [v if v is None or v in dtype.categories else texts.get(str(v)) for v in values]
            whole = all((a is None) == (b is None) for a, b in zip(known, values, strict=True))
            # A value outside the categories, such as a number between them, is kept.
            kept = pd.Categorical(known, dtype=dtype) if whole else values
            columns[name] = pd.Series(kept, index=original.index)
        elif dtype.kind in "iufb" and series.dtype == pl.String:
            # All blank in the input, and therefore read as numbers.
            columns[name] = pd.Series(values, index=original.index)
        elif dtype.kind in "iu" and any(v is not None and v != round(v) for v in values):
            nullable = pd.api.types.is_extension_array_dtype(dtype)
            wide = "Float64" if nullable else "float64"
            columns[name] = pd.Series(values, index=original.index, dtype=wide)
        elif (
            dtype.kind in "iub"
            and series.null_count()
            and not pd.api.types.is_extension_array_dtype(dtype)
        ):
            columns[name] = pd.Series(values, index=original.index, dtype="float64")
        else:
            columns[name] = pd.Series(values, index=original.index, dtype=dtype)
    result = pd.DataFrame(columns, index=original.index)
    result.columns.name = original.columns.name
    result.attrs.update(original.attrs)
    return result
