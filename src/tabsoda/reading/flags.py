"""What a person should look at before trusting a description: one event a finding."""

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
# Distinct numbers looked at; codes of "no answer" lie at the ends.
_ENDS = 40


def flag_columns(table: CodedTable, events: EventLog) -> None:
    """Log blank, constant, id-like and many-levelled columns, and suspicious codes."""
    for position, column in enumerate(table.columns):
        answers = table.values[:, position]
        answers = answers[~np.isnan(answers)]
        distinct, counts = np.unique(answers, return_counts=True)
        for decision, detail in _findings(column, answers.size, distinct, counts):
            events.add("describe", decision, column=column.name, detail=detail)


def flag_roles(frame: pl.DataFrame, schema: Schema, events: EventLog) -> None:
    """Log ids that occur more than once, and weights that are no numbers."""
    for column in schema:
        if column.name not in frame.columns:
            continue
        given = frame[column.name].drop_nulls()
        if column.role is ColumnRole.ID and given.n_unique() < len(given):
            most = given.value_counts(sort=True).row(0)
            detail = (
                f"{given.n_unique():,} different in {len(given):,} rows; "
                f"{plain(most[0])} occurs {most[1]:,} times"
            )
            events.add("describe", "flag: repeated ids", column=column.name, detail=detail)
        if column.role is ColumnRole.WEIGHT and not given.dtype.is_numeric():
            texts = given.cast(pl.String)
            wrong = texts.filter(texts.cast(pl.Float64, strict=False).is_null())
            if len(wrong):
                detail = f"{len(wrong):,} of {len(given):,} cells, such as {wrong[0]!r}"
                events.add(
                    "describe", "flag: weights are no numbers", column=column.name, detail=detail
                )


def _findings(
    column: Column, n_answers: int, distinct: np.ndarray, counts: np.ndarray
) -> list[tuple[str, str]]:
    if n_answers == 0:
        return [("flag: all blank", "no row holds an answer")]
    found = []
    if distinct.size == 1:
        found.append(("flag: constant", f"{n_answers} equal answers"))
    id_like = distinct.size >= max(_MIN_ANSWERS, _ID_LIKE_SHARE * n_answers)
    if column.is_categorical and id_like:
        detail = f"{distinct.size} levels in {n_answers} answers; give it the role id"
        found.append(("flag: id-like", detail))
    elif column.is_categorical and column.n_levels > MANY_LEVELS:
        detail = (
            f"{column.n_levels} levels; group them, call the column continuous, or give it "
            "another role"
        )
        found.append(("flag: very many levels", detail))
    texts = _texts_among_numbers(column)
    if texts:
        detail = f"{', '.join(map(repr, texts[:5]))}; if it is no answer, list it as a code"
        found.append(("flag: text among numbers", detail))
    suspects = _suspects(column, distinct, counts)
    if suspects:
        detail = f"{', '.join(suspects)}: no answers? They count as answers"
        found.append(("flag: suspicious codes", detail))
    return found


def _texts_among_numbers(column: Column) -> list[Code]:
    texts = [level for level in column.levels if as_number(level) is None]
    return texts if len(texts) < column.n_levels / 2 else []


def _suspects(column: Column, distinct: np.ndarray, counts: np.ndarray) -> list[str]:
    """Suspicious answers with their counts; a level whose label is an answer is above suspicion."""
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
    return [f"{code} ({count_of[code]}x)" for code in found if code in unlabelled and code != ""]
