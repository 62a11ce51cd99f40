"""Read SPSS, Stata and SAS files, with their metadata, through pyreadstat."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.raw import RawTable, refuse_repeated_names
from tabsoda.reading.reader_process import ReaderFailure, read_apart
from tabsoda.reading.reader_program import ENDINGS, WITHOUT_USER_MISSING
from tabsoda.schema.codes import as_number, plain
from tabsoda.schema.column import Code
from tabsoda.schema.hints import ColumnHints

__all__ = ["ENDINGS", "read_stats_file"]

_PROGRAMS = {
    ".sav": "SPSS",
    ".zsav": "SPSS",
    ".por": "SPSS portable",
    ".dta": "Stata",
    ".sas7bdat": "SAS",
    ".xpt": "SAS transport",
}
_TRANSPORT_RECORD = 80


def read_stats_file(path: Path) -> RawTable:
    """Read an SPSS, Stata or SAS file; lettered missings become null and are kept in ``tags``."""
    ending = path.suffix.lower()
    # A transport file does not declare its number of rows; only its record size shows truncation.
    if ending == ".xpt" and path.stat().st_size % _TRANSPORT_RECORD:
        raise _unreadable(path, f"{path.stat().st_size} bytes, not whole records of 80")
    events = EventLog()
    if ending in WITHOUT_USER_MISSING:
        events.add("missing_reasons_not_read", ending=ending)
    try:
        described, table = read_apart(path, "statistics", events)
    except ReaderFailure as error:
        raise _unreadable(path, str(error)) from error
    if described["encoding"] is not None:
        events.add("declared_encoding_not_used", encoding=described["encoding"])
    columns = described["columns"]
    names = [column["name"] for column in columns]
    refuse_repeated_names(names, f"'{path.name}'")
    if not names or not described["rows"] or table is None:
        raise InputError(
            f"The file '{path.name}' holds no rows",
            found=f"{described['rows']} rows, {len(names)} columns",
            expected="at least one row and one column",
        )
    values = table.select(pl.col(f"v{position}").alias(name) for position, name in enumerate(names))
    tags = {
        name: table[f"t{position}"].to_numpy()
        for position, name in enumerate(names)
        if f"t{position}" in table.columns
    }
    hints = {column["name"]: _hints(column) for column in columns}
    return RawTable(values, hints, tags, events=events, source=path.name)


def stats_file_names(path: Path) -> list[str]:
    """Return the names of the columns of an SPSS, Stata or SAS file, without reading its rows."""
    try:
        described, _ = read_apart(path, "names", EventLog())
    except ReaderFailure as error:
        raise _unreadable(path, str(error)) from error
    return list(described["names"])


def _unreadable(path: Path, found: str) -> InputError:
    program = _PROGRAMS[path.suffix.lower()]
    return InputError(
        f"The file '{path.name}' cannot be read as {program} data",
        found=found,
        expected=f"a complete {program} file, as its extension {path.suffix} says",
        next_step="It may be truncated or have the wrong extension; download or rename it",
    )


def _hints(column: dict[str, Any]) -> ColumnHints:
    labels: dict[Code, str] = {}
    for value, text in column["labels"]:
        is_letter = isinstance(value, str) and not column["is_text"]
        labels[f".{value.lower()}" if is_letter else plain(value)] = text
    codes: list[Code] = []
    ranges: list[tuple[float, float]] = []
    for low, high in column["missing"]:
        if low == high:
            codes.append(low if isinstance(low, str) else plain(low))
        else:
            ranges.append((_end(low, -math.inf), _end(high, math.inf)))
    codes += [f".{letter.lower()}" for letter in column["letters"]]
    measure = column["measure"]
    return ColumnHints(
        label=column["label"],
        level_labels=labels,
        measure="" if measure == "unknown" else measure,
        missing_codes=tuple(codes),
        missing_ranges=tuple(ranges),
    )


def _end(value: Any, default: float) -> float:
    """One end of a range; SPSS's LOWEST and HIGHEST may be given as words."""
    number = as_number(value)
    return default if number is None else number
