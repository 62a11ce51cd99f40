"""Whose output folder it is: free, this run's own unfinished work, or something to leave alone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_json
from tabsoda._internal.write_errors import write_error
from tabsoda.errors import InputError, OutputExistsError

# Holds the finished rounds, model and draws of an unfinished run, and what run it is.
CHECKPOINT = ".checkpoint"
# Holds a result while it is written; its files are moved into place when all are there.
WRITING = ".writing"
_RUN = "run.json"
# What a result may hold, whole or in shards; those beside it are in no list of outputs.
_BESIDE = ("manifest.json", "report.html", "report.json")
RESULTS = (
    *("point.parquet", "point_median.parquet", "states.parquet", "settings.json"),
    *("point", "point_median", "states", "imputations", "record", "model", *_BESIDE),
)


def check_folder(folder: Path, inputs: list[Path], run: dict[str, Any], *, force: bool) -> None:
    """Raise before any work is done where the result could not, or should not, be kept.

    Parameters
    ----------
    folder : Path
    inputs : list of Path
        Files that are read; the folder must not be theirs.
    run : dict
        What makes this run what it is. An unfinished run that is the same may go on.
    force : bool
        Overwrite whatever an earlier run left; what none has written is never overwritten.
    """
    _check_writable(folder)
    if any(path.resolve().parent == folder.resolve() for path in inputs):
        raise InputError(
            f"The folder '{folder}' holds the data itself",
            next_step="Choose a folder of its own for the result",
        )
    if force:
        _refuse_strangers(folder)
        return
    if not folder.exists() or not any(folder.iterdir()):
        return
    if (folder / "manifest.json").exists():
        raise OutputExistsError(
            f"The folder '{folder}' holds a finished result",
            next_step="Choose another folder, or add --force to overwrite it",
        )
    before = _unfinished(folder)
    if before is None:
        raise OutputExistsError(
            f"The folder '{folder}' is not empty",
            found=", ".join(sorted(path.name for path in folder.iterdir())[:3]),
            next_step="Choose another folder, or add --force to write into it",
        )
    if before != run:
        raise OutputExistsError(
            f"The folder '{folder}' holds the unfinished run of another command",
            found=_difference(before, run),
            next_step="Choose another folder, or add --force to start anew in this one",
        )


def _refuse_strangers(folder: Path) -> None:
    """Raise where a result would take the place of something that no run has written."""
    # What an unfinished run has moved into place is on no list yet.
    if not folder.is_dir() or _unfinished(folder) is not None:
        return
    written = _written(folder)
    there = (path for name in RESULTS for path in [folder / name, *(folder / name).rglob("*")])
    names = [path.relative_to(folder).as_posix() for path in there if path.is_file()]
    strangers = [name for name in names if name not in written]
    if strangers:
        raise OutputExistsError(
            f"The folder '{folder}' holds what no run has written, where its result would go",
            found=", ".join(strangers[:3]),
            next_step="Choose another folder, or move these files away",
        )


def _written(folder: Path) -> set[str]:
    """Return the files of a finished result; none where there is no such result."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return {*manifest["outputs_sha256"], *_BESIDE}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def claim_folder(folder: Path, run: dict[str, Any]) -> Path:
    """Make the folder this run's own and return where finished work is kept.

    Work of the same run stays, that of another one is removed.
    """
    checkpoint = folder / CHECKPOINT
    try:
        if checkpoint.exists() and _unfinished(folder) != run:
            shutil.rmtree(checkpoint)
        checkpoint.mkdir(parents=True, exist_ok=True)
        write_json(checkpoint / _RUN, run)
    except OSError as error:
        raise write_error(folder, error, "run the same command again") from error
    return checkpoint


def release_folder(folder: Path) -> None:
    """Undo :func:`claim_folder` where no work has been kept in the folder yet."""
    checkpoint = folder / CHECKPOINT
    if checkpoint.is_dir() and [path.name for path in checkpoint.iterdir()] == [_RUN]:
        shutil.rmtree(checkpoint)
        if not any(folder.iterdir()):
            folder.rmdir()


def _check_writable(folder: Path) -> None:
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise InputError(f"The output '{existing}' is a file", expected="a folder")
    if not os.access(existing, os.W_OK):
        raise InputError(
            f"The folder '{existing}' cannot be written to",
            next_step="Change its permissions, or choose another output",
        )


def _unfinished(folder: Path) -> dict[str, Any] | None:
    """Return what run the folder's unfinished work belongs to; None where there is none."""
    try:
        content = json.loads((folder / CHECKPOINT / _RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _difference(before: dict[str, Any], run: dict[str, Any]) -> str:
    """Say in what two runs differ, at the first place they do."""
    names = [name for name in {**run, **before} if before.get(name) != run.get(name)]
    first = names[0].replace("_", " ")
    old, new = before.get(names[0]), run.get(names[0])
    if isinstance(old, str) and len(old) > 40:
        return f"another file as {first}"
    said = ["none" if one is None else str(one) for one in (old, new)]
    return f"{first} {said[0]} there, {said[1]} now"
