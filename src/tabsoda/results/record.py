"""A result on disk: observed values, reasons of missing answers, and every draw.

Input: a result. Output: a folder of Parquet, TOML and JSON, from which the same result is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda._internal.files import write_json, write_parquet
from tabsoda.edits.record import EditRecord
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells
from tabsoda.results.imputations import Imputations
from tabsoda.results.manifest import RECORD_FORMAT, RunRecord
from tabsoda.routing.record import RoutingRecord
from tabsoda.schema.files import load_schema, save_schema
from tabsoda.states.cell_states import REASONS, CellStates
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

# 0 stands for an answer, as in CellStates.reasons.
_REASON_NAMES = ("answered", *(reason.value for reason in REASONS))


def write_record(result: Imputations, folder: Path) -> None:
    """Write a result that came from a survey to an existing, empty folder.

    The files: those of :func:`record_tables`, ``survey.toml`` and ``record.json``.
    """
    for name, table in record_tables(result).items():
        write_parquet(folder / f"{name}.parquet", table)
    survey = _survey_of(result)
    save_schema(survey.schema, folder / "survey.toml")
    write_json(
        folder / "record.json",
        {
            "format": RECORD_FORMAT,
            "source": survey.source,
            "questions": list(result.table.names),
            "settings": result.settings,
            "history": result.history,
            "events": result.events.to_dicts(),
            "survey_events": survey.events.to_dicts(),
            "routing": None if result.routing is None else result.routing.to_dict(),
            "edits": None if result.edits is None else result.edits.to_dict(),
        },
    )


def record_tables(result: Imputations, first_row: int = 0) -> dict[str, pl.DataFrame]:
    """Return the tables of a record, or of the part of one that starts at a row.

    ``observed`` (the survey's values as published), ``letters`` (lettered missing values, if there
    are any), ``coded`` (answers as numbers), ``reasons`` (why a cell has no answer) and ``cells``
    (one row per imputed cell: row and column from 0, mode, median, every draw).
    """
    import polars as pl

    survey, table = _survey_of(result), result.table
    tables = {
        "observed": survey.frame,
        "coded": pl.DataFrame(table.values, schema=list(table.names)),
        "reasons": words_of(table.states.reasons, _REASON_NAMES, table.names),
        "cells": _cells_frame(result.cells, first_row),
    }
    if survey.tags:
        # As lists: polars infers the type of an object array from its first element, even if None.
        letters = {name: tag.tolist() for name, tag in survey.tags.items()}
        tables["letters"] = pl.DataFrame(letters, schema=dict.fromkeys(letters, pl.String))
    return tables


def read_record(folder: Path, run: RunRecord | None = None) -> Imputations:
    """Read a record of :func:`write_record`, or one whose tables are folders of parts.

    Parameters
    ----------
    folder : Path
    run : RunRecord, optional
        The record of the run.
    """
    content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    schema = load_schema(folder / "survey.toml")
    tags: dict[str, NDArray[np.object_]] = {}
    if (folder / "letters").exists() or (folder / "letters.parquet").exists():
        letters = _read(folder, "letters")
        tags = {column.name: np.array(column.to_list(), dtype=object) for column in letters}
    names = tuple(content["questions"])
    frame, reasons, coded, cells = (
        _read(folder, name) for name in ("observed", "reasons", "coded", "cells")
    )
    values = coded.select(names).to_numpy().copy()
    table = CodedTable(
        tuple(schema[name] for name in names), values, _states(reasons.select(names), names)
    )
    survey_events = EventLog.from_dicts(content["survey_events"])
    survey = Survey(frame, schema, table, tags, survey_events, content["source"])
    result = Imputations(
        table,
        _cells(cells),
        survey,
        settings=content["settings"],
        history=content["history"],
        routing=RoutingRecord.from_dict(content["routing"]) if content.get("routing") else None,
        run=run,
        edits=EditRecord.from_dict(content["edits"]) if content.get("edits") else None,
    )
    # The events of the original run; reading adds none.
    result.events.events[:] = EventLog.from_dicts(content["events"])
    return result


def _survey_of(result: Imputations) -> Survey:
    if result.survey is None:
        raise TypeError("only a result that came from a survey can be recorded")
    return result.survey


def _read(folder: Path, name: str) -> pl.DataFrame:
    """Read a table from a file or a folder of files."""
    import polars as pl

    if (folder / name).is_dir():
        return pl.concat(pl.read_parquet(path) for path in sorted((folder / name).iterdir()))
    return pl.read_parquet(folder / f"{name}.parquet")


def words_of(codes: NDArray[np.uint8], words: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """Return a table of words, given their positions in a list.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n_rows, n_columns)
    words : sequence of str
    names : sequence of str
        Of the columns.

    Examples
    --------
    >>> words_of(np.array([[1], [0]], dtype=np.uint8), ("no", "yes"), ["q"])["q"].to_list()
    ['yes', 'no']
    """
    import polars as pl

    kinds, listed = pl.Enum(words), list(range(len(words)))
    return pl.DataFrame(
        {
            name: pl.Series(column).replace_strict(listed, list(words), return_dtype=kinds)
            for name, column in zip(names, codes.T, strict=True)
        }
    )


def _states(frame: pl.DataFrame, names: tuple[str, ...]) -> CellStates:
    import polars as pl

    code_of = {name: code for code, name in enumerate(_REASON_NAMES)}
    reasons = np.column_stack(
        [
            frame[name].cast(pl.String).replace_strict(code_of, return_dtype=pl.UInt8)
            for name in names
        ]
    )
    return CellStates.from_reasons(reasons, names)


def _cells_frame(cells: ImputedCells, first_row: int) -> pl.DataFrame:
    import polars as pl

    columns: dict[str, NDArray[Any]] = {
        "row": cells.rows + first_row,
        "column": cells.positions,
        "mode": cells.mode,
        "median": cells.median,
    }
    columns |= {f"draw_{number}": draw for number, draw in enumerate(cells.draws, 1)}
    return pl.DataFrame(columns)


def _cells(frame: pl.DataFrame) -> ImputedCells:
    drawn = frame.columns[4:]
    draws = np.empty((len(drawn), frame.height))
    for number, name in enumerate(drawn):
        draws[number] = frame[name].to_numpy()
    rows, positions, mode, median = (
        frame[name].to_numpy().copy() for name in ("row", "column", "mode", "median")
    )
    return ImputedCells(rows, positions, draws, mode, median)
