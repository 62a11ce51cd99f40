"""``read_survey``: read and describe a survey, code its values, and set cell states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tabsoda.edits.derived_columns import with_derived
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.boxes import with_coded_boxes
from tabsoda.reading.codebook import read_codebook
from tabsoda.reading.coding import CodedColumn, code_column
from tabsoda.reading.describing import describe, given_description
from tabsoda.reading.files import read_file
from tabsoda.reading.flags import flag_columns, flag_roles
from tabsoda.reading.frames import read_frame
from tabsoda.reading.raw import RawTable
from tabsoda.reading.several_answers import with_split_answers
from tabsoda.reading.skip_masks import load_mask
from tabsoda.schema.column import Column
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.schema import Schema
from tabsoda.states.cell_states import CellStates
from tabsoda.survey import InputFile, Survey
from tabsoda.table import CodedTable

# Values named in one message or event.
_SHOWN = 6
HintsFor = Callable[[Sequence[str]], dict[str, ColumnHints]]
OptionsFor = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]


def read_survey(
    source: Any,
    description: Any = None,
    *,
    codebook: str | Path | HintsFor | None = None,
    skip_mask: Any = None,
    unlisted: str = "error",
    several: Mapping[str, Sequence[str]] | OptionsFor | None = None,
) -> Survey:
    """Read a survey file or a data frame.

    Parameters
    ----------
    source : path or frame
        CSV (any common encoding and delimiter), Parquet, SPSS (.sav, .zsav, .por), Stata (.dta),
        SAS (.sas7bdat, .xpt), Excel (.xlsx, .xls, .ods); or a pandas, polars or pyarrow table.
    description : Schema, path, list of dict or None
        survey.toml, schema.json, or an object in memory. Without one, a proposal is used; see
        ``Survey.events`` and the notes of its columns.
    codebook : path or callable, optional
        DDI-Codebook XML; fills labels, categories, invalid ranges and universe text. Or a function
        that returns the hints for the names of the data's columns.
    skip_mask : path, ndarray or frame, optional
        True where a cell is a structural skip; added to skips known from codes.
    unlisted : {"error", "missing"}
        How to treat a value that the description lists neither as an answer nor as a code.
    several : mapping of str to sequence of str, or callable, optional
        Columns with several answers per cell and their options, such as ``{"drinks": ["beer",
        "wine"]}``; or a function that returns them for the names of the data's columns. Each
        option becomes a column, ``drinks/beer``. Without it and without a description, such
        columns are recognised.

    Returns
    -------
    Survey

    Examples
    --------
    >>> import polars as pl
    >>> survey = read_survey(
    ...     pl.DataFrame({"smoked": [1, 2, 2], "age_first": [14, -1, -9]}),
    ...     [{"name": "smoked", "type": "nominal", "levels": [1, 2]},
    ...      {"name": "age_first", "type": "continuous",
    ...       "skip_codes": [-1], "missing_codes": [-9]}])
    >>> survey.states.states.tolist()
    [[0, 0], [0, 2], [0, 1]]
    """
    if unlisted not in ("error", "missing"):
        raise InputError(
            "Unknown value of unlisted", found=repr(unlisted), expected="'error', 'missing'"
        )
    raw = read_file(Path(source)) if isinstance(source, str | Path) else read_frame(source)
    given = given_description(description)
    options = several(raw.frame.columns) if callable(several) else several or {}
    unknown = [name for name in options if name not in raw.frame.columns]
    if unknown:
        raise InputError(
            "is to be split into its answers, but is not in the data",
            column=unknown[0],
            expected=", ".join(raw.frame.columns[:5]),
        )
    raw = with_split_answers(raw, options, given.schema.names if given.schema else None)
    if not raw.frame.height or not raw.frame.width:
        raise InputError("The table is empty", expected="at least one row and one column")
    events = EventLog(list(raw.events))
    if codebook is not None:
        names = raw.frame.columns
        book = codebook(names) if callable(codebook) else read_codebook(codebook)
        _add_codebook(raw, book, events)
    schema = describe(raw, given, events)
    if not schema.questions:
        raise InputError(
            "The survey has no questions",
            found=f"{len(schema)} columns, none of them a question",
            next_step="Give at least one column the role question",
        )
    raw = with_coded_boxes(raw, schema, events)
    coded = {column.name: _code(column, raw) for column in schema.questions}
    _judge_unlisted(coded, schema, unlisted, events)
    table = _table(schema, coded)
    if skip_mask is not None:
        mask = load_mask(skip_mask, table.names, raw.frame.height, all_names=raw.frame.columns)
        table = table.with_states(table.states.with_skips(table.states.skipped | mask))
        events.add("skips_taken_from_mask", cells=int(mask.sum()))
    flag_columns(table, events)
    flag_roles(raw.frame, schema, events)
    named = {"data": source, "survey": description, "codebook": codebook, "skip_mask": skip_mask}
    files = {k: InputFile.of(v) for k, v in named.items() if isinstance(v, str | Path)}
    survey = Survey(raw.frame, schema, table, raw.tags, events, raw.source, files, unlisted)
    return with_derived(survey)


def _code(column: Column, raw: RawTable) -> CodedColumn:
    return code_column(
        raw.frame[column.name],
        column,
        raw.tags.get(column.name),
        blank_is_text=raw.blank_is_text,
    )


def _table(schema: Schema, coded: dict[str, CodedColumn]) -> CodedTable:
    values = np.column_stack([column.values for column in coded.values()])
    reasons = np.column_stack([column.reasons for column in coded.values()])
    return CodedTable(schema.questions, values, CellStates.from_reasons(reasons, tuple(coded)))


def _add_codebook(raw: RawTable, book: dict[str, ColumnHints], events: EventLog) -> None:
    """Fill the file's hints from a codebook; names may differ in case."""
    by_name = {name.lower(): name for name in book}
    used = set()
    for column in raw.frame.columns:
        name = column if column in book else by_name.get(column.lower())
        if name is not None:
            raw.hints[column] = raw.hint(column).filled_from(book[name])
            used.add(name)
    if not used:
        raise InputError(
            "The codebook describes none of the columns",
            found=", ".join(list(book)[:3]),
            expected=", ".join(raw.frame.columns[:3]),
            next_step="Check that codebook and data are of the same survey",
        )
    events.add(
        "codebook_used",
        columns=len(used),
        of_columns=raw.frame.width,
        not_in_data=len(book) - len(used),
    )


