"""Records of jobs as files: a folder from somebody else may contain anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# What a job cannot do without.
_RECORD = {
    **{"kind": str, "title": str, "parameters": dict},
    **{"wanted": str, "paused": bool, "queued": int | float, "cancelled": int | float},
}


def read_record(folder: Path, identifier: str) -> dict[str, Any]:
    """Return the record of a job; one that cannot be read is a job that failed."""
    content = {"cancelled": 0.0} | (read_object(folder / f"{identifier}.json") or {})
    if all(isinstance(content.get(name), kind) for name, kind in _RECORD.items()):
        # The name of the file counts: what it contains may name another place.
        return {"started": None, **content, "id": identifier}
    return {
        "id": identifier,
        **{"kind": "unknown", "title": f"Job {identifier}", "parameters": {}, "queued": 0.0},
        "damaged": f"The file jobs/{identifier}.json cannot be read",
    }


def read_text(path: Path) -> str:
    """Return the text of a file; nothing if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is none."""
    try:
        content = json.loads(read_text(path), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
