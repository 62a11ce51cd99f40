"""Choose the reader of a file by its extension, and detect wrong extensions."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.exceptions import PanicException

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.delimited import DELIMITERS, read_delimited
from tabsoda.reading.excel import ENDINGS as EXCEL_ENDINGS
from tabsoda.reading.excel import read_excel
from tabsoda.reading.raw import RawTable
from tabsoda.reading.reader_process import ReaderFailure, read_apart
from tabsoda.reading.stats_files import ENDINGS as STATS_ENDINGS
from tabsoda.reading.stats_files import read_stats_file, stats_file_names

_DELIMITED = (".csv", ".tsv", ".txt", ".tab", ".psv")
_PARQUET = (".parquet", ".pq")
ENDINGS = (*_DELIMITED, *_PARQUET, *EXCEL_ENDINGS, *STATS_ENDINGS)

# The first bytes of each format, to name the real format of a file with a wrong extension.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", ".parquet"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".zsav"),
    (b"<stata_dta>", ".dta"),
    (b"HEADER RECORD*******", ".xpt"),
    (b"PK\x03\x04", ".zip or .xlsx"),
    (b"\xd0\xcf\x11\xe0", ".xls"),
    (b"\x1f\x8b", ".gz"),
    (b"%PDF", ".pdf"),
)
_SAS_MAGIC = bytes.fromhex("000000000000000000000000c2ea8160")


def read_file(path: Path) -> RawTable:
    """Read a survey file by its extension."""
    if not path.exists():
        raise InputError(
            f"The file '{path}' does not exist",
            expected="a survey file",
            next_step="Check the path and the spelling",
        )
    if path.is_dir():
        raise InputError(
            f"'{path}' is a folder",
            expected="a survey file",
            next_step="Give the path of a file in it",
        )
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(
            f"The file '{path.name}' has an unknown extension",
            found=ending or "no extension",
            expected=", ".join(ENDINGS),
            next_step="Rename the file if it is one of these, or convert it",
        )
    with path.open("rb") as file:
        head = file.read(64)
    if not head.strip():
        raise InputError(
            f"The file '{path.name}' is empty",
            found=f"{path.stat().st_size} bytes",
            expected="a header and at least one row",
            next_step="Download the file again",
        )
    actual = _recognise(head)
    alike = {actual, ending} == {".sav", ".zsav"} or (
        ending in EXCEL_ENDINGS and actual in (".zip or .xlsx", ".xls")
    )
    if actual and not actual.startswith(ending) and not alike:
        raise InputError(
            f"The file '{path.name}' does not match its extension",
            found=f"the first bytes of a {actual} file",
            expected=f"{ending} data",
            next_step=f"Rename it, or convert it to {ending}",
        )
    if ending in _PARQUET:
        return _read_parquet(path)
    if ending in EXCEL_ENDINGS:
        return read_excel(path)
    return read_delimited(path) if ending in _DELIMITED else read_stats_file(path)


def column_names(path: Path) -> list[str]:
    r"""Return the names of a file's columns without reading its rows; empty if it has no text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "survey.csv"
    ...     _ = path.write_text("sex;age\n1;44\n")
    ...     column_names(path)
    ['sex', 'age']
    """
    ending = path.suffix.lower()
    if ending in STATS_ENDINGS:
        return stats_file_names(path)
    if ending in _PARQUET:
        return list(pl.read_parquet_schema(path))
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = file.readline().rstrip("\r\n")
    delimiter = max(DELIMITERS, key=header.count)
    return [name.strip().strip('"') for name in header.split(delimiter)] if header else []


def _recognise(head: bytes) -> str:
    if head.startswith(_SAS_MAGIC):
        return ".sas7bdat"
    return next((ending for start, ending in _SIGNATURES if head.startswith(start)), "")


def _read_parquet(path: Path) -> RawTable:
    events = EventLog()
    try:
        # A damaged file can end the process that decodes it: another process tries first.
        read_apart(path, "parquet", events)
        frame = pl.read_parquet(path, glob=False)
    except (ReaderFailure, pl.exceptions.PolarsError, PanicException, OSError) as error:
        raise InputError(
            f"The file '{path.name}' cannot be read as Parquet",
            found=str(error).splitlines()[0],
            expected="a complete Parquet file",
            next_step="It may be truncated or have the wrong extension; download or rename it",
        ) from error
    if not frame.height or not frame.width:
        raise InputError(
            f"The file '{path.name}' holds no rows",
            found=f"{frame.height} rows, {frame.width} columns",
            expected="at least one row and one column",
        )
    from tabsoda.reading.frames import read_frame

    raw = read_frame(frame)
    raw.source = path.name
    raw.events.events[:0] = events
    return raw
