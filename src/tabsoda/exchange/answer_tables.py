"""Stacked tables of answers, and stacked reasons why other cells have none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda.exchange.portable import PortableSurvey
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Column
from tabsoda.states.cell_states import REASONS

REASON_NAMES = ("answered", *(reason.value for reason in REASONS))


def answers_long(
    survey: PortableSurvey, numbers: range, index: tuple[str, str], *, codes_as_texts: bool = False
) -> pl.DataFrame:
    """Stack tables with the file's codes as answers, blank where there is no answer.

    Parameters
    ----------
    survey : PortableSurvey
    numbers : range
        Draws; 0 is the observed table.
    index : (str, str)
        Names of the two columns with the number of the table and the row (from 1).
    codes_as_texts : bool
        Write every code of a categorical question as a text, also numbers.
    """
    frame = survey.survey.frame
    columns = _index_columns(survey.n_rows, numbers, index)
    by_name = {question.column.name: question for question in survey.questions}
    values = [survey.values(number) for number in numbers]
    for name in frame.columns:
        question = by_name.get(name)
        if question is None:
            new = survey.others[name]
            columns.append(pl.concat([frame[name]] * len(numbers)).rename(new))
            continue
        stacked = np.concatenate([table[:, question.position] for table in values])
        if codes_as_texts and question.column.is_categorical:
            series = _at([str(plain(c)) for c in question.column.levels], stacked)
        else:
            series = _decoded(question.column, stacked, frame.schema[name])
        columns.append(series.rename(question.name))
    return pl.DataFrame(columns)


def reasons_long(survey: PortableSurvey, numbers: range, index: tuple[str, str]) -> pl.DataFrame:
    """Stack, for the same rows, the reason why each cell has no answer."""
    columns = _index_columns(survey.n_rows, numbers, index)
    kinds = pl.Enum(REASON_NAMES)
    tables = [survey.reasons(number) for number in numbers]
    for question in survey.questions:
        codes = pl.Series(np.concatenate([table[:, question.position] for table in tables]))
        columns.append(
            codes.replace_strict(
                list(range(len(REASON_NAMES))), list(REASON_NAMES), return_dtype=kinds
            ).rename(question.name)
        )
    return pl.DataFrame(columns)


def _index_columns(n_rows: int, numbers: range, index: tuple[str, str]) -> list[pl.Series]:
    return [
        pl.Series(index[0], np.repeat(np.array(numbers, dtype=np.int32), n_rows)),
        pl.Series(index[1], np.tile(np.arange(1, n_rows + 1, dtype=np.int64), len(numbers))),
    ]


def _at(levels: Sequence[str | float], values: NDArray[np.float64]) -> pl.Series:
    """Return the levels of coded values; null where they are blank."""
    places = pl.Series(np.where(np.isnan(values), -1, values).astype(np.int64))
    kind = pl.String if levels and isinstance(levels[0], str) else pl.Float64
    return pl.Series(levels, dtype=kind).gather(places.set(places < 0, None))


def _decoded(column: Column, values: NDArray[np.float64], stored: pl.DataType) -> pl.Series:
    """Return coded values as the file's codes: texts if a level is a text, otherwise numbers."""
    if not column.is_categorical:
        series = pl.Series(values).fill_nan(None)
    else:
        texts = any(isinstance(level, str) for level in column.levels)
        series = _at([str(c) if texts else float(c) for c in column.levels], values)
    if stored.is_temporal():
        return series.cast(pl.Int64).cast(stored)
    known = series.drop_nulls()
    is_whole = series.dtype == pl.Float64 and bool((known == known.round()).all())
    # Whole numbers that are exact as floats are written without a decimal point.
    return series.cast(pl.Int64) if is_whole and not (known.abs() >= 2**53).any() else series