def _judge_unlisted(
    coded: dict[str, CodedColumn], schema: Schema, unlisted: str, events: EventLog
) -> None:
    found = {name: column.unlisted for name, column in coded.items() if column.unlisted}
    if found and unlisted == "error":
        name, counts = next(iter(found.items()))
        column = schema[name]
        others = f" (and {len(found) - 1} more columns)" if len(found) > 1 else ""
        if column.is_categorical:
            problem = f"has values that are not in the description{others}"
            expected = "levels " + _listed([str(level) for level in column.levels])
            step = "Add them to its levels, or list them as missing codes"
        else:
            problem = f"is continuous and contains text{others}"
            expected = "numbers"
            step = "List the text as a missing code, or make the column nominal"
        raise InputError(
            problem,
            column=name,
            found=_listed([f"'{value}' ({count}x)" for value, count in counts.items()]),
            expected=expected,
            next_step=f"{step}; or treat all such values as missing: read_survey with "
            "unlisted='missing' in Python, --unlisted missing on the command line",
        )
    for name, column_coded in coded.items():
        words = column_coded.blank_words
        if words:
            events.add(
                "blank_words_found",
                column=name,
                words=[str(word) for word in words][:_SHOWN],
                cells=list(words.values())[:_SHOWN],
                different=len(words) if len(words) > _SHOWN else None,
            )
    for name, counts in found.items():
        events.add(
            "unlisted_values_taken_as_missing",
            column=name,
            values=[str(value) for value in counts][:_SHOWN],
            cells=list(counts.values())[:_SHOWN],
            different=len(counts) if len(counts) > _SHOWN else None,
        )


def _listed(items: list[str]) -> str:
    more = f", ... {len(items)} in all" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more
