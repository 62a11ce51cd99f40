"""``export``: one result, one program, one folder; all of it or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tabsoda._internal.files import write_json
from tabsoda._internal.write_errors import write_error
from tabsoda._version import __version__
from tabsoda.errors import InputError, OutputExistsError, TabSODAError
from tabsoda.events import EventLog

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# Writes everything a program needs into an empty folder, and tells what it had to change.
Writer = Callable[["Imputations", Path, EventLog], None]

TARGETS = ("stata", "r", "spss", "sas", "csv", "parquet")
_MODULES = {
    "stata": "stata",
    "r": "r_mice",
    "spss": "spss",
    "sas": "sas",
    "csv": "csv_files",
    "parquet": "parquet_files",
}
RECORD = "export.json"
_AGAIN = "export again: nothing was written"


def export(result: Imputations, to: str, folder: str | Path, *, force: bool = False) -> list[Path]:
    """Write all draws for another program.

    Parameters
    ----------
    result : Imputations
        Of a survey, with one draw or more.
    to : {"stata", "r", "spss", "sas", "csv", "parquet"}
    folder : str or Path
        Made where absent. It must be empty, unless ``force`` is given.
    force : bool
        Overwrite the files of an earlier export; other files beside them stay.

    Returns
    -------
    list of Path
        What was written. ``export.json`` among it tells which columns were renamed, and every
        other change that a program's limits asked for.
    """
    if to not in TARGETS:
        raise InputError("There is no such export", found=repr(to), expected=" or ".join(TARGETS))
    folder = Path(folder)
    check_target(folder, force=force)
    module = import_module(f"tabsoda.exchange.{_MODULES[to]}")
    write: Writer = module.write
    events = EventLog()
    try:
        work = Path(tempfile.mkdtemp(dir=_home(folder), prefix=f".{folder.name}."))
    except OSError as error:
        raise write_error(folder, error, _AGAIN) from error
    try:
        write(result, work, events)
        record = {
            "tabsoda": __version__,
            "to": to,
            "imputations": len(result),
            "rows": result.table.shape[0],
            "events": events.to_dicts(),
        }
        write_json(work / RECORD, record)
        return _move(work, folder)
    except TabSODAError:
        raise
    except Exception as error:
        raise write_error(folder, _disk_error(error), _AGAIN) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_target(folder: Path, *, force: bool) -> None:
    """Raise where an export could not, or should not, be kept."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"The output '{folder}' is a file", expected="a folder")
    home = _home(folder)
    if not os.access(home, os.W_OK):
        raise InputError(
            f"The folder '{home}' cannot be written to",
            next_step="Change its permissions, or choose another output",
        )
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / RECORD).is_file():
        raise OutputExistsError(
            f"The folder '{folder}' holds something else than an export",
            found=", ".join(sorted(path.name for path in folder.iterdir())[:3]),
            next_step="Choose another folder",
        )
    if not force:
        raise OutputExistsError(
            f"The folder '{folder}' holds an export already",
            next_step="Choose another folder, or add --force to overwrite it",
        )


def _home(folder: Path) -> Path:
    """Return the nearest folder that is there; what is written aside goes into it."""
    absolute = folder.absolute()
    return next(path for path in absolute.parents if path.is_dir())


def _move(work: Path, folder: Path) -> list[Path]:
    """Put finished files in place, the record last; other files in the folder stay."""
    names = sorted((path.name for path in work.iterdir()), key=lambda name: (name == RECORD, name))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    for name in names:
        os.replace(work / name, folder / name)
    return [folder / name for name in names]


def _disk_error(error: Exception) -> Exception:
    """Return the error; that of a full disk, which readstat words its own way, as the system's."""
    from pyreadstat._readstat_parser import ReadstatError

    # The text of readstat's READSTAT_ERROR_WRITE.
    if isinstance(error, ReadstatError) and "Unable to write data" in str(error):
        return OSError(str(error))
    return error
