"""What ``tabsoda impute`` leaves behind: tables, model, settings and a manifest."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import file_hash, write_json
from tabsoda._internal.write_errors import writing_to
from tabsoda._version import __version__
from tabsoda.imputations.result_tables import write_tables
from tabsoda.imputations.run_folder import CHECKPOINT, WRITING

if TYPE_CHECKING:
    from tabsoda.imputations.imputations import Imputations
    from tabsoda.imputer import TabSODAImputer

_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch")


def write_outputs(
    folder: Path,
    result: Imputations,
    imputer: TabSODAImputer,
    inputs: dict[str, Path],
    options: dict[str, Any],
    seconds: float,
    *,
    skipped_by_rules: int | None = None,
) -> dict[str, Any]:
    """Write everything aside, move it into place, the manifest last; return the manifest.

    A folder with a manifest is therefore complete. ``skipped_by_rules`` is the number of cells that
    only rules mark as skips, not a code or a mask.
    """
    work = folder / WRITING
    shutil.rmtree(work, ignore_errors=True)
    try:
        with writing_to(folder):
            write_tables(result, work)
            imputer.save(work / "model")
            hashes = {
                str(path.relative_to(work)): file_hash(path)
                for path in sorted(work.rglob("*"))
                if path.is_file()
            }
            manifest = _manifest(result, inputs, options, seconds, hashes)
            if skipped_by_rules is not None:
                manifest["counts"]["skipped_by_rules"] = skipped_by_rules
            _move(work, folder)
            write_json(folder / "manifest.json", manifest)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    return manifest


def _move(work: Path, folder: Path) -> None:
    """Put finished files in place; without the manifest the folder still counts as unfinished."""
    for stale in ("manifest.json", "report.html", "report.json"):
        (folder / stale).unlink(missing_ok=True)
    for path in sorted(work.iterdir()):
        target = folder / path.name
        if target.is_dir():
            shutil.rmtree(target)
        path.replace(target)


def _manifest(
    result: Imputations,
    inputs: dict[str, Path],
    options: dict[str, Any],
    seconds: float,
    hashes: dict[str, str],
) -> dict[str, Any]:
    from tabsoda.imputations.record import RECORD_FORMAT

    states = result.table.states
    imputed = len(result.cells.rows)
    return {
        "format": RECORD_FORMAT,
        "tabsoda": __version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "options": options,
        "seconds": round(seconds, 1),
        "counts": {
            "rows": states.shape[0],
            "questions": states.shape[1],
            "answered": int(states.answered.sum()),
            "skipped": int(states.skipped.sum()),
            "missing": int(states.missing.sum()),
            "imputed": imputed,
            "left_missing": int(states.missing.sum()) - imputed,
        },
        "imputed_by_variable": result.counts(),
        "routing": None if result.routing is None else result.routing.to_dict(),
        "inputs": {
            name: {"file": path.name, "sha256": file_hash(path)} for name, path in inputs.items()
        },
        "outputs_sha256": hashes,
        "rounds": [
            {key: value for key, value in entry.items() if key != "losses"}
            for entry in result.history
        ],
        "events": result.events.to_dicts(),
    }
