"""Parquet: all tables in one file with the description in its metadata, reasons in another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tabsoda._internal.files import write_parquet
from tabsoda._version import __version__
from tabsoda.events import EventLog
from tabsoda.exchange.answer_tables import answers_long, reasons_long
from tabsoda.exchange.csv_files import INDEX
from tabsoda.exchange.names import NameRule
from tabsoda.exchange.portable import PortableSurvey
from tabsoda.schema.json_form import format_json_list

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

_NAMES = NameRule("Parquet", 1_000_000, first=r"\s\S", others=r"\s\S", ignores_case=False)


def portable(result: Imputations, events: EventLog) -> PortableSurvey:
    """Return the survey with its own names, except those of the index."""
    return PortableSurvey.of(result, _NAMES, events, INDEX, keeps_texts=True)


def write(result: Imputations, folder: Path, events: EventLog) -> None:
    """Write imputations.parquet and reasons.parquet, with the same rows.

    The metadata ``tabsoda.survey`` is the description as JSON, in the form of schema.json.
    """
    survey = portable(result, events)
    numbers = range(len(result) + 1)
    names = {question.column.name: question.name for question in survey.questions} | survey.others
    entries = [
        {**entry, "name": names[entry["name"]]}
        for entry in format_json_list(survey.survey.schema)
        if entry["name"] in names
    ]
    metadata = {
        "tabsoda.version": __version__,
        "tabsoda.survey": json.dumps(entries, ensure_ascii=False),
    }
    long = _with_level_order(answers_long(survey, numbers, INDEX), survey)
    write_parquet(folder / "imputations.parquet", long, metadata=metadata)
    reasons = reasons_long(survey, numbers, INDEX)
    write_parquet(folder / "reasons.parquet", reasons, metadata=metadata)


def _with_level_order(long: pl.DataFrame, survey: PortableSurvey) -> pl.DataFrame:
    """Convert texts to an Enum of their levels, so that Arrow stores their order."""
    texts = [
        question
        for question in survey.questions
        if question.column.is_categorical and long[question.name].dtype == pl.String
    ]
    return long.with_columns(
        pl.col(question.name).cast(pl.Enum([str(level) for level in question.column.levels]))
        for question in texts
    )
