"""CSV: all tables in one file, with the description and the reasons in separate files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tabsoda.events import EventLog
from tabsoda.exchange.answer_tables import answers_long, reasons_long
from tabsoda.exchange.names import NameRule
from tabsoda.exchange.portable import PortableSurvey
from tabsoda.exchange.spreadsheet_text import harmless, harmless_frame
from tabsoda.schema.column import Code, Column
from tabsoda.schema.files import save_schema
from tabsoda.schema.schema import Schema

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# Any name is accepted except those of the two index columns.
_NAMES = NameRule("CSV", 1_000_000, first=r"\s\S", others=r"\s\S", ignores_case=False)
INDEX = ("_imputation", "_row")


def write(result: Imputations, folder: Path, events: EventLog) -> None:
    """Write imputations.csv, reasons.csv, skips_in_draws.csv and survey.toml."""
    survey = PortableSurvey.of(result, _NAMES, events, INDEX, keeps_texts=True)
    numbers = range(len(result) + 1)
    long = answers_long(survey, numbers, INDEX)
    harmless_frame(long, events).write_csv(folder / "imputations.csv")
    reasons = reasons_long(survey, range(1), INDEX).drop(INDEX[0])
    harmless_frame(reasons, EventLog()).write_csv(folder / "reasons.csv")
    harmless_frame(_skips_in_draws(survey), EventLog()).write_csv(folder / "skips_in_draws.csv")
    save_schema(written_schema(survey), folder / "survey.toml")


def _skips_in_draws(survey: PortableSurvey) -> pl.DataFrame:
    """List the missing cells that are skipped in a draw."""
    parts = []
    missing = survey.result.table.states.missing
    for number in range(1, len(survey.result) + 1):
        rows, positions = (survey.result.skipped_in(number) & missing).nonzero()
        names = [survey.questions[position].name for position in positions]
        parts.append(
            pl.DataFrame(
                {INDEX[0]: [number] * len(rows), INDEX[1]: rows + 1, "column": names},
                schema={INDEX[0]: pl.Int32, INDEX[1]: pl.Int64, "column": pl.String},
            )
        )
    return pl.concat(parts)


def written_schema(survey: PortableSurvey) -> Schema:
    """Return the description of the columns in the file: quoted, without missing codes."""
    names = {question.column.name: question.name for question in survey.questions} | survey.others
    return Schema(
        tuple(_written(c, names[c.name]) for c in survey.survey.schema if c.name in names)
    )


def _written(column: Column, name: str) -> Column:
    def quoted(code: Code) -> Code:
        return harmless(code) if isinstance(code, str) else code

    return replace(
        column,
        name=harmless(name),
        levels=tuple(quoted(level) for level in column.levels),
        level_labels={
            quoted(code): text
            for code, text in column.level_labels.items()
            if code not in column.special_codes
        },
        special_codes={},
    )
