"""``export``: writes a result for one program to a folder, completely or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tabsoda._internal.files import (
    PRIVATE_FILE,
    existing_parent,
    remove_abandoned,
    temporary_prefix,
    write_json,
)
from tabsoda._internal.folder_lock import hold_folder
from tabsoda._internal.write_errors import write_error
from tabsoda._version import __version__
from tabsoda.errors import InputError, OutputExistsError, TabSODAError
from tabsoda.event_texts import to_dicts_with_text
from tabsoda.events import EventLog

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# Writes all files for a program to an empty folder, and logs changes as events.
Writer = Callable[["Imputations", Path, EventLog], None]

_MODULES = {
    "stata": "stata",
    "r": "r_mice",
    "spss": "spss",
    "sas": "sas",
    "csv": "csv_files",
    "parquet": "parquet_files",
}
TARGETS = tuple(_MODULES)
RECORD = "export.json"
_UNFINISHED = {"unfinished": True}
_AGAIN = "export again: nothing was written"


def export(result: Imputations, to: str, folder: str | Path, *, force: bool = False) -> list[Path]:
    """Write all draws for another program.

    Parameters
    ----------
    result : Imputations
        The result of a survey, with at least one draw.
    to : {"stata", "r", "spss", "sas", "csv", "parquet"}
    folder : str or Path
        Created if it does not exist. It must be empty, unless ``force`` is given.
    force : bool
        Overwrite the files of an earlier export; other files are kept.

    Returns
    -------
    list of Path
        The written files. One of them, ``export.json``, lists renamed columns and all other
        changes that the program's limits required.
    """
    if to not in TARGETS:
        raise InputError("Unknown export format", found=repr(to), expected=" or ".join(TARGETS))
    folder = Path(folder)
    check_target(folder, force=force)
    module = import_module(f"tabsoda.exchange.{_MODULES[to]}")
    write: Writer = module.write
    events = EventLog()
    try:
        work = Path(tempfile.mkdtemp(dir=existing_parent(folder), prefix=temporary_prefix(folder)))
    except OSError as error:
        raise write_error(folder, error, _AGAIN) from error
    try:
        write(result, work, events)
        record = {
            "tabsoda": __version__,
            "to": to,
            "imputations": len(result),
            "rows": result.table.shape[0],
            "events": to_dicts_with_text(events),
        }
        write_json(work / RECORD, record)
        with hold_folder(folder):
            check_target(folder, force=force)
            return _move(work, folder)
    except TabSODAError:
        raise
    except Exception as error:
        raise write_error(folder, _disk_error(error), _AGAIN) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_target(folder: Path, *, force: bool) -> None:
    """Raise if an export could not or should not be written to the folder.

    Also removes temporary files that a killed export to this folder left.
    """
    remove_abandoned(existing_parent(folder) / folder.name)
    remove_abandoned(folder / RECORD)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"The output '{folder}' is a file", expected="a folder")
    home = existing_parent(folder)
    if not os.access(home, os.W_OK):
        raise InputError(
            f"The folder '{home}' cannot be written to",
            next_step="Change its permissions, or choose another output",
        )
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / RECORD).is_file():
        raise OutputExistsError(
            f"The folder '{folder}' contains other files than an export",
            found=", ".join(sorted(path.name for path in folder.iterdir())[:3]),
            next_step="Choose another folder",
        )
    if not force and not _is_unfinished(folder):
        raise OutputExistsError(
            f"The folder '{folder}' already contains an export",
            next_step="Choose another folder, or add --force to overwrite it",
        )


def _is_unfinished(folder: Path) -> bool:
    """Whether an export was interrupted while its files were moved into the folder."""
    try:
        return bool(json.loads((folder / RECORD).read_text(encoding="utf-8")) == _UNFINISHED)
    except (OSError, ValueError):
        return False


def _move(work: Path, folder: Path) -> list[Path]:
    """Move finished files into place, the record last; other files in the folder are kept.

    In the meantime another record says that the export is not finished.
    """
    names = sorted((path.name for path in work.iterdir()), key=lambda name: (name == RECORD, name))
    write_json(folder / RECORD, _UNFINISHED)
    for name in names:
        (work / name).chmod(PRIVATE_FILE)
        os.replace(work / name, folder / name)
    return [folder / name for name in names]


def _disk_error(error: Exception) -> Exception:
    """Return the error; readstat's own message for a full disk is converted to the system's."""
    from pyreadstat import ReadstatError

    # The text of readstat's READSTAT_ERROR_WRITE.
    if isinstance(error, ReadstatError) and "Unable to write data" in str(error):
        return OSError(str(error))
    return error
