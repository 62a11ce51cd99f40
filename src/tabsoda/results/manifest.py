"""The manifest of a result: versions, options, counts, hashes and every decision taken."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tabsoda._version import __version__
from tabsoda.event_texts import to_dicts_with_text
from tabsoda.results.record import RECORD_FORMAT
from tabsoda.results.run_record import RunRecord

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations
    from tabsoda.survey import InputFile

_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch")


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
