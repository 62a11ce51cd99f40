"""Writes a result to a folder, for :func:`tabsoda.load_result`."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import file_hash, make_private, write_json, write_parquet
from tabsoda._internal.folder_lock import hold_folder
from tabsoda._internal.write_errors import writing_to
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.results.manifest import result_manifest
from tabsoda.results.record import words_of, write_record
from tabsoda.results.result_folder import RECORD
from tabsoda.results.run_folder import BESIDE, CHECKPOINT, WRITING, check_folder

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# Words of the codes in states.parquet.
STATE_NAMES = ("answered", "missing", "skipped")


def save_result(
    result: Imputations, folder: str | Path, *, report: bool, force: bool
) -> dict[str, Any]:
    """Check the folder, and write the result; see :meth:`Imputations.save`."""
    if result.survey is None:
        raise InputError(
            "A result of a plain array cannot be saved",
            expected="a result of a survey, a data frame or a file",
            next_step="Impute a data frame, or save the arrays that complete() returns",
        )
    folder = Path(folder)
    files = [] if result.run is None else [one.path for one in result.run.files.values()]
    check_folder(folder, files, {}, force=force)
    with hold_folder(folder):
        check_folder(folder, files, {}, force=force)
        manifest = write_result(result, folder)
        if report:
            from tabsoda.report.report import PAGE, write_report

            imputer = None if result.run is None else result.run.imputer
            write_report(result, folder / PAGE, manifest=manifest, imputer=imputer)
    return manifest


def write_tables(result: Imputations, folder: Path) -> None:
    """Write all tables of a result, its record and its settings to a new folder.

    Parameters
    ----------
    result : Imputations
        The result of a survey.
    folder : Path
        Must not exist.
    """
    states = result.table.states
    make_private(folder / "imputations")
    write_parquet(folder / "point.parquet", result.point("mode"))
    write_parquet(folder / "point_median.parquet", result.point("median"))
    for number in range(1, len(result) + 1):
        write_parquet(folder / "imputations" / f"{number:03d}.parquet", result.complete(number))
    write_parquet(folder / "states.parquet", words_of(states.states, STATE_NAMES, states.names))
    make_private(folder / RECORD)
    write_record(result, folder / RECORD)
    write_json(folder / "settings.json", result.settings)


def write_result(result: Imputations, folder: Path) -> dict[str, Any]:
    """Write to a temporary folder, then move into place, manifest last; return the manifest.

    A folder with a manifest is therefore complete.

    Parameters
    ----------
    result : Imputations
        The result of a survey.
    folder : Path
        Checked with :func:`tabsoda.results.run_folder.check_folder`.
    """
    work = folder / WRITING
    shutil.rmtree(work, ignore_errors=True)
    try:
        with writing_to(folder):
            written = result
            if result.original is not None:
                # Completed tables are written as polars frames, regardless of the input.
                written = replace(result, original=None, events=EventLog([*result.events]))
            write_tables(written, work)
            if result.run is not None and result.run.imputer is not None:
                result.run.imputer.save(work / "model")
            hashes = {
                str(path.relative_to(work)): file_hash(path)
                for path in sorted(work.rglob("*"))
                if path.is_file()
            }
            manifest = result_manifest(result, hashes)
            _move(work, folder)
            write_json(folder / "manifest.json", manifest)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    return manifest


def _move(work: Path, folder: Path) -> None:
    """Move finished files into place; a folder without a manifest counts as unfinished."""
    for stale in BESIDE:
        (folder / stale).unlink(missing_ok=True)
    for path in sorted(work.iterdir()):
        target = folder / path.name
        if target.is_dir():
            shutil.rmtree(target)
        path.replace(target)
