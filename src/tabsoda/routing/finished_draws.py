"""Finished draws on disk, so that a restarted run does not compute them again."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tabsoda._internal.files import atomic_path, make_folder
from tabsoda.imputed_cells import Values

_HASH_BYTES = hashlib.sha256().digest_size


@dataclass(eq=False)
class FinishedDraws:
    """A folder of arrays, each written as soon as it is computed.

    Attributes
    ----------
    folder : Path
        Created when the first array is written.
    key : str
        Identifies model, table and number of draws; arrays of another key are not used.
    found : list of str
        Names of the arrays that were read instead of computed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     first = FinishedDraws(Path(place), "a")("draw 1", lambda: np.array([1.0, 2.0]))
    ...     again = FinishedDraws(Path(place), "a")
    ...     again("draw 1", lambda: np.zeros(2)).tolist(), again.found
    ([1.0, 2.0], ['draw 1'])
    """

    folder: Path
    key: str
    found: list[str] = field(default_factory=list)

    def __call__(self, name: str, compute: Callable[[], Values]) -> Values:
        """Return the array with this name, from the folder if it is there, else computed."""
        path = self.folder / f"{name.replace(' ', '-')}-{self.key[:16]}.npy"
        found = _read(path)
        if found is not None:
            self.found.append(name)
            return found
        values = compute()
        make_folder(self.folder)
        content = io.BytesIO()
        np.save(content, values)
        with atomic_path(path) as temporary:
            whole = content.getvalue()
            temporary.write_bytes(whole + hashlib.sha256(whole).digest())
        return values


def _read(path: Path) -> Values | None:
    """Return an array; None if the file is absent or damaged, by the hash at its end."""
    try:
        whole = path.read_bytes()
        content, saved = whole[:-_HASH_BYTES], whole[-_HASH_BYTES:]
        if hashlib.sha256(content).digest() != saved:
            return None
        values: Values = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return values


def digest(*parts: bytes | str) -> str:
    """Return one hexadecimal hash of several parts.

    Examples
    --------
    >>> digest("a", b"b") == digest("a", "b"), digest("ab") == digest("a", "b")
    (True, False)
    """
    whole = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        whole.update(len(content).to_bytes(8, "little"))
        whole.update(content)
    return whole.hexdigest()
