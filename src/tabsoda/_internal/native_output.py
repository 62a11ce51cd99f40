"""Keeps what compiled libraries print away from standard output, which may be JSON."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STDOUT, _STDERR = 1, 2


@contextmanager
def native_output_on_stderr() -> Iterator[None]:
    """Send what C code writes to standard output to standard error instead.

    HiGHS, which scipy calls, prints lines of its own even if its output is switched off.
    """
    try:
        sys.stdout.flush()
        saved = os.dup(_STDOUT)
        os.dup2(_STDERR, _STDOUT)
    except (OSError, ValueError):
        # No standard output, as in a windowed program: nothing can be mixed up.
        yield
        return
    try:
        yield
    finally:
        # C's own buffer would otherwise be written later, to the restored output.
        _flush_c()
        os.dup2(saved, _STDOUT)
        os.close(saved)


def _flush_c() -> None:
    try:
        ctypes.CDLL("msvcrt" if sys.platform == "win32" else None).fflush(None)
    except (OSError, AttributeError):
        return
