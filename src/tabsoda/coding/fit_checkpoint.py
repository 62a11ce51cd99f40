"""A file with the state of an unfinished fit, which only the same run uses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from tabsoda._internal.files import atomic_path, make_folder, sealed
from tabsoda._version import __version__
from tabsoda.settings_base import SettingsBase
from tabsoda.table import CodedTable

Arrays = dict[str, NDArray[Any]]


class DamagedFileError(ValueError):
    """The file was cut off or changed."""


class OtherRunError(ValueError):
    """The file belongs to another table, seed, version or other settings."""


class FitCheckpoint:
    """A file that holds arrays and content for JSON, with a hash of both.

    Parameters
    ----------
    path : Path
        Its folder is created.
    table : CodedTable
        Rows in canonical order, so that a reordered file is still the same run.
    settings : SettingsBase
    seed : int
    weights : ndarray of float64, shape (n_rows,), or None
    """

    def __init__(
        self,
        path: Path,
        table: CodedTable,
        settings: SettingsBase,
        seed: int,
        weights: NDArray[np.float64] | None,
    ) -> None:
        make_folder(path.parent)
        self._path = path
        digest = hashlib.sha256(table.values.tobytes())
        digest.update(table.states.states.tobytes())
        columns = [(c.name, c.kind.value, c.n_levels) for c in table.columns]
        digest.update(json.dumps([__version__, columns, settings.to_dict(), seed]).encode())
        digest.update(b"" if weights is None else weights.tobytes())
        self.run = digest.hexdigest()

    def save(self, arrays: Mapping[str, NDArray[Any]], content: dict[str, Any]) -> None:
        """Write the state; a crash while writing keeps the previous one."""
        text = json.dumps({"run": self.run} | content)
        plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        # One file contains both, so that arrays and content always belong together.
        with atomic_path(self._path) as temporary:
            save_file(plain, temporary, metadata={"state": text, "sha256": sealed(text, plain)})

    def load(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the state that an earlier start of the same run saved; None if there is none."""
        if not self._path.exists():
            return None
        try:
            with safe_open(self._path, framework="numpy") as file:
                seal = file.metadata() or {}
            arrays, text = load_file(self._path), seal.get("state", "")
            content = json.loads(text)
        except (SafetensorError, OSError, ValueError, LookupError) as error:
            raise DamagedFileError(str(error)) from error
        if seal.get("sha256") != sealed(text, arrays):
            raise DamagedFileError("another hash")
        if content.get("run") != self.run:
            raise OtherRunError("another run")
        return arrays, content
