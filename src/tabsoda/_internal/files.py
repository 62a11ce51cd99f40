"""Atomic file writes that never overwrite a file by accident."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.errors import InputError, OutputExistsError

if TYPE_CHECKING:
    import polars as pl


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


def make_folder(folder: Path) -> None:
    """Create a folder with its parents; raise if that fails, as when a file has its name."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder '{folder}' cannot be created",
            found=error.strerror or str(error),
            next_step="Choose another name or place",
        ) from error


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to the target, moved into place only if the block succeeds."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp creates private files; the result gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


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
