"""The file ``project.json``: what it contains, and how it is read and checked."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from tabsoda.errors import InputError

PROJECT = "project.json"
FORMAT = 1
EMPTY: dict[str, Any] = {
    "format": FORMAT,
    "version": 0,
    "data": None,
    "description": {
        "start": None,
        "codebook": None,
        "form": None,
        "settings": [],
        "undone": [],
        "written": None,
    },
    "settings": {"unlisted": "error", "suppress_below": 0, "reviewer": ""},
}


def load_project_file(path: Path) -> dict[str, Any]:
    """Read ``project.json``; keys that an earlier version did not write get their defaults."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"The project file '{path}' cannot be read",
            found=str(error),
            next_step="Restore it from a copy, or delete it: survey.toml, rules.toml and runs stay",
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(
            f"The project file '{path}' has another format",
            found=repr(content.get("format") if isinstance(content, dict) else content)[:80],
            expected=str(FORMAT),
            next_step="Open it with the version of tabsoda that wrote it, or a newer one",
        )
    merged = copy.deepcopy(EMPTY) | {"name": path.parent.name} | content
    for part in ("description", "settings"):
        given = content.get(part, {})
        merged[part] = copy.deepcopy(EMPTY[part]) | given if isinstance(given, dict) else None
    wrong = _wrong_part(merged)
    if wrong:
        raise InputError(
            f"The project file '{path}' is damaged",
            found=f"an unusable entry '{wrong}'",
            next_step="Restore it from a copy, or delete it: survey.toml, rules.toml and runs stay",
        )
    return merged


def _wrong_part(content: dict[str, Any]) -> str:
    """Return the first entry of ``project.json`` that the steps could not use; "" if none."""
    texts = {"name": content["name"]}
    if content["data"] is not None:
        data = content["data"] if isinstance(content["data"], dict) else {}
        texts |= {f"data.{key}": data.get(key) for key in ("path", "sha256")}
    settings, description = content["settings"], content["description"]
    if settings is None or description is None:
        return "settings" if settings is None else "description"
    texts |= {f"settings.{key}": settings[key] for key in ("unlisted", "reviewer")}
    for key in ("start", "codebook", "written"):
        texts[f"description.{key}"] = description[key] if description[key] is not None else ""
    wrong = [name for name, text in texts.items() if not isinstance(text, str) or "\0" in text]
    counts = {"version": content["version"], "settings.suppress_below": settings["suppress_below"]}
    wrong += [name for name, one in counts.items() if type(one) is not int or one < 0]
    for key in ("settings", "undone"):
        lists = description[key]
        if not isinstance(lists, list) or not all(
            isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists
        ):
            wrong.append(f"description.{key}")
    form = description["form"]
    if form is not None and not (isinstance(form, dict) and isinstance(form.get("path"), str)):
        wrong.append("description.form")
    return wrong[0] if wrong else ""
