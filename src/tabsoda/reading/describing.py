"""Combine a survey description with the metadata of the file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.raw import RawTable
from tabsoda.schema.codes import CodeBook, is_blank_word, plain
from tabsoda.schema.column import GUESS, Code, Column, ColumnKind, ColumnRole, Reason
from tabsoda.schema.corrections import EMPTY_CELL
from tabsoda.schema.description import Description, Given
from tabsoda.schema.file_codes import FoundCode, codes_of, log_codes, with_file_meanings
from tabsoda.schema.file_evidence import KIND_OF_MEASURE
from tabsoda.schema.files import load_description
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.inference import propose_schema
from tabsoda.schema.json_form import parse_json_list
from tabsoda.schema.schema import Schema
from tabsoda.schema.select_all import box_labels, box_levels
from tabsoda.schema.special_codes import doubtful_labels, special_codes
from tabsoda.schema.values import comparable


def describe(raw: RawTable, description: Any, events: EventLog) -> Schema:
    """Return the schema of a table: the given one, completed from the file, or a proposal.

    Parameters
    ----------
    raw : RawTable
    description : Schema, Description, path, list of dict or None
    events : EventLog
        Receives one event per decision.
    """
    raw = replace(raw, hints=with_file_meanings({n: raw.hint(n) for n in raw.frame.columns}))
    given = given_description(description)
    base = _proposed(raw, given, events) if given.schema is None else _described(raw, given, events)
    if given.corrections:
        base = given.corrected(
            base,
            tuple(raw.frame.columns),
            lambda: propose_schema(raw.frame.drop(raw.divided), raw.hints, raw.tags),
            lambda name: _distinct(raw, name),
            events,
        )
    for name in raw.frame.columns:
        if name not in base and name not in raw.divided:
            events.add("column_not_described", column=name)
    return given.constrained(base)


def _proposed(raw: RawTable, given: Description, events: EventLog) -> Schema:
    """Guess every column, and log each guess, except what a person has given."""
    schema = propose_schema(raw.frame.drop(raw.divided), raw.hints, raw.tags)
    for column in schema:
        own, hints = given.given_for(column.name), raw.hint(column.name)
        _log_guess(column, hints, own, events)
        if column.role is not ColumnRole.QUESTION and not own.role:
            events.add("role_guessed", column=column.name, role=column.role, note=_why(column))
        _log_doubts(column, hints, own, events)
    codes = (code for column in schema for code in codes_of(column))
    log_codes(_not_given(codes, given), events, declared=False)
    return schema


def _not_given(codes: Iterable[FoundCode], given: Description) -> list[FoundCode]:
    """Drop the codes whose meaning a person has given."""
    return [one for one in codes if not given.given_for(one.column).names(one.code)]


def _described(raw: RawTable, given: Description, events: EventLog) -> Schema:
    """Check that the described columns exist, and fill gaps from the file."""
    schema = given.constrained(given.schema or Schema(())).without_derived(raw.frame.columns)
    absent = [name for name in schema.names if name not in raw.frame.columns]
    if absent:
        raise InputError(
            "is described but not in the data",
            column=absent[0],
            found=f"{len(absent)} such columns; the data has {_some(raw.frame.columns)}",
            expected="a description of the columns in the data",
            next_step="Remove it from the survey description, or check that it describes this "
            "survey; a fitted model includes the description of the survey it was fitted to",
        )
    applied: list[FoundCode] = []
    completed = Schema(tuple(_completed(column, raw, applied, events) for column in schema))
    log_codes(_not_given(applied, given), events, declared=True)
    return completed


def given_description(description: Any) -> Description:
    """Return what a person gave as a description: a schema, a file, a list, or nothing."""
    if description is None:
        return Description(None)
    if isinstance(description, Description):
        return description
    if isinstance(description, Schema):
        return Description(description)
    if isinstance(description, str | Path):
        return load_description(description)
    return Description(parse_json_list(description))


def _distinct(raw: RawTable, name: str) -> tuple[Code, ...]:
    """Return the distinct values of a column, including missing letters and "."."""
    series = comparable(raw.frame[name])
    values: list[Code] = [plain(value) for value in series.drop_nulls().unique().sort().to_list()]
    tags = raw.tags.get(name)
    letters = [] if tags is None else sorted({tag for tag in tags if tag is not None})
    n_lettered = 0 if tags is None else sum(tag is not None for tag in tags)
    empty = [EMPTY_CELL] if series.null_count() > n_lettered else []
    return (*values, *letters, *empty)


def _some(names: list[str]) -> str:
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more" if more > 0 else "")


def _completed(column: Column, raw: RawTable, applied: list[FoundCode], events: EventLog) -> Column:
    """Fill gaps of a described column from the file; the description has priority.

    Codes that are added go into ``applied``.
    """
    hints = raw.hint(column.name)
    book = CodeBook((*column.levels, *column.special_codes, *column.level_labels))
    labels = {c: text for c, text in hints.level_labels.items() if book.find(c) is None}
    own = CodeBook(column.level_labels)
    matched = {
        code: text
        for c, text in hints.level_labels.items()
        if (code := book.find(c)) is not None and own.find(c) is None
    }
    column = replace(
        column,
        label=column.label or hints.label,
        level_labels={**labels, **matched, **column.level_labels},
        universe=column.universe or hints.universe,
    )
    if column.role is not ColumnRole.QUESTION:
        return column
    before = column.special_codes
    column = _with_file_codes(column, raw, hints, events)
    applied += [found for found in codes_of(column) if found.code not in before]
    return _with_levels(column, raw.frame[column.name], hints, events)


def _with_file_codes(column: Column, raw: RawTable, hints: ColumnHints, events: EventLog) -> Column:
    """Add the file's own user-missing codes that the description leaves out."""
    tags = raw.tags.get(column.name)
    values: list[object] = sorted({t for t in tags if t is not None}) if tags is not None else []
    if hints.missing_ranges:
        distinct = comparable(raw.frame[column.name]).drop_nulls().unique().to_list()
        values += [value for value in distinct if hints.is_missing(value)]
    levels, known = CodeBook(column.levels), CodeBook(column.special_codes)
    letters = {str(code).lower() for code in column.special_codes}
    added = {}
    for code, reason in special_codes(values, hints).items():
        declared_missing = hints.is_missing(code) or code in values
        if known.find(code) is not None or str(code) in letters or not declared_missing:
            continue
        if levels.find(code) is not None:
            events.add("code_kept_as_answer", column=column.name, code=str(code))
            continue
        added[code] = reason
    return replace(column, special_codes={**column.special_codes, **added}) if added else column


