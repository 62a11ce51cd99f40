"""What ``tabsoda impute`` leaves behind: tables, model, settings and a manifest."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import atomic_path, file_hash, write_json
from tabsoda._version import __version__
from tabsoda.imputations.run_folder import CHECKPOINT, unwritable

if TYPE_CHECKING:
    import polars as pl

    from tabsoda.imputations.imputations import Imputations
    from tabsoda.imputer import TabSODAImputer

_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch")
_STATE_NAMES = ("answered", "missing", "skipped")


def write_outputs(
    folder: Path,
    result: Imputations,
    imputer: TabSODAImputer,
    inputs: dict[str, Path],
    options: dict[str, Any],
    seconds: float,
) -> dict[str, Any]:
    """Write everything aside, move it into place, the manifest last; return the manifest.

    A folder with a manifest is therefore complete.
    """
    from polars.exceptions import PolarsError
    from safetensors import SafetensorError

    from tabsoda.imputations.record import write_record
    from tabsoda.imputations.result_folder import RECORD

    work = folder / ".writing"
    shutil.rmtree(work, ignore_errors=True)
    try:
        (work / "imputations").mkdir(parents=True)
        _write(result.point("mode"), work / "point.parquet")
        _write(result.point("median"), work / "point_median.parquet")
        for number in range(1, len(result) + 1):
            _write(result.complete(number), work / "imputations" / f"{number:03d}.parquet")
        _write(_states_frame(result), work / "states.parquet")
        (work / RECORD).mkdir()
        write_record(result, work / RECORD)
        imputer.save(work / "model")
        write_json(work / "settings.json", result.settings)
        hashes = {
            str(path.relative_to(work)): file_hash(path)
            for path in sorted(work.rglob("*"))
            if path.is_file()
        }
        manifest = _manifest(result, inputs, options, seconds, hashes)
        # From here to the new manifest the folder counts as unfinished.
        for stale in ("manifest.json", "report.html", "report.json"):
            (folder / stale).unlink(missing_ok=True)
        for path in sorted(work.iterdir()):
            target = folder / path.name
            if target.is_dir():
                shutil.rmtree(target)
            path.replace(target)
        write_json(folder / "manifest.json", manifest)
    except (OSError, SafetensorError, PolarsError) as error:
        raise unwritable(folder, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    return manifest


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


def _states_frame(result: Imputations) -> pl.DataFrame:
    import polars as pl

    states = result.table.states
    kinds = pl.Enum(_STATE_NAMES)
    return pl.DataFrame(
        {
            name: pl.Series(states.states[:, position]).replace_strict(
                list(range(len(_STATE_NAMES))), list(_STATE_NAMES), return_dtype=kinds
            )
            for position, name in enumerate(states.names)
        }
    )


def _write(table: pl.DataFrame, path: Path) -> None:
    with atomic_path(path) as temporary:
        table.write_parquet(temporary)
