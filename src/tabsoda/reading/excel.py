"""Read Excel workbooks: a table of answers, or all sheets of a form."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import polars as pl

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading.delimited import text_table
from tabsoda.reading.raw import RawTable
from tabsoda.reading.reader_process import ReaderFailure, read_apart

ENDINGS = (".xlsx", ".xlsm", ".xls", ".ods")
# Sheets of answers unpack to 5 to 30 times their size; files that are made to fill the memory, to
# several hundred times. Small files may do as they like.
_MUCH, _LARGEST_RATIO = 200_000_000, 100


def read_excel(path: Path) -> RawTable:
    """Read the first sheet of a workbook that has rows; its first row holds the names.

    Every cell is read as a text, so that numbers and codes are recognised as in CSV files.
    """
    events = EventLog()
    workbook = _open(path, events)
    for name in workbook.sheet_names:
        cells = _cells(workbook, name, path)
        if cells.height > 1:
            if len(workbook.sheet_names) > 1:
                events.add("sheet_read", sheet=name, sheets=len(workbook.sheet_names))
            names = [text or "" for text in cells.row(0)]
            return text_table(cells[1:], names, events, path.name)
    raise InputError(
        f"The file '{path.name}' holds no rows",
        found=f"{len(workbook.sheet_names)} sheets without rows below the first",
        expected="a sheet with a row of names and at least one row of answers",
    )


def read_sheets(path: Path) -> dict[str, list[dict[str, str]]]:
    """Return every sheet of a workbook as rows of texts by column name.

    Columns without a name and empty rows are left out.
    """
    workbook = _open(path, EventLog())
    sheets: dict[str, list[dict[str, str]]] = {}
    for sheet in workbook.sheet_names:
        cells = _cells(workbook, sheet, path)
        if not cells.height:
            sheets[sheet] = []
            continue
        names = [(text or "").strip() for text in cells.row(0)]
        rows = [
            {name: text or "" for name, text in zip(names, row, strict=True) if name}
            for row in cells[1:].iter_rows()
        ]
        sheets[sheet] = [row for row in rows if any(text.strip() for text in row.values())]
    return sheets


def _open(path: Path, events: EventLog) -> Any:
    try:
        import fastexcel
    except ImportError as error:
        raise InputError(
            f"Reading '{path.name}' needs another package",
            expected="fastexcel, which reads Excel files",
            next_step="Install it: pip install 'tabsoda[excel]'; or save the sheet as CSV",
        ) from error
    _refuse_bomb(path)
    try:
        # A damaged file can end the process that decodes it: another process tries first.
        read_apart(path, "excel", events)
        return fastexcel.read_excel(str(path))
    except (ReaderFailure, fastexcel.FastExcelError, OSError) as error:
        raise InputError(
            f"The file '{path.name}' cannot be read as an Excel workbook",
            found=str(error).splitlines()[0],
            expected="a complete workbook without a password",
            next_step="It may be truncated or protected; open and save it in Excel, or as CSV",
        ) from error


def _refuse_bomb(path: Path) -> None:
    """Raise if a workbook unpacks to very much more than its size, as no workbook of answers does.

    The process that reads it has a limit on memory as well; this one says what is wrong.
    """
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        # Damaged; the reader finds out where.
        return
    size = path.stat().st_size
    if unpacked > _MUCH and unpacked > _LARGEST_RATIO * size:
        raise InputError(
            f"The file '{path.name}' unpacks to far more than workbooks of its size usually do",
            found=f"{size / 1e6:,.1f} MB that unpack to {unpacked / 1e6:,.0f} MB",
            expected=f"at most {_LARGEST_RATIO} times its size",
            next_step="If you trust it, open it in Excel and save the sheet as CSV",
        )


def _cells(workbook: Any, sheet: str, path: Path) -> pl.DataFrame:
    """Return a sheet as texts, its header row included, without empty rows and columns."""
    import fastexcel

    try:
        cells = workbook.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    except fastexcel.FastExcelError as error:
        raise InputError(
            f"The sheet '{sheet}' of '{path.name}' cannot be read",
            found=str(error).splitlines()[0],
            next_step="Open and save the workbook in Excel, or save the sheet as CSV",
        ) from error
    if not cells.width:
        return cells
    # Formatted but empty rows and columns belong to the sheet, not to the table.
    cells = cells.filter(~pl.all_horizontal(pl.all().is_null()))
    return cells.select(column for column in cells if column.null_count() < cells.height)
