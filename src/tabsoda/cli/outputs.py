"""Files that a command writes: checked before the work starts, written all or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tabsoda._internal.files import atomic_path, refuse_to_overwrite
from tabsoda.errors import InputError

# Writes one output to the path it is given.
Writer = Callable[[Path], object]


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path], *, force: bool) -> None:
    """Raise unless every output can be written, is not an input, and is named only once."""
    sources = {path.resolve() for path in inputs}
    seen: set[Path] = set()
    for path in outputs:
        resolved = path.resolve()
        if resolved in sources:
            raise InputError(
                f"The output '{path}' is one of the files to read",
                next_step="Choose another name; --force does not overwrite input files",
            )
        if resolved in seen:
            raise InputError(
                f"The output '{path}' is named twice", next_step="Give each output its own name"
            )
        seen.add(resolved)
        if path.is_dir():
            raise InputError(
                f"The output '{path}' is a folder", expected="the name of a file to write"
            )
        refuse_to_overwrite(path, force=force)
        if not os.access(path.parent, os.W_OK):
            raise InputError(
                f"The folder '{path.parent}' cannot be written to",
                next_step="Change its permissions, or choose another output",
            )


def check_description(output: Path | None, inputs: Iterable[Path | None], *, force: bool) -> None:
    """Raise unless the description of a survey can be written in the format of its file name."""
    if output is not None:
        check_outputs([output], [path for path in inputs if path is not None], force=force)
        # Needs pydantic, which is slow to import.
        from tabsoda.schema.files import description_form

        description_form(output)


def write_together(writers: Mapping[Path, Writer]) -> None:
    """Write every output to a temporary file and move all into place when all are complete."""
    with ExitStack() as moves:
        for path, write in writers.items():
            try:
                write(moves.enter_context(atomic_path(path)))
            except OSError as error:
                raise InputError(
                    f"The output '{path}' cannot be written",
                    found=error.strerror or str(error),
                    next_step="Nothing was written; free some disk space, or choose another folder",
                ) from error