def _with_levels(column: Column, series: pl.Series, hints: ColumnHints, events: EventLog) -> Column:
    if not column.is_categorical or column.levels:
        return column
    if column.kind is ColumnKind.ORDINAL:
        if not hints.order:
            raise InputError(
                "is ordinal without an order",
                column=column.name,
                found="no levels",
                expected="the levels, from one end to the other",
                next_step="List them in the survey description, or call the column nominal",
            )
        events.add("levels_taken_from_type", column=column.name)
        return replace(column, levels=hints.order)
    special = CodeBook(column.special_codes)
    found = comparable(series).drop_nulls().unique().sort().to_list()
    levels = tuple(
        plain(value) for value in found if special.find(value) is None and not is_blank_word(value)
    )
    if column.select_all:
        levels = box_levels(levels, column.name)
        column = replace(column, level_labels=box_labels(levels, column.level_labels))
    events.add("levels_taken_from_data", column=column.name, levels=len(levels))
    return replace(column, levels=levels)


def _log_guess(column: Column, hints: ColumnHints, given: Given, events: EventLog) -> None:
    """Log the guess for a column, its confidence, and any disagreement with the file."""
    is_question = column.role is ColumnRole.QUESTION
    role = None if is_question else column.role.value
    confidence = column.confidence if is_question else None
    if column.is_guess:
        events.add(
            "column_guessed",
            column=column.name,
            role=role,
            taken_as=column.kind.value,
            confidence=confidence,
            note=_why(column),
        )
    else:
        events.add(
            "column_described",
            column=column.name,
            role=role,
            taken_as=column.kind.value,
            confidence=confidence,
            note=column.note,
        )
    declared = KIND_OF_MEASURE.get(hints.measure, column.kind)
    if declared is not column.kind and is_question and not given.kind:
        events.add(
            "declared_kind_not_used",
            column=column.name,
            declared=hints.measure,
            taken_as=column.kind.value,
            note=_why(column),
        )


def _why(column: Column) -> str:
    """Return the note of a guess without the word that marks it as one."""
    return column.note.removeprefix(GUESS)


def _log_doubts(column: Column, hints: ColumnHints, given: Given, events: EventLog) -> None:
    if column.role is not ColumnRole.QUESTION:
        return
    found = doubtful_labels(hints).items()
    doubtful = {code: why for code, why in found if not given.names(code)}
    if doubtful:
        events.add(
            "label_may_mean_no_answer",
            column=column.name,
            codes=[str(code) for code in doubtful],
            labels=[hints.level_labels[code] for code in doubtful],
            reasons=[(why or Reason.SKIP).value for why in doubtful.values()],
        )
