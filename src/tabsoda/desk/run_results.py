"""Finished runs of a project as results in memory; the last two that were used are kept."""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from tabsoda.desk.project import Project
from tabsoda.errors import InputError
from tabsoda.results.imputations import Imputations
from tabsoda.results.result_folder import MANIFEST, load_manifest, load_result

# Two threads that ask for the same run should not both read it.
_READING = threading.Lock()


def finished_run(project: Project, name: Any) -> Path:
    """Return the folder of a finished run; the newest one if no name is given.

    Raises
    ------
    InputError
        If there is none.
    """
    if not name:
        finished = [run["name"] for run in project.runs() if run["finished"]]
        if not finished:
            raise InputError("No run is finished yet", next_step="Impute in the third step")
        name = finished[0]
    folder = project.run_folder(name)
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"There is no finished run '{name}'", next_step="Choose another one, or finish it"
        )
    return folder


def run_result(project: Project, name: Any) -> Imputations:
    """Return the result of a finished run, read again only if its files changed."""
    folder = finished_run(project, name)
    return loaded(folder, run_stamp(folder))


def run_manifest(project: Project, name: Any) -> dict[str, Any]:
    """Return the manifest of a finished run."""
    return load_manifest(finished_run(project, name))


def run_stamp(folder: Path) -> tuple[int, int]:
    """Return what changes when a run is written again."""
    found = (folder / MANIFEST).stat()
    return found.st_mtime_ns, found.st_size


def loaded(folder: Path, stamp: tuple[int, int]) -> Imputations:
    """Return the result of a folder, as :func:`run_stamp` found it."""
    with _READING:
        return _loaded(folder, stamp)


@lru_cache(maxsize=2)
def _loaded(folder: Path, stamp: tuple[int, int]) -> Imputations:
    return load_result(folder)
