"""Reads the result folder that ``tabsoda impute`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabsoda._internal.files import file_hash
from tabsoda._internal.free_memory import available_memory
from tabsoda.errors import InputError
from tabsoda.results.imputations import Imputations
from tabsoda.results.manifest import RECORD_FORMAT, RunRecord
from tabsoda.results.record import read_record

MANIFEST = "manifest.json"
RECORD = "record"
# Format of a result imputed in shards, whose tables are folders.
SHARDS_FORMAT = "shards 2"


def load_result(folder: str | Path) -> Imputations:
    """Read the folder that ``tabsoda impute`` or :meth:`Imputations.save` wrote.

    Its files are compared with the hashes in the manifest first, so that a result that was edited
    or copied incompletely is rejected.

    Parameters
    ----------
    folder : str or Path
        The output folder; a result in shards is read as a whole, if it fits in memory.

    Returns
    -------
    Imputations
        Equal to the result in memory; its completed tables are polars frames.

    Examples
    --------
    >>> load_result("nowhere")
    Traceback (most recent call last):
    ...
    tabsoda.errors.InputError: The folder 'nowhere' does not exist. Expected: the output of \
tabsoda impute.
    """
    from polars.exceptions import PolarsError

    folder = Path(folder)
    manifest = load_manifest(folder)
    try:
        if manifest["format"] == SHARDS_FORMAT:
            _check_memory(folder, manifest)
        _check_hashes(folder, manifest)
        return read_record(folder / RECORD, RunRecord.from_manifest(manifest))
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, PolarsError) as error:
        raise InputError(
            f"The result in '{folder}' cannot be read",
            found=f"{type(error).__name__}: {error}",
            next_step="Impute again",
        ) from error


def load_manifest(folder: str | Path) -> dict[str, Any]:
    """Read the manifest of a result: versions, options, counts, hashes and events.

    Parameters
    ----------
    folder : str or Path
        The output folder of a finished ``tabsoda impute``.
    """
    folder = Path(folder)
    path = folder / MANIFEST
    if not folder.is_dir():
        raise InputError(
            f"'{folder}' is a file" if folder.exists() else f"The folder '{folder}' does not exist",
            expected="the output of tabsoda impute",
        )
    if not path.is_file():
        raise _not_finished(folder)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"The manifest '{path}' cannot be read", found=str(error), next_step="Impute again"
        ) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("outputs_sha256"), dict):
        raise InputError(
            f"The folder '{folder}' does not contain a result of tabsoda impute",
            found=f"another {MANIFEST}",
            expected="the output of tabsoda impute",
        )
    found = manifest.get("format")
    if found not in (RECORD_FORMAT, SHARDS_FORMAT):
        version = manifest.get("tabsoda", "another version")
        raise InputError(
            f"The result in '{folder}' has a format that this version does not read",
            found=f"format {found or 0}, written by tabsoda {version}",
            expected=f"format {RECORD_FORMAT}, or {SHARDS_FORMAT}",
            next_step="Impute again with this version",
        )
    return manifest


def _not_finished(folder: Path) -> InputError:
    if (folder / ".checkpoint").exists():
        return InputError(
            f"The result in '{folder}' is not finished",
            next_step="Run the same tabsoda impute command again to finish it",
        )
    return InputError(
        f"The folder '{folder}' does not contain a result",
        found=f"no {MANIFEST}",
        expected="the output of tabsoda impute",
    )


def _check_hashes(folder: Path, manifest: dict[str, Any]) -> None:
    for name, expected in manifest["outputs_sha256"].items():
        path = folder / name
        if not path.is_file():
            raise InputError(
                f"The result in '{folder}' is incomplete",
                found=f"no {name}",
                next_step="Copy the whole folder, or impute again",
            )
        if file_hash(path) != expected:
            raise InputError(
                f"The file '{path}' was changed after it was written",
                expected="the hash in the manifest",
                next_step="Copy the folder again, or impute again",
            )


def _check_memory(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise if a result imputed in shards does not fit into the memory of this machine."""
    counts, options = manifest["counts"], manifest["options"]
    cells = counts["answered"] + counts["skipped"] + counts["missing"]
    # One completed table, plus the values as published, the coded values and their states.
    wanted = 32 * cells + 8 * counts["imputed"] * (options["draws"] + 4)
    free = available_memory()
    if free is not None and wanted > free:
        raise InputError(
            f"The result in '{folder}' is too large to be read as a whole",
            found=f"{counts['rows']:,} rows that take {wanted / 2**30:.1f} GiB",
            expected=f"at most {free / 2**30:.1f} GiB, the free memory",
            next_step="Analyse its Parquet files one draw at a time, with polars.scan_parquet"
            f"('{folder}/imputations/001/*.parquet') or DuckDB, and pool with tabsoda.pool;"
            " or use a machine with more memory",
        )
