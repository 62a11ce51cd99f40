"""Read SPSS, Stata and SAS files, with their metadata, through pyreadstat."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
from numpy.typing import NDArray
from pyreadstat import PyreadstatError, ReadstatError

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.raw import RawTable, refuse_repeated_names
from tabsoda.schema.codes import as_number, plain
from tabsoda.schema.column import Code
from tabsoda.schema.hints import ColumnHints

_READERS: dict[str, tuple[Any, str]] = {
    ".sav": (pyreadstat.read_sav, "SPSS"),
    ".zsav": (pyreadstat.read_sav, "SPSS"),
    ".por": (pyreadstat.read_por, "SPSS portable"),
    ".dta": (pyreadstat.read_dta, "Stata"),
    ".sas7bdat": (pyreadstat.read_sas7bdat, "SAS"),
    ".xpt": (pyreadstat.read_xport, "SAS transport"),
}
ENDINGS = tuple(_READERS)
# pyreadstat cannot read user-missing values in these two.
_WITHOUT_USER_MISSING = (".por", ".xpt")
_TRANSPORT_RECORD = 80
# The error of readstat if a file's texts are not in the encoding it declares. Converters write
# such files, as do versions of Stata before 14, which did not declare one.
_BAD_ENCODING = "requested encoding"
# The strictest first: Latin-1 has a character for every byte, so it never fails.
_OTHER_ENCODINGS = ("UTF-8", "WINDOWS-1252", "LATIN1")


def read_stats_file(path: Path) -> RawTable:
    """Read an SPSS, Stata or SAS file; lettered missings become null and are kept in ``tags``."""
    ending = path.suffix.lower()
    reader, program = _READERS[ending]
    # A transport file does not declare its number of rows; only its record size shows truncation.
    if ending == ".xpt" and path.stat().st_size % _TRANSPORT_RECORD:
        raise _unreadable(path, program, f"{path.stat().st_size} bytes, not whole records of 80")
    events = EventLog()
    # The pandas output of pyreadstat 1.3.7 turns Stata's system-missing into 0 in integer columns
    # that also contain lettered missings.
    options: dict[str, Any] = {"output_format": "dict"}
    if ending in _WITHOUT_USER_MISSING:
        events.add("missing_reasons_not_read", ending=ending)
    else:
        options["user_missing"] = True
    try:
        content, metadata = _read(reader, path, options, events)
    except (ReadstatError, PyreadstatError, UnicodeDecodeError) as error:
        raise _unreadable(path, program, str(error)) from error
    names = list(metadata.column_names)
    refuse_repeated_names(names, f"'{path.name}'")
    if not names or not metadata.number_rows:
        raise InputError(
            f"The file '{path.name}' holds no rows",
            found=f"{metadata.number_rows or 0} rows, {len(names)} columns",
            expected="at least one row and one column",
        )
    tags: dict[str, NDArray[np.object_]] = {}
    series = []
    for name in names:
        values = content[name]
        is_text = metadata.readstat_variable_types.get(name) == "string"
        if not is_text:
            letters = _letters(values)
            if letters is not None:
                tags[name] = letters
                values = [
                    None if letter else value for value, letter in zip(values, letters, strict=True)
                ]
        series.append(_series(name, values, is_text))
    hints = {name: _hints(name, metadata) for name in names}
    return RawTable(pl.DataFrame(series), hints, tags, events=events, source=path.name)


def stats_file_names(path: Path) -> list[str]:
    """Return the names of the columns of an SPSS, Stata or SAS file, without reading its rows."""
    reader, program = _READERS[path.suffix.lower()]
    try:
        _, metadata = reader(str(path), metadataonly=True)
    except (ReadstatError, PyreadstatError, UnicodeDecodeError) as error:
        raise _unreadable(path, program, str(error)) from error
    return list(metadata.column_names)


def _read(reader: Any, path: Path, options: dict[str, Any], events: EventLog) -> Any:
    """Read a file in the encoding it declares, or in another if its texts contradict that."""
    try:
        return reader(str(path), **options)
    except (ReadstatError, UnicodeDecodeError) as error:
        if isinstance(error, ReadstatError) and _BAD_ENCODING not in str(error):
            raise
        declared = error
    for encoding in _OTHER_ENCODINGS:
        try:
            found = reader(str(path), encoding=encoding, **options)
        except (ReadstatError, UnicodeDecodeError):
            continue
        events.add("declared_encoding_not_used", encoding=encoding)
        return found
    raise declared


def _unreadable(path: Path, program: str, found: str) -> InputError:
    return InputError(
        f"The file '{path.name}' cannot be read as {program} data",
        found=found,
        expected=f"a complete {program} file, as its extension {path.suffix} says",
        next_step="It may be truncated or have the wrong extension; download or rename it",
    )


def _letters(values: list[Any]) -> NDArray[np.object_] | None:
    """Return ``".a"`` where a letter replaces a number; None if there are no letters."""
    letters = np.array(
        [f".{value.lower()}" if isinstance(value, str) else None for value in values], dtype=object
    )
    return letters if any(letters) else None


def _series(name: str, values: list[Any], is_text: bool) -> pl.Series:
    """Build a column; whole numbers that SPSS stores as floats stay floats, as published."""
    if is_text:
        return pl.Series(name, values, dtype=pl.String)
    if all(value is None for value in values):
        return pl.Series(name, values, dtype=pl.Float64)
    # The first values may be integers and later ones not: let polars infer from all.
    return pl.Series(name, values, strict=False) if _mixed(values) else pl.Series(name, values)


def _mixed(values: list[Any]) -> bool:
    return len({type(value) for value in values if value is not None}) > 1


def _hints(name: str, metadata: Any) -> ColumnHints:
    labels: dict[Code, str] = {}
    for value, text in metadata.variable_value_labels.get(name, {}).items():
        is_letter = (
            isinstance(value, str) and metadata.readstat_variable_types.get(name) != "string"
        )
        labels[f".{value.lower()}" if is_letter else plain(value)] = text
    codes: list[Code] = []
    ranges: list[tuple[float, float]] = []
    for entry in metadata.missing_ranges.get(name, []):
        low, high = entry["lo"], entry["hi"]
        if low == high:
            codes.append(low if isinstance(low, str) else plain(low))
        else:
            ranges.append((_end(low, -math.inf), _end(high, math.inf)))
    for letter in metadata.missing_user_values.get(name, []):
        codes.append(f".{str(letter).lower()}")
    measure = metadata.variable_measure.get(name, "unknown")
    return ColumnHints(
        label=metadata.column_names_to_labels.get(name) or "",
        level_labels=labels,
        measure="" if measure == "unknown" else measure,
        missing_codes=tuple(codes),
        missing_ranges=tuple(ranges),
    )


def _end(value: Any, default: float) -> float:
    """One end of a range; SPSS's LOWEST and HIGHEST may be given as words."""
    number = as_number(value)
    return default if number is None else number
