"""Atomic, private file writes that never overwrite a file by accident."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.errors import InputError, OutputExistsError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

# Results contain respondents' answers: readable by their owner alone.
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Raise if the path exists and ``force`` is False, or if its folder does not exist."""
    if path.exists() and not force:
        raise OutputExistsError(
            f"The output '{path}' already exists",
            next_step="Choose another name, or add --force to overwrite it",
        )
    if not path.parent.exists():
        raise InputError(
            f"The folder '{path.parent}' does not exist",
            next_step="Create it, or choose another output",
        )


def make_private(folder: Path) -> None:
    """Create a folder and its parents, for their owner alone; existing ones stay as they are."""
    for path in (*reversed(folder.parents), folder):
        if not path.is_dir():
            path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def make_folder(folder: Path) -> None:
    """Create a private folder and its parents; raise InputError if that fails."""
    try:
        make_private(folder)
    except OSError as error:
        raise InputError(
            f"The folder '{folder}' cannot be created",
            found=error.strerror or str(error),
            next_step="Choose another name or place",
        ) from error


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to the target, moved into place only if the block succeeds.

    A new file is readable by its owner alone; one that is replaced keeps its permissions.
    """
    remove_abandoned(path)
    prefix = temporary_prefix(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # A library may have replaced the file that mkstemp made.
        temporary.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE_FILE)
        _flush(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Wait until the disk has the file: some report only then that they are full."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary_prefix(path: Path) -> str:
    """Return how the names of temporary files for a target start: they name this process."""
    # Long names of targets are shortened: with the rest they could exceed the system's limit.
    return f".{path.name[:80]}.{_machine()}-{os.getpid()}."


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def remove_abandoned(path: Path) -> None:
    """Remove temporary files for a target that processes of this machine left when killed."""
    pattern = re.compile(rf"{re.escape(f'.{path.name[:80]}.{_machine()}-')}(\d{{1,9}})\.")
    try:
        names = os.listdir(path.parent)
    except OSError:
        return
    for name in names:
        found = pattern.match(name)
        if found is None or _is_running(int(found.group(1))):
            continue
        old = path.parent / name
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name != "posix":
        # Asking would end the process.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def existing_parent(path: Path) -> Path:
    """Return the nearest existing folder above a path, for temporary files."""
    return next(parent for parent in path.absolute().parents if parent.is_dir())


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_parquet(path: Path, table: pl.DataFrame, **options: Any) -> None:
    """Write a polars frame in one step.

    The file is built in memory first, because polars does not always report why a write failed.

    Parameters
    ----------
    path : Path
    table : polars.DataFrame
    **options
        Of :meth:`polars.DataFrame.write_parquet`.
    """
    content = io.BytesIO()
    table.write_parquet(content, **options)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.getbuffer())


def write_json(path: Path, content: Any) -> None:
    """Write JSON in one step, indented, with a final newline."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a hash of a text and arrays, to recognise a damaged file that can still be read.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = np.zeros(2), np.array([0.0, 1e-300])
    >>> sealed("a", {"x": one}) == sealed("a", {"x": other})
    False
    """
    whole = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        whole.update(f"{name} {array.dtype} {array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()
