"""A project as one .zip file, to be handed over and opened again elsewhere."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tabsoda._internal.files import atomic_path, file_hash
from tabsoda.desk.project import is_project
from tabsoda.desk.project_file import PROJECT, load_project_file
from tabsoda.errors import InputError
from tabsoda.progress import Progress
from tabsoda.reading.files import ENDINGS
from tabsoda.results.result_folder import MANIFEST

# What belongs to this machine or to unfinished work.
_LEFT_OUT = ("jobs", "uploads", "replaced")
_README = """{name}: a project of TabSODA.

Unpack it, and open it with:    tabsoda desk {name}
The commands of tabsoda read the same files: survey.toml, rules.toml, runs/NAME, exports/NAME.
{notes}"""
_NO_MODEL = "The fitted models were left out: new answers cannot be imputed with them.\n"
_NO_DATA = "The survey file was left out; runs and exports contain the answers that they used.\n"


def archive_project(
    folder: str | Path,
    path: str | Path,
    *,
    models: bool = True,
    data: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Write a project to a .zip file that opens again on another machine.

    Parameters
    ----------
    folder : str or Path
        Of the project.
    path : str or Path
        Ends in .zip; an existing file is replaced.
    models : bool
        Include the fitted models, the largest part of most runs.
    data : bool
        Include the survey file, also if it lies outside the folder; otherwise all surveys in the
        folder ``data`` are left out, such as earlier copies.
    progress : callable, optional
        Called as ``progress(done, total, what)``.

    Returns
    -------
    Path
        The written file.
    """
    folder, path = Path(folder).absolute(), Path(path).absolute()
    if not is_project(folder):
        raise InputError(
            f"The folder '{folder}' is not a project", expected=f"a folder with {PROJECT}"
        )
    if path.suffix.lower() != ".zip" or not path.parent.is_dir():
        raise InputError(
            "The archive cannot be written there",
            found=str(path),
            expected="a name that ends in .zip, in an existing folder",
        )
    content = load_project_file(folder / PROJECT)
    survey = _survey_file(folder, content)
    codebook = _codebook(folder, content)
    apart = (survey, codebook, path)
    kept = None if data else _form(folder, content)
    chosen = [
        one
        for one in _files(folder, models=models)
        if one not in apart and (data or one == kept or not _is_survey(folder, one))
    ]
    update = progress or (lambda done, total, what: None)
    name = folder.name
    with (
        atomic_path(path) as temporary,
        # Files from before 1980 get the earliest date that the format has.
        zipfile.ZipFile(
            temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=6, strict_timestamps=False
        ) as packed,
    ):
        for done, file in enumerate(chosen):
            inside = file.relative_to(folder).as_posix()
            update(done, len(chosen), inside)
            if not models and _is_manifest(folder, file):
                packed.writestr(f"{name}/{inside}", _without_model(file))
            else:
                packed.write(file, f"{name}/{inside}")
        if survey is not None and data:
            content["data"]["path"] = _place(folder, survey, packed)
            packed.write(survey, f"{name}/{content['data']['path']}")
        if codebook is not None:
            content["description"]["codebook"] = _place(folder, codebook, packed)
            packed.write(codebook, f"{name}/{content['description']['codebook']}")
        packed.writestr(f"{name}/{PROJECT}", json.dumps(content, indent=2))
        notes = _NO_MODEL * (not models) + _NO_DATA * (survey is not None and not data)
        packed.writestr(f"{name}/README.txt", _README.format(name=name, notes=notes))
    return path


def _survey_file(folder: Path, content: dict[str, Any]) -> Path | None:
    """Return the survey file; raise if one outside the project is not the one that was opened."""
    data = content["data"]
    found = None if data is None else folder / data["path"]
    if found is None or not found.is_file():
        return None
    # A project from somebody else may name any file of this machine.
    if not _is_inside(folder, found) and file_hash(found) != data["sha256"]:
        raise InputError(
            f"The survey file '{found}' is not the one that was opened",
            next_step="Open it again in the first step of tabsoda desk",
        )
    return found


def _codebook(folder: Path, content: dict[str, Any]) -> Path | None:
    """Return the codebook, without which the description cannot be written again."""
    name = content["description"]["codebook"]
    found = None if name is None else folder / name
    is_codebook = found is not None and found.suffix.lower() == ".xml" and found.is_file()
    return found if is_codebook else None


def _form(folder: Path, content: dict[str, Any]) -> Path | None:
    form = content["description"]["form"]
    return None if form is None else folder / form["path"]


def _is_survey(folder: Path, file: Path) -> bool:
    """Return whether a file may contain answers: the format cannot tell a form from a survey."""
    return file.relative_to(folder).parts[0] == "data" and file.suffix.lower() in ENDINGS


def _is_inside(folder: Path, file: Path) -> bool:
    """Return whether a file lies in a folder, after all links."""
    return file.resolve().is_relative_to(folder.resolve())


def _is_manifest(folder: Path, file: Path) -> bool:
    parts = file.relative_to(folder).parts
    return len(parts) == 3 and parts[0] == "runs" and parts[2] == MANIFEST


def _place(folder: Path, file: Path, packed: zipfile.ZipFile) -> str:
    """Return where a file is in the archive: in data/ under a free name, if it lies outside."""
    if file.is_relative_to(folder) and ".." not in file.parts:
        return file.relative_to(folder).as_posix()
    taken, place, number = set(packed.namelist()), PurePosixPath("data") / file.name, 2
    while f"{folder.name}/{place}" in taken:
        place = PurePosixPath("data") / f"{file.stem}-{number}{file.suffix}"
        number += 1
    return str(place)


def _files(folder: Path, *, models: bool) -> Iterator[Path]:
    """Yield the files to pack, in the order of their names."""
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in parts)
        own = parts[0] in _LEFT_OUT or parts in ((PROJECT,), ("server.json",), ("README.txt",))
        model = not models and parts[0] == "runs" and len(parts) > 2 and parts[2] == "model"
        if not file.is_file() or hidden or own or model or parts[-1].endswith(".zip"):
            continue
        # A link in a project from somebody else may lead to any file of this machine.
        if _is_inside(folder, file):
            yield file


def _without_model(manifest: Path) -> str:
    """Return a manifest that does not list the files of the model, so that the rest is complete."""
    content = json.loads(manifest.read_text(encoding="utf-8"))
    content["outputs_sha256"] = {
        name: found
        for name, found in content.get("outputs_sha256", {}).items()
        if not name.startswith("model/")
    }
    return json.dumps(content, indent=2, ensure_ascii=False)
