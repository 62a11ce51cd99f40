"""Code the boxes of select-all questions: 0 for a blank box of respondents who ticked another.

Who ticked none of the boxes gave no answer: these cells stay blank. Ticks are never changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.raw import RawTable
from tabsoda.schema.codes import CodeBook, is_blank_word
from tabsoda.schema.column import Column, ColumnRole
from tabsoda.schema.schema import Schema
from tabsoda.schema.values import comparable

Mask = NDArray[np.bool_]


def with_coded_boxes(raw: RawTable, schema: Schema, events: EventLog) -> RawTable:
    """Return a table in which boxes are 0 where their question was answered without them.

    Parameters
    ----------
    raw : RawTable
    schema : Schema
        Columns with the same ``select_all`` are one question. Those that are no questions are not
        changed; an answer in them shows that the question was answered.
    events : EventLog
        Receives one event per select-all question.
    """
    for question in dict.fromkeys(column.select_all for column in schema if column.select_all):
        columns = [column for column in schema if column.select_all == question]
        boxes = [column for column in columns if column.role is ColumnRole.QUESTION]
        if not boxes:
            continue
        answered = np.logical_or.reduce([_cells(raw, column)[0] for column in columns])
        coded = []
        for box in boxes:
            _require_zero(box)
            coded.append(_with_zeros(raw.frame[box.name], _cells(raw, box)[1] & answered))
        raw = replace(raw, frame=raw.frame.with_columns(coded))
        events.add(
            "boxes_coded",
            question=question,
            boxes=len(boxes),
            answered=int(answered.sum()),
            blank=int((~answered).sum()),
        )
    return raw


def _cells(raw: RawTable, column: Column) -> tuple[Mask, Mask]:
    """Return which cells of a column hold an answer, and which are blank; codes are neither."""
    data = comparable(raw.frame[column.name])
    levels, special = CodeBook(column.levels), CodeBook(column.special_codes)
    blanks: list[Any] = []
    codes: list[Any] = []
    for value in data.drop_nulls().unique().to_list():
        is_code = special.find(value) is not None
        if is_blank_word(value) and levels.find(value) is None and not (is_code and value.strip()):
            blanks.append(value)
        elif is_code and not levels.spells(value):
            codes.append(value)
    blank = data.is_null().to_numpy() | _is_among(data, blanks)
    answered = ~blank & ~_is_among(data, codes)
    tags = raw.tags.get(column.name)
    if tags is not None:
        blank &= np.array([tag is None for tag in tags])
    return answered, blank


def _is_among(data: pl.Series, values: list[Any]) -> Mask:
    found = data.is_in(pl.Series(values, dtype=data.dtype).implode())
    return found.fill_null(value=False).to_numpy()


def _require_zero(box: Column) -> None:
    if box.is_categorical and CodeBook(box.levels).find(0) is None:
        raise InputError(
            "is a box of a select-all question, but its levels lack 0",
            column=box.name,
            found=", ".join(map(repr, box.levels)),
            expected="0 for a box that is not ticked, and the code of a ticked one",
            next_step="Add 0 to its levels, or leave out select_all",
        )


def _with_zeros(series: pl.Series, cells: Mask) -> pl.Series:
    """Return a series with 0 in some cells, of the same type where the type has a 0."""
    if not cells.any():
        return series
    if series.dtype == pl.Categorical or isinstance(series.dtype, pl.Enum):
        series = series.cast(pl.String)
    elif series.dtype == pl.Null:
        series = series.cast(pl.Int64)
    zero = {pl.String: "0", pl.Boolean: False}.get(series.dtype.base_type(), 0)
    filled = pl.when(pl.Series(cells)).then(pl.lit(zero, dtype=series.dtype)).otherwise(series)
    return pl.select(filled.alias(series.name)).to_series()
