"""The manifest of a result: the run that made it, versions, counts, hashes and all decisions."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._version import __version__
from tabsoda.event_texts import to_dicts_with_text
from tabsoda.survey import InputFile

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.results.imputations import Imputations

# Increased when earlier versions can no longer read a record.
RECORD_FORMAT = 1
_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch")


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The run that made a result.

    Attributes
    ----------
    options : dict
        Parameters of the imputer, the number of draws and how the file was read.
    files : dict of str to InputFile
        The files that were read, with their hashes.
    seconds : float
        Time taken by fitting and imputing.
    skipped_by_rules : int or None
        Cells that only rules mark as skips, not a code or a mask; None if unknown.
    imputer : TabSODAImputer or None
        The fitted imputer, saved with the result; None for a result read from a folder.
    """

    options: dict[str, Any] = field(default_factory=dict)
    files: dict[str, InputFile] = field(default_factory=dict)
    seconds: float = 0.0
    skipped_by_rules: int | None = None
    imputer: TabSODAImputer | None = None

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any]) -> RunRecord:
        """Return the record stored in the manifest of a saved result."""
        files = {
            name: InputFile(Path(one["file"]), one["sha256"])
            for name, one in manifest.get("inputs", {}).items()
        }
        by_rules = manifest.get("counts", {}).get("skipped_by_rules")
        return cls(manifest["options"], files, manifest["seconds"], by_rules)


def result_manifest(result: Imputations, outputs: dict[str, str]) -> dict[str, Any]:
    """Return the manifest of a result that is not split into shards.

    Parameters
    ----------
    result : Imputations
    outputs : dict of str to str
        The hash of every file of the result, by its path within the folder.
    """
    run = result.run or RunRecord({"draws": len(result)})
    counts = result_counts(result)
    if run.skipped_by_rules is not None:
        counts["skipped_by_rules"] = run.skipped_by_rules
    return {
        **run_manifest(RECORD_FORMAT, run.options, run.files, run.seconds),
        "counts": counts,
        "imputed_by_variable": result.counts(),
        "routing": None if result.routing is None else result.routing.to_dict(),
        "edits": None if result.edits is None else result.edits.to_dict(),
        "outputs_sha256": outputs,
        "rounds": rounds_without_losses(result.history),
        "events": to_dicts_with_text(result.events),
    }


def run_manifest(
    form: int | str, options: dict[str, Any], files: Mapping[str, InputFile], seconds: float
) -> dict[str, Any]:
    """Return the common part of the manifests of whole and sharded results.

    Parameters
    ----------
    form : int or str
        Format of the result.
    options : dict
    files : mapping of str to InputFile
    seconds : float
    """
    return {
        "format": form,
        "tabsoda": __version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "options": options,
        "seconds": round(seconds, 1),
        "inputs": {
            name: {"file": one.path.name, "sha256": one.sha256} for name, one in files.items()
        },
    }


def result_counts(result: Imputations) -> dict[str, int]:
    """Return how many cells are answered, skipped, missing and imputed."""
    states = result.table.states
    missing, imputed = int(states.missing.sum()), len(result.cells.rows)
    return {
        "rows": states.shape[0],
        "questions": states.shape[1],
        "answered": int(states.answered.sum()),
        "skipped": int(states.skipped.sum()),
        "missing": missing,
        "imputed": imputed,
        "left_missing": missing - imputed,
    }


def rounds_without_losses(history: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of a fit's history without their long lists of losses."""
    return [{key: value for key, value in entry.items() if key != "losses"} for entry in history]
