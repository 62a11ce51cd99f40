"""Sensitivity analyses kept in a result folder, for its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_json
from tabsoda._internal.folder_lock import hold_folder
from tabsoda._internal.write_errors import writing_to
from tabsoda.analysis.sensitivity_analysis import Sensitivity
from tabsoda.errors import InputError

ANALYSES = "sensitivity.json"
_FORMAT = 1


def save_analysis(folder: Path, found: Sensitivity, asked: Mapping[str, Any]) -> None:
    """Add an analysis to a result folder; it replaces an earlier one of the same estimate.

    Parameters
    ----------
    folder : Path
        Of a finished result.
    found : Sensitivity
    asked : mapping
        What was estimated, as plain values. Analyses are the same if this and the shifted answers
        are; ranges of shifts may differ.
    """
    entry = {"asked": dict(asked), **found.to_dict()}
    with hold_folder(folder):
        others = [one for one in _entries(folder) if _identity(one) != _identity(entry)]
        with writing_to(folder, "run the same command again"):
            write_json(folder / ANALYSES, {"format": _FORMAT, "analyses": [*others, entry]})


def load_analyses(folder: Path) -> list[Sensitivity]:
    """Read the analyses of a result folder, in the order they were made."""
    entries = _entries(folder)
    try:
        return [Sensitivity.from_dict(entry) for entry in entries]
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(folder, f"{type(error).__name__}: {error}") from error


def _entries(folder: Path) -> list[dict[str, Any]]:
    path = folder / ANALYSES
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(folder, str(error)) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise _unreadable(folder, "another file, or one of another version")
    return list(content["analyses"])


def _identity(entry: Mapping[str, Any]) -> str:
    shifts = [(one["shift"], one["unit"]) for one in entry["shifts"]]
    return json.dumps([entry["asked"], entry["term"], shifts], sort_keys=True)


def _unreadable(folder: Path, found: str) -> InputError:
    return InputError(
        f"The analyses in '{folder / ANALYSES}' cannot be read",
        found=found,
        expected="the file that tabsoda sensitivity wrote",
        next_step="Remove it, and run tabsoda sensitivity again",
    )
