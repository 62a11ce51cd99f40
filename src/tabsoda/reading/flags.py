"""Flag columns that a person should check before using a description."""

from __future__ import annotations

import numpy as np
import polars as pl

from tabsoda.events import EventLog
from tabsoda.schema.codes import CodeBook, as_number, plain
from tabsoda.schema.column import Code, Column, ColumnRole
from tabsoda.schema.schema import Schema
from tabsoda.schema.suspicion import suspicious_codes
from tabsoda.table import CodedTable

MANY_LEVELS = 100
_ID_LIKE_SHARE = 0.95
_MIN_ANSWERS = 20
# Distinct numbers examined at each end, where missing codes usually are.
_ENDS = 40
_TEXTS_SHOWN = 5


def flag_columns(table: CodedTable, events: EventLog) -> None:
    """Log blank, constant, id-like and many-levelled columns, and suspicious codes."""
    for position, column in enumerate(table.columns):
        answers = table.values[:, position]
        answers = answers[~np.isnan(answers)]
        distinct, counts = np.unique(answers, return_counts=True)
        if answers.size:
            _flag_answers(column, distinct, counts, events)
        else:
            events.add("column_all_blank", column=column.name)


def flag_roles(frame: pl.DataFrame, schema: Schema, events: EventLog) -> None:
    """Log ids that occur more than once, and weights that are not numbers."""
    for column in schema:
        if column.name not in frame.columns:
            continue
        given = frame[column.name].drop_nulls()
        if column.role is ColumnRole.ID and given.n_unique() < len(given):
            value, times = given.value_counts(sort=True).row(0)
            events.add(
                "repeated_ids",
                column=column.name,
                different=given.n_unique(),
                rows=len(given),
                example=str(plain(value)),
                times=times,
            )
        if column.role is ColumnRole.WEIGHT and not given.dtype.is_numeric():
            texts = given.cast(pl.String)
            wrong = texts.filter(texts.cast(pl.Float64, strict=False).is_null())
            if len(wrong):
                events.add(
                    "weights_not_numeric",
                    column=column.name,
                    cells=len(wrong),
                    of_cells=len(given),
                    example=wrong[0],
                )


def _flag_answers(
    column: Column, distinct: np.ndarray, counts: np.ndarray, events: EventLog
) -> None:
    name, answers = column.name, int(counts.sum())
    if distinct.size == 1:
        events.add("column_constant", column=name, answers=answers)
    id_like = distinct.size >= max(_MIN_ANSWERS, _ID_LIKE_SHARE * answers)
    if column.is_categorical and id_like:
        events.add("column_id_like", column=name, levels=distinct.size, answers=answers)
    elif column.is_categorical and column.n_levels > MANY_LEVELS:
        events.add("column_with_very_many_levels", column=name, levels=column.n_levels)
    texts = _texts_among_numbers(column)
    if texts:
        shown = [str(text) for text in texts[:_TEXTS_SHOWN]]
        events.add("text_among_numbers", column=name, texts=shown)
    suspects = _suspects(column, distinct, counts)
    if suspects:
        codes = [str(code) for code in suspects]
        events.add("suspicious_codes", column=name, codes=codes, answers=list(suspects.values()))


def _texts_among_numbers(column: Column) -> list[Code]:
    texts = [level for level in column.levels if as_number(level) is None]
    return texts if len(texts) < column.n_levels / 2 else []


def _suspects(column: Column, distinct: np.ndarray, counts: np.ndarray) -> dict[Code, int]:
    """Suspicious answers with their counts; levels whose label is an answer are excluded."""
    count_of: dict[Code, int] = {}
    if column.is_categorical:
        for value, count in zip(distinct.astype(int), counts, strict=True):
            count_of[column.levels[value]] = int(count)
        unlabelled = {level for level in column.levels if not column.level_labels.get(level)}
    else:
        ends = np.unique(np.r_[: min(_ENDS, distinct.size), -min(_ENDS, distinct.size) : 0])
        for index in ends:
            count_of[plain(float(distinct[index]))] = int(counts[index])
        unlabelled = set(count_of)
    book = CodeBook(count_of)
    shares = {
        number: count / counts.sum()
        for code, count in count_of.items()
        if (number := as_number(code)) is not None
    }
    found = (book.find(code) for code in suspicious_codes(count_of, shares))
    return {
        code: count_of[code]
        for code in found
        if code is not None and code in unlabelled and code != ""
    }
