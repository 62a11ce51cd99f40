"""Convert frames between polars and pandas, keeping types."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from tabsoda.reading.frames import to_polars

# Every polars type is nullable; these are the nullable pandas types.
_NULLABLE: dict[Any, str] = {
    **{dtype: str(dtype) for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64)},
    **{dtype: str(dtype) for dtype in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)},
    pl.Boolean: "boolean",
    pl.String: "string",
}


def in_library(table: Any, wanted: str) -> Any:
    """Convert a frame to another library; unchanged if it is of that library already.

    Parameters
    ----------
    table : polars, pandas or pyarrow frame
    wanted : {"polars", "pandas"}

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        An ordered Categorical of texts becomes an Enum and vice versa; integers, booleans and
        texts stay what they are and may be null.

    Examples
    --------
    >>> frame = pl.DataFrame({"n": [1, None], "mood": ["good", "bad"]},
    ...                      schema={"n": pl.Int16, "mood": pl.Enum(["bad", "good"])})
    >>> in_library(frame, "pandas")["n"].dtype
    Int16Dtype()
    >>> in_library(in_library(frame, "pandas"), "polars").equals(frame)
    True
    """
    is_pandas = nw.dependencies.is_pandas_dataframe(table)
    if wanted == "pandas":
        return table if is_pandas else _to_pandas(to_polars(table))
    return _from_pandas(table) if is_pandas else to_polars(table)


def _from_pandas(frame: Any) -> pl.DataFrame:
    plain = to_polars(frame)
    columns = [frame.iloc[:, position] for position in range(plain.width)]
    return plain.with_columns(
        _typed(series, column) for series, column in zip(plain, columns, strict=True)
    )


def _typed(plain: pl.Series, column: Any) -> pl.Series:
    """Return a column with its own type; ``plain`` contains its values as categories."""
    categories = getattr(column.dtype, "categories", None)
    if categories is not None and hasattr(column.dtype, "ordered"):
        if not all(isinstance(category, str) for category in categories):
            return plain
        return plain.cast(pl.Enum(list(categories)) if column.dtype.ordered else pl.Categorical)
    # An object column may hold anything; use the type that was read.
    return plain if column.dtype == object else pl.Series(plain.name, pl.from_pandas(column))


def _to_pandas(table: pl.DataFrame) -> Any:
    import pandas as pd

    result = table.to_pandas()
    for series in table:
        if isinstance(series.dtype, pl.Enum):
            order = pd.CategoricalDtype(series.dtype.categories.to_list(), ordered=True)
            result[series.name] = pd.Categorical(series.to_list(), dtype=order)
        elif series.dtype in _NULLABLE:
            result[series.name] = pd.array(series.to_list(), dtype=_NULLABLE[series.dtype])
    return result
