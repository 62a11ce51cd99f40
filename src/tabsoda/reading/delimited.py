"""CSV and its relatives: finds out encoding and delimiter, and refuses ragged or cut-off files."""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path

import polars as pl

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.raw import RawTable, distinct_names

_DELIMITERS = (",", ";", "\t", "|")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SNIFFED_LINES = 100
_DECIMAL_COMMA = r"^[+-]?\d*,\d+$"
_COMMA_NUMBER = r"^[+-]?(\d+|\d*,\d+)$"
_EMPTY_LINE = re.compile(r"(?<=\n)\r?\n")


def read_delimited(path: Path) -> RawTable:
    """Read a delimited text file; numbers become numbers where a whole column allows it."""
    events = EventLog()
    text = _decode(path, events)
    if "\x00" in text:
        raise InputError(
            f"The file '{path.name}' is not text",
            found="zero bytes",
            expected="a delimited text file, as its ending says",
            next_step="Give it the ending of what it is, such as .parquet or .sav",
        )
    try:
        delimiter = _sniff(text)
        if delimiter != ",":
            events.add("read", "delimiter found", detail=f"{delimiter!r} instead of a comma")
        names = _check_lines(text, delimiter, path.name)
        # An empty line is a blank cell where there is one column, and nobody's otherwise.
        text = text if len(names) == 1 else _without_empty_lines(text, events)
        frame = pl.read_csv(
            io.BytesIO(text.encode()), separator=delimiter, infer_schema=False, quote_char='"'
        )
    except (csv.Error, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"The file '{path.name}' cannot be read as a table",
            found=str(error).splitlines()[0],
            expected="one header line and the same number of fields in every line",
        ) from error
    frame.columns = distinct_names(names, events)
    if delimiter == ";":
        frame = _with_decimal_points(frame, events)
    return RawTable(
        frame.select(_typed(column) for column in frame),
        blank_is_text=True,
        events=events,
        source=path.name,
    )


def _decode(path: Path, events: EventLog) -> str:
    content = path.read_bytes()
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            try:
                text = content.decode(encoding)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"The file '{path.name}' is not valid {encoding}",
                    found=f"a broken character at byte {error.start}",
                    next_step="It may be cut off; get it again, or save it as UTF-8",
                ) from error
            events.add("read", "encoding found", detail=f"{encoding}, by its byte order mark")
            return text
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        _refuse_mixed_encodings(content, path.name)
    # Windows' own encoding leaves five bytes undefined; latin-1 has a character for every byte.
    try:
        encoding, text = "Windows-1252", content.decode("cp1252")
    except UnicodeDecodeError:
        encoding, text = "latin-1", content.decode("latin-1")
    detail = f"not UTF-8; read as {encoding}, so check names and labels with accents"
    events.add("read", "encoding found", detail=detail)
    return text


def _lines(text: str) -> list[str]:
    """Split at the line ends of files alone: str.splitlines knows others, such as U+0085."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _without_empty_lines(text: str, events: EventLog) -> str:
    """Drop lines without a character, outside quotes: they are no respondents."""
    parts, dropped = text.split('"'), 0
    # Every other part lies outside quotes, and what follows a line end there is a new line.
    for number in range(0, len(parts), 2):
        parts[number], found = _EMPTY_LINE.subn("", parts[number])
        dropped += found
    if dropped:
        events.add("read", "empty lines dropped", detail=f"{dropped} of them")
    return '"'.join(parts)


def _refuse_mixed_encodings(content: bytes, name: str) -> None:
    """Raise if some lines are UTF-8 beyond ASCII and others are not UTF-8 at all."""
    utf8_line = other_line = 0
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
            utf8_line = utf8_line or number
        except UnicodeDecodeError:
            other_line = other_line or number
    if utf8_line and other_line:
        raise InputError(
            f"The file '{name}' mixes encodings",
            found=f"UTF-8 in line {utf8_line} and another encoding in line {other_line}",
            expected="one encoding throughout, best UTF-8",
            next_step="Export the file anew as UTF-8, or convert the parts before joining them",
        )


def _sniff(text: str) -> str:
    """Return the delimiter that cuts the first lines into the most fields, equally many in each."""
    head = _lines(text)[:_SNIFFED_LINES]
    best, best_score = ",", (0, 0)
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(head, delimiter=delimiter) if row]
        if not widths or widths[0] < 2:
            continue
        score = (sum(width == widths[0] for width in widths), widths[0])
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _check_lines(text: str, delimiter: str, name: str) -> list[str]:
    """Return the header, or raise if a line has another number of fields: polars would fill it."""
    if '"' in text:
        if text.count('"') % 2:
            raise InputError(
                f"The file '{name}' ends within quotes",
                expected='an even number of "',
                next_step="The file may be cut off; get it again",
            )
        widths = [len(row) for row in csv.reader(io.StringIO(text), delimiter=delimiter)]
    else:
        widths = [line.count(delimiter) + 1 if line else 0 for line in _lines(text)]
    names = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    if len(widths) < 2:
        raise InputError(
            f"The file '{name}' holds no rows",
            found="a header line alone",
            expected="a header line and at least one row",
        )
    expected = widths[0]
    for number, width in enumerate(widths, 1):
        if width != expected and width > 0:
            last = " (the last line: the file may be cut off)" if number == len(widths) else ""
            raise InputError(
                f"Line {number} of '{name}' has another number of fields than the header{last}",
                found=f"{width} fields",
                expected=f"{expected} fields",
                next_step="Repair that line, put quotes around texts with the delimiter, or get "
                "the file again",
            )
    return names


def _with_decimal_points(frame: pl.DataFrame, events: EventLog) -> pl.DataFrame:
    """Turn "1,5" into "1.5" in columns of numbers alone, as is usual where ";" parts the cells."""
    found = []
    for series in frame:
        texts = series.drop_nulls().str.strip_chars()
        texts = texts.filter(texts != "")
        if texts.str.contains(_DECIMAL_COMMA).any() and texts.str.contains(_COMMA_NUMBER).all():
            found.append(pl.col(series.name).str.replace(",", ".", literal=True))
            detail = f"{texts.str.contains(_DECIMAL_COMMA).sum()} numbers such as {texts[0]!r}"
            events.add("read", "decimal commas read as points", column=series.name, detail=detail)
    return frame.with_columns(found)


def _typed(series: pl.Series) -> pl.Series:
    """Turn texts into numbers if all are; "01" stays text, because 1 would not be what is there."""
    texts = series.drop_nulls()
    if not len(texts) or texts.str.contains(r"^\s*-?0\d").any():
        return series
    for kind in (pl.Int64, pl.Float64):
        numbers = series.str.strip_chars().cast(kind, strict=False)
        # Words such as "nan" and "inf" become floats; they are texts until someone declares them.
        if numbers.null_count() == series.null_count() and (
            kind is pl.Int64 or numbers.drop_nulls().is_finite().all()
        ):
            return numbers
    return series
