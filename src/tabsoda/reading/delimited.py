"""Read delimited text: detect encoding and delimiter, refuse ragged or truncated files."""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path

import polars as pl

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.header_rows import more_header_rows
from tabsoda.reading.raw import RawTable, distinct_names

DELIMITERS = (",", ";", "\t", "|")
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
    """Read a delimited text file; a column of which all texts are numbers becomes numeric."""
    events = EventLog()
    text = _decode(path, events)
    if "\x00" in text:
        raise InputError(
            f"The file '{path.name}' is not text",
            found="zero bytes",
            expected="a delimited text file, as its extension says",
            next_step="Give it the extension of its format, such as .parquet or .sav",
        )
    try:
        delimiter = _sniff(text)
        if delimiter != ",":
            events.add("delimiter_found", delimiter=delimiter)
        names = _check_lines(text, delimiter, path.name)
        # With one column, an empty line is a blank cell; otherwise it is not a row.
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
    return text_table(frame, names, events, path.name, decimal_commas=delimiter == ";")


def text_table(
    frame: pl.DataFrame,
    names: list[str],
    events: EventLog,
    source: str,
    *,
    decimal_commas: bool = False,
) -> RawTable:
    """Return a raw table of texts; columns of which all texts are numbers become numeric.

    Parameters
    ----------
    frame : polars.DataFrame
        All columns texts; further header rows of exports are its first rows.
    names : list of str
        The first header row.
    events : EventLog
    source : str
        The file's name.
    decimal_commas : bool
        Whether "1,5" may be a number.
    """
    names, hints, n_header = more_header_rows(names, frame.head(2).rows(), events)
    frame = frame[n_header:]
    if not frame.height:
        raise InputError(
            f"The file '{source}' holds no rows",
            found="only header rows",
            expected="at least one row of answers",
        )
    frame.columns = distinct_names(names, events)
    if decimal_commas:
        frame = _with_decimal_points(frame, events)
    return RawTable(
        frame.select(_typed(column) for column in frame),
        hints,
        blank_is_text=True,
        events=events,
        source=source,
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
                    next_step="It may be truncated; download it again, or save it as UTF-8",
                ) from error
            events.add("encoding_given_by_byte_order_mark", encoding=encoding)
            return text
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        _refuse_mixed_encodings(content, path.name)
    # Windows-1252 leaves five bytes undefined; latin-1 has a character for every byte.
    try:
        encoding, text = "Windows-1252", content.decode("cp1252")
    except UnicodeDecodeError:
        encoding, text = "latin-1", content.decode("latin-1")
    events.add("text_not_utf8", encoding=encoding)
    return text


def _lines(text: str) -> list[str]:
    """Split only at the line ends of files: str.splitlines also splits at U+0085 and others."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _without_empty_lines(text: str, events: EventLog) -> str:
    """Drop empty lines outside quotes: they are not respondents."""
    parts, dropped = text.split('"'), 0
    # Every other part is outside quotes, so a line end there starts a new line.
    for number in range(0, len(parts), 2):
        parts[number], found = _EMPTY_LINE.subn("", parts[number])
        dropped += found
    if dropped:
        events.add("empty_lines_dropped", lines=dropped)
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
            expected="a single encoding, preferably UTF-8",
            next_step="Export the file again as UTF-8, or convert the parts before joining them",
        )


def _sniff(text: str) -> str:
    """Return the delimiter that splits the first lines into the most fields of equal number."""
    head = _lines(text)[:_SNIFFED_LINES]
    best, best_score = ",", (0, 0)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(head, delimiter=delimiter) if row]
        if not widths or widths[0] < 2:
            continue
        score = (sum(width == widths[0] for width in widths), widths[0])
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _check_lines(text: str, delimiter: str, name: str) -> list[str]:
    """Return the header; raise if a line has another number of fields, which polars would fill."""
    if '"' in text:
        if text.count('"') % 2:
            raise InputError(
                f"The file '{name}' ends within quotes",
                expected='an even number of "',
                next_step="The file may be truncated; download it again",
            )
        widths = [len(row) for row in csv.reader(io.StringIO(text), delimiter=delimiter)]
    else:
        widths = [line.count(delimiter) + 1 if line else 0 for line in _lines(text)]
    names = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    if len(widths) < 2:
        raise InputError(
            f"The file '{name}' holds no rows",
            found="only a header line",
            expected="a header line and at least one row",
        )
    expected = widths[0]
    for number, width in enumerate(widths, 1):
        if width != expected and width > 0:
            last = " (the last line: the file may be truncated)" if number == len(widths) else ""
            raise InputError(
                f"Line {number} of '{name}' does not have as many fields as the header{last}",
                found=f"{width} fields",
                expected=f"{expected} fields",
                next_step="Repair that line, quote texts that contain the delimiter, or download "
                "the file again",
            )
    return names


def _with_decimal_points(frame: pl.DataFrame, events: EventLog) -> pl.DataFrame:
    """Turn "1,5" into "1.5" in purely numeric columns; usual if ";" separates the cells."""
    found = []
    for series in frame:
        texts = series.drop_nulls().str.strip_chars()
        texts = texts.filter(texts != "")
        if texts.str.contains(_DECIMAL_COMMA).any() and texts.str.contains(_COMMA_NUMBER).all():
            found.append(pl.col(series.name).str.replace(",", ".", literal=True))
            with_comma = texts.filter(texts.str.contains(_DECIMAL_COMMA))
            events.add(
                "decimal_commas_read",
                column=series.name,
                numbers=len(with_comma),
                example=with_comma[0],
            )
    return frame.with_columns(found)


def _typed(series: pl.Series) -> pl.Series:
    """Turn texts into numbers if all are; "01" stays text, because 1 would be written back."""
    texts = series.drop_nulls()
    if not len(texts) or texts.str.contains(r"^\s*-?0\d").any():
        return series
    for kind in (pl.Int64, pl.Float64):
        numbers = series.str.strip_chars().cast(kind, strict=False)
        # polars parses words such as "nan" and "inf" as floats; here they stay texts.
        if numbers.null_count() == series.null_count() and (
            kind is pl.Int64 or numbers.drop_nulls().is_finite().all()
        ):
            return numbers
    return series
