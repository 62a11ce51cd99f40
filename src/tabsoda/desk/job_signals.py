"""Signals to a job: to its process and to those that it has started, which are one group."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

# Whether this system can stop and continue processes.
PAUSES = hasattr(signal, "SIGSTOP") and hasattr(os, "killpg")


def pause_group(process: int | None) -> None:
    """Stop every process of a group; they keep their memory."""
    _send(process, "SIGSTOP")


def resume_group(process: int | None) -> None:
    """Continue every process of a group."""
    _send(process, "SIGCONT")


def end_group(process: int | None) -> None:
    """Ask every process of a group to end, also those that are stopped."""
    _send(process, "SIGTERM")
    _send(process, "SIGCONT")


def kill_group(process: int | None) -> None:
    """Kill every process of a group."""
    _send(process, "SIGKILL")


def _send(process: int | None, name: str) -> None:
    if process is None:
        return
    # It may have ended in the meantime.
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process, getattr(signal, name))
        elif name in ("SIGTERM", "SIGKILL"):
            os.kill(process, signal.SIGTERM)
