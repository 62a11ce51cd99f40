"""The analyses that a project keeps, in ``analyses.json``, to be made again after a new run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_json
from tabsoda.analysis.request import EstimateRequest
from tabsoda.desk.project import Project
from tabsoda.errors import InputError

ANALYSES = "analyses.json"
_FORMAT = 1
_MOST = 500
_LONGEST_NAME = 200


def kept_analyses(folder: Path) -> list[dict[str, Any]]:
    """Read the analyses of a project: ``id``, ``name`` and ``request`` of each.

    Parameters
    ----------
    folder : Path
        Of the project.
    """
    path = folder / ANALYSES
    if not path.is_file():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = content["analyses"] if content["format"] == _FORMAT else _wrong_format()
        return [
            {
                "id": int(one["id"]),
                "name": str(one["name"]),
                "request": EstimateRequest.from_dict(one["request"]),
            }
            for one in entries
        ]
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        raise InputError(
            f"The analyses in '{path}' cannot be read",
            found=str(error),
            next_step="Correct the file, or move it away and keep the analyses again",
        ) from error


def keep(project: Project, version: Any, request: EstimateRequest, name: str = "") -> int:
    """Add an analysis, and return its number; one that is the same is only renamed."""
    with project.change(version):
        entries = kept_analyses(project.folder)
        title = " ".join(name.split())[:_LONGEST_NAME] or request.title[:_LONGEST_NAME]
        for one in entries:
            if one["request"] == request:
                one["name"] = title
                _save(project.folder, entries)
                return int(one["id"])
        if len(entries) >= _MOST:
            raise InputError(
                "Too many analyses are kept", found=f"{len(entries)}", expected=f"at most {_MOST}"
            )
        number = 1 + max((one["id"] for one in entries), default=0)
        _save(project.folder, [*entries, {"id": number, "name": title, "request": request}])
        return number


def remove(project: Project, version: Any, number: Any) -> None:
    """Remove a kept analysis."""
    with project.change(version):
        entries = kept_analyses(project.folder)
        left = [one for one in entries if one["id"] != number]
        if len(left) == len(entries):
            raise InputError("This analysis is not kept", found=repr(number)[:40])
        _save(project.folder, left)


def _save(folder: Path, entries: list[dict[str, Any]]) -> None:
    content = [{**one, "request": one["request"].to_dict()} for one in entries]
    write_json(folder / ANALYSES, {"format": _FORMAT, "analyses": content})


def _wrong_format() -> Any:
    raise InputError("The file has another format", expected=str(_FORMAT))
