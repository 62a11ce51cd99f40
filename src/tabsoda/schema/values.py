"""Convert a column's values to plain numbers or texts."""

from __future__ import annotations

import polars as pl

from tabsoda.errors import InputError


def comparable(series: pl.Series) -> pl.Series:
    """Return a series as numbers or texts: categories as texts, dates as days, NaN as null.

    Examples
    --------
    >>> comparable(pl.Series(["b"], dtype=pl.Enum(["a", "b"]))).to_list()
    ['b']
    """
    kind = series.dtype
    if kind in (pl.Categorical,) or isinstance(kind, pl.Enum):
        return series.cast(pl.String)
    if kind == pl.Boolean:
        return series.cast(pl.Int8)
    if kind.is_temporal():
        return series.to_physical().cast(pl.Float64)
    if kind.is_float():
        return series.fill_nan(None)
    if kind.is_integer() or kind == pl.String:
        return series
    if kind.is_decimal():
        return series.cast(pl.Float64)
    if kind == pl.Null:
        return series.cast(pl.Float64)
    raise InputError(
        "has a type that cannot hold answers",
        column=series.name,
        found=str(kind),
        expected="numbers, texts, categories, dates or booleans",
        next_step="Convert the column, or leave it out of the survey description",
    )
