"""A result on disk, so that it can be read back: what was observed, why not, and every draw.

Input: a result. Output: a folder of Parquet, TOML and JSON, and the same result from it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda._internal.files import atomic_path, write_json
from tabsoda.events import Event, EventLog
from tabsoda.imputations.imputations import Imputations, ImputedCells
from tabsoda.routing.record import RoutingRecord
from tabsoda.schema.files import load_schema, save_schema
from tabsoda.states.cell_states import REASONS, CellStates
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

# Grows when a record can no longer be read by what was written for the one before.
RECORD_FORMAT = 1
# 0 stands for an answer, as in CellStates.reasons.
_REASON_NAMES = ("answered", *(reason.value for reason in REASONS))


def write_record(result: Imputations, folder: Path) -> None:
    """Write a result that came from a survey to an existing, empty folder.

    The files: ``observed.parquet`` (the survey's values as published), ``letters.parquet`` (the
    lettered missings beside them), ``coded.parquet`` (answers as numbers), ``reasons.parquet``
    (why a cell holds no answer), ``cells.parquet`` (one row an imputed cell: row and column from
    0, mode, median, every draw), ``survey.toml`` and ``record.json``.
    """
    import polars as pl

    survey = result.survey
    if survey is None:
        raise TypeError("only a result that came from a survey can be recorded")
    save_schema(survey.schema, folder / "survey.toml")
    _write(survey.frame, folder / "observed.parquet")
    if survey.tags:
        letters = {name: pl.Series(tag, dtype=pl.String) for name, tag in survey.tags.items()}
        _write(pl.DataFrame(letters), folder / "letters.parquet")
    names = result.table.names
    _write(pl.DataFrame(result.table.values, schema=list(names)), folder / "coded.parquet")
    _write(_reasons_frame(result.table.states), folder / "reasons.parquet")
    _write(_cells_frame(result.cells), folder / "cells.parquet")
    write_json(
        folder / "record.json",
        {
            "format": RECORD_FORMAT,
            "source": survey.source,
            "questions": list(names),
            "settings": result.settings,
            "history": result.history,
            "events": result.events.to_dicts(),
            "survey_events": survey.events.to_dicts(),
            "routing": None if result.routing is None else result.routing.to_dict(),
        },
    )


def read_record(folder: Path) -> Imputations:
    """Read what :func:`write_record` wrote."""
    import polars as pl

    content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    schema = load_schema(folder / "survey.toml")
    frame = pl.read_parquet(folder / "observed.parquet")
    letters = folder / "letters.parquet"
    tags = _read_tags(pl.read_parquet(letters)) if letters.exists() else {}
    names = tuple(content["questions"])
    states = _states(pl.read_parquet(folder / "reasons.parquet").select(names), names)
    values = pl.read_parquet(folder / "coded.parquet").select(names).to_numpy().copy()
    table = CodedTable(tuple(schema[name] for name in names), values, states)
    survey_events = _read_events(content["survey_events"])
    survey = Survey(frame, schema, table, tags, survey_events, content["source"])
    result = Imputations(
        table,
        _cells(pl.read_parquet(folder / "cells.parquet")),
        survey,
        settings=content["settings"],
        history=content["history"],
        routing=RoutingRecord.from_dict(content["routing"]) if content.get("routing") else None,
    )
    # What was decided when the result was made, and not a second time now.
    result.events.events[:] = _read_events(content["events"])
    return result


def _reasons_frame(states: CellStates) -> pl.DataFrame:
    import polars as pl

    kinds = pl.Enum(_REASON_NAMES)
    codes = list(range(len(_REASON_NAMES)))
    return pl.DataFrame(
        {
            name: pl.Series(states.reasons[:, position]).replace_strict(
                codes, list(_REASON_NAMES), return_dtype=kinds
            )
            for position, name in enumerate(states.names)
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
    return CellStates.from_masks(reasons == 0, reasons == code_of["skip"], names, reasons)


def _cells_frame(cells: ImputedCells) -> pl.DataFrame:
    import polars as pl

    columns: dict[str, NDArray[Any]] = {
        "row": cells.rows,
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


def _read_tags(frame: pl.DataFrame) -> dict[str, NDArray[np.object_]]:
    return {series.name: np.array(series.to_list(), dtype=object) for series in frame}


def _read_events(entries: list[dict[str, Any]]) -> EventLog:
    return EventLog([Event(**entry) for entry in entries])


def _write(table: pl.DataFrame, path: Path) -> None:
    with atomic_path(path) as temporary:
        table.write_parquet(temporary)
