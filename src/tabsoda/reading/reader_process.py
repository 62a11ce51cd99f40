"""Reads files in a process of its own, so that a crash of a reader is an error message.

The libraries that read SPSS, Stata and SAS files are written in C and those for Parquet and Excel
in Rust. On damaged or hostile files they may crash, take all memory or never return. The process
has limits on time everywhere, and on memory where the system enforces such limits (Linux).
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.free_memory import available_memory
from tabsoda.events import EventLog
from tabsoda.reading import reader_program

if TYPE_CHECKING:
    import polars as pl

_MEGABYTE = 1_000_000
# A good file takes a tenth of this or less.
_SECONDS, _SECONDS_PER_MEGABYTE = 60, 2
# Waiting for a slow disk or for other programs takes no processor time.
_WAITING = 10


class ReaderFailure(Exception):  # noqa: N818 - not for users: turned into an InputError
    """A file could not be read; the message says what was found."""


def read_apart(
    path: Path, task: str, events: EventLog
) -> tuple[dict[str, Any], pl.DataFrame | None]:
    """Read a file in a process of its own.

    Parameters
    ----------
    path : Path
    task : {"statistics", "names", "parquet", "excel"}
        Read an SPSS, Stata or SAS file, or the names of its columns; or only check that a Parquet
        file or an Excel workbook can be decoded.
    events : EventLog
        Records where a limit or the process of its own is not available.

    Returns
    -------
    dict, polars.DataFrame or None
        As :func:`tabsoda.reading.reader_program.read_statistics_file` returns them.

    Raises
    ------
    ReaderFailure
    """
    import polars as pl

    request = _request(path, task)
    apart = _can_start_python()
    if request["bytes"] is None:
        events.add(
            "reader_not_limited", where="a process of its own" if apart else "the same process"
        )
    if not apart:
        described, table = reader_program.answer(request)
    else:
        described, rest = _split(*_ask(request), request["seconds"])
        table = pl.read_ipc_stream(io.BytesIO(rest)) if rest else None
    if "failed" in described:
        raise ReaderFailure(_failure(described["failed"]))
    return described, table


def _can_start_python() -> bool:
    """Whether a Python interpreter can be started: not in a frozen or embedded program."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _request(path: Path, task: str) -> dict[str, Any]:
    megabytes = path.stat().st_size // _MEGABYTE
    # Other systems accept a limit on memory and do not enforce it.
    is_limited = _can_start_python() and sys.platform == "linux"
    return {
        "task": task,
        "path": str(path.absolute()),
        "seconds": _SECONDS + _SECONDS_PER_MEGABYTE * megabytes,
        "bytes": available_memory() if is_limited else None,
        # The same libraries as here. Without "": the folder of the data may contain anything.
        "sys_path": [entry for entry in sys.path if entry],
    }


def _ask(request: dict[str, Any]) -> tuple[bytes, int | None]:
    """Run the program; return its answer and how it ended, None if its time was over."""
    # Isolated from PYTHON variables and from the current folder; UTF-8 whatever the locale is.
    command = [sys.executable, "-I", "-X", "utf8", str(Path(reader_program.__file__))]
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        line = json.dumps(request).encode("ascii") + b"\n"
        written, _ = process.communicate(line, timeout=request["seconds"] * _WAITING)
    except subprocess.TimeoutExpired:
        return b"", None
    finally:
        # Also after an interrupt: nothing is left running.
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    return written, process.returncode


def _split(written: bytes, code: int | None, seconds: int) -> tuple[dict[str, Any], memoryview]:
    """Split an answer into its two parts; raise if the program ended before it was complete."""
    start = reader_program.LENGTH_BYTES
    end = start + int.from_bytes(written[:start], "little")
    if code or len(written) < start or len(written) < end:
        raise ReaderFailure(_end(code, seconds))
    return json.loads(written[start:end]), memoryview(written)[end:]


def _end(code: int | None, seconds: int) -> str:
    too_long = getattr(signal, "SIGXCPU", None)
    if code is None or (too_long is not None and code == -too_long):
        return f"a content for which {seconds} seconds are not enough"
    if code < 0:
        return f"a content that crashes the reader ({signal.Signals(-code).name})"
    return "a content that ends the reader"


def _failure(text: str) -> str:
    return "a content that takes more memory than is free" if text == "memory" else text
