"""A completed table for formulas: levels as categories, skips as blanks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.analysis.variables import find_variable
from tabsoda.analysis.weights import published_numbers
from tabsoda.errors import InputError
from tabsoda.schema.column import Column, ColumnKind

if TYPE_CHECKING:
    import polars as pl

    from tabsoda.results.imputations import Imputations


def model_frame(result: Imputations, number: int, names: Sequence[str] | None = None) -> Any:
    """Return draw ``number`` (from 1) as a pandas frame.

    Continuous questions, and ordinals whose levels are numbers, are numbers; nominals and
    questions with texts as levels are categories in the order of the description. A skip is
    blank. Ids, weights and design columns are as published, with codes for "no answer" blank.

    Parameters
    ----------
    result : Imputations
    number : int
    names : sequence of str, optional
        The columns to return; all by default.

    Returns
    -------
    pandas.DataFrame
    """
    import pandas as pd

    wanted = None if names is None else set(names)
    columns: dict[str, Any] = {}
    if result.survey is not None:
        questions = set(result.table.names)
        for series in result.survey.frame:
            if series.name not in questions and (wanted is None or series.name in wanted):
                columns[series.name] = _as_published(result, series)
    for column in result.table.columns:
        if wanted is None or column.name in wanted:
            coded = find_variable(result, column.name).coded(number)
            columns[column.name] = _answers(column, coded)
    return pd.DataFrame(columns)


def _as_published(result: Imputations, series: pl.Series) -> Any:
    if series.dtype.is_numeric():
        return published_numbers(result, series.name)
    texts = np.array(series.to_list(), dtype=object)
    texts[np.isnan(find_variable(result, series.name).coded(1))] = None
    return texts


def _answers(column: Column, values: Any) -> Any:
    import pandas as pd

    if not column.is_categorical:
        return values
    texts = any(isinstance(level, str) for level in column.levels)
    codes = np.where(np.isnan(values), -1, values).astype(np.int64)
    if column.kind is ColumnKind.ORDINAL and not texts:
        return np.array([*column.levels, np.nan], dtype=np.float64)[codes]
    used = np.unique(codes[codes >= 0])
    # A level that does not occur would be a term without data.
    levels = pd.Index([column.levels[level] for level in used])
    place = np.full(column.n_levels + 1, -1)
    place[used] = np.arange(len(used))
    return pd.Categorical.from_codes(place[codes], categories=levels)


def require_analysis_extra() -> None:
    """Raise with the command to install statsmodels or pandas if they are missing."""
    from importlib.util import find_spec

    for name in ("statsmodels", "pandas"):
        if find_spec(name) is None:
            raise InputError(
                f"Models need {name}, which is not installed",
                next_step='Install it with: pip install "tabsoda[analysis]"',
            )
