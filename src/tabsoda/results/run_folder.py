"""Checks of the output folder: empty, unfinished work of this run, or files of something else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tabsoda._internal.files import make_private, write_json
from tabsoda._internal.write_errors import write_error
from tabsoda.errors import InputError, OutputExistsError

# Contains the finished parts of an unfinished run (rounds, model, draws) and its identity.
CHECKPOINT = ".checkpoint"
# Contains a result while it is written; its files are moved into place when all are complete.
WRITING = ".writing"
_RUN = "run.json"
# Files of a result, whole or in shards, that the manifest's list of outputs does not contain.
BESIDE = ("manifest.json", "report.html", "report.json", "sensitivity.json")
RESULTS = (
    *("point.parquet", "point_median.parquet", "states.parquet", "settings.json"),
    *("point", "point_median", "states", "imputations", "record", "model", *BESIDE),
)


def check_folder(folder: Path, inputs: list[Path], run: dict[str, Any], *, force: bool) -> None:
    """Raise, before any work is done, if the result could not or should not be written.

    Parameters
    ----------
    folder : Path
    inputs : list of Path
        Input files; they must not be in the folder.
    run : dict
        Identity of this run. An unfinished run with the same identity is continued.
    force : bool
        Overwrite files of an earlier run; other files are never overwritten.
    """
    _check_writable(folder)
    if any(path.resolve().parent == folder.resolve() for path in inputs):
        raise InputError(
            f"The folder '{folder}' contains the input data",
            next_step="Choose a separate folder for the result",
        )
    _refuse_links(folder)
    if force:
        _refuse_other_files(folder)
        return
    if not folder.exists() or not _contents(folder):
        return
    if (folder / "manifest.json").exists():
        raise OutputExistsError(
            f"The folder '{folder}' contains a finished result",
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
            f"The folder '{folder}' contains the unfinished run of another command",
            found=_difference(before, run),
            next_step="Choose another folder, or add --force to start again in this one",
        )


def _refuse_links(folder: Path) -> None:
    """Raise if a part of the result is a link: it would be written to another place."""
    for name in (CHECKPOINT, WRITING, *RESULTS):
        if (folder / name).is_symlink():
            raise InputError(
                f"'{name}' in the folder '{folder}' is a symbolic link",
                found=f"a link to '{os.readlink(folder / name)}'",
                expected="files and folders of a result, which are written nowhere else",
                next_step="Remove the link, or choose another folder",
            )


def _refuse_other_files(folder: Path) -> None:
    """Raise if a result would overwrite files that no run has written."""
    # Files that an unfinished run has moved into place are not listed yet.
    if not folder.is_dir() or _unfinished(folder) is not None:
        return
    written = _written(folder)
    there = (path for name in RESULTS for path in [folder / name, *(folder / name).rglob("*")])
    names = [path.relative_to(folder).as_posix() for path in there if path.is_file()]
    others = [name for name in names if name not in written]
    if others:
        raise OutputExistsError(
            f"The result would overwrite files in '{folder}' that tabsoda impute did not write",
            found=", ".join(others[:3]),
            next_step="Choose another folder, or move these files away",
        )


def _written(folder: Path) -> set[str]:
    """Return the files of a finished result; empty if there is none."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return {*manifest["outputs_sha256"], *BESIDE}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def claim_folder(folder: Path, run: dict[str, Any]) -> Path:
    """Claim the folder for this run, and return the folder for finished work.

    Finished work of the same run is kept, that of another run is removed.
    """
    checkpoint = folder / CHECKPOINT
    try:
        if checkpoint.exists() and _unfinished(folder) != run:
            shutil.rmtree(checkpoint)
        make_private(checkpoint)
        write_json(checkpoint / _RUN, run)
    except OSError as error:
        raise write_error(folder, error, "run the same command again") from error
    return checkpoint


def release_folder(folder: Path) -> None:
    """Undo :func:`claim_folder` if the folder does not contain finished work yet."""
    checkpoint = folder / CHECKPOINT
    if checkpoint.is_dir() and [path.name for path in checkpoint.iterdir()] == [_RUN]:
        shutil.rmtree(checkpoint)
        if not any(folder.iterdir()):
            folder.rmdir()


def _contents(folder: Path) -> list[Path]:
    """Return what a folder contains, without the remains of a run that ended before its claim."""
    found = list(folder.iterdir())
    checkpoint = folder / CHECKPOINT
    if checkpoint not in found or checkpoint.is_symlink() or not checkpoint.is_dir():
        return found
    if all(path.name.startswith(f".{_RUN}.") for path in checkpoint.iterdir()):
        found.remove(checkpoint)
    return found


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
    """Return the identity of the run whose unfinished work is in the folder; None if none."""
    try:
        content = json.loads((folder / CHECKPOINT / _RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _difference(before: dict[str, Any], run: dict[str, Any]) -> str:
    """Describe the first difference between two runs."""
    names = [name for name in {**run, **before} if before.get(name) != run.get(name)]
    first = names[0].replace("_", " ")
    old, new = before.get(names[0]), run.get(names[0])
    if isinstance(old, str) and len(old) > 40:
        return f"a different {first} file"
    texts = ["none" if one is None else str(one) for one in (old, new)]
    return f"{first} {texts[0]} there, {texts[1]} now"
