"""The folder of a study: one folder per cell, with its settings, its result and a done mark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tabsoda._internal.files import make_folder, make_private, write_json, write_text
from tabsoda.bench.studies.cells import CellSettings
from tabsoda.errors import InputError

_CELLS = "cells"
_DONE = "DONE"


class Store:
    """Results of a study on disk.

    The done mark of a cell is written last, so that an interrupted run loses only the cells in
    progress.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> cell = CellSettings("demo", "0f", "mar", 0, "mode", "mode")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     store.keep(cell, {"metrics": {}})
    ...     store.is_done(cell), store.results()
    (True, [{'metrics': {}}])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder / _CELLS)

    def cell_folder(self, settings: CellSettings) -> Path:
        """Return the folder of a cell."""
        return self.folder / _CELLS / settings.path

    def is_done(self, settings: CellSettings) -> bool:
        """Whether a cell has a result; raise if it was computed with other settings."""
        folder = self.cell_folder(settings)
        if not (folder / _DONE).exists():
            return False
        kept = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        asked = json.loads(json.dumps(settings.to_dict()))
        differing = [name for name in asked if kept.get(name) != asked[name]]
        if differing:
            name = differing[0]
            raise InputError(
                f"The folder '{folder}' contains a result with other settings",
                found=f"{name} = {kept.get(name)!r}",
                expected=f"{name} = {asked[name]!r}",
                next_step="Choose another output, or another label for the method",
            )
        return True

    def keep(self, settings: CellSettings, outcome: dict[str, Any]) -> None:
        """Write the result of a cell, or its failure."""
        folder = self.cell_folder(settings)
        make_private(folder)
        write_json(folder / "settings.json", settings.to_dict())
        if "error" in outcome:
            write_json(folder / "error.json", outcome)
            return
        (folder / "error.json").unlink(missing_ok=True)
        write_json(folder / "result.json", outcome)
        write_text(folder / _DONE, "")

    def results(self) -> list[dict[str, Any]]:
        """Return the results of all cells that are done, ordered by their folders."""
        return [read_json(mark.parent / "result.json") for mark in self._found(_DONE)]

    def failures(self) -> list[dict[str, Any]]:
        """Return the failures of all cells that failed."""
        return [read_json(path) for path in self._found("error.json")]

    def pending(self, cells: Sequence[CellSettings]) -> list[CellSettings]:
        """Return the cells that have no result yet."""
        return [cell for cell in cells if not self.is_done(cell)]

    def collect(self) -> dict[str, Any]:
        """Return all results in one document, without the scores of single columns.

        Tables are built from this form, and it can be archived.
        """
        results = [{k: v for k, v in one.items() if k != "columns"} for one in self.results()]
        failures = [{k: v for k, v in one.items() if k != "trace"} for one in self.failures()]
        return {"cells": results, "failures": failures}

    def _found(self, name: str) -> Iterator[Path]:
        yield from sorted((self.folder / _CELLS).rglob(name))


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
