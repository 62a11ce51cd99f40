"""Runs one try in a forked process: with a fault, under limits, or killed from outside.

The parent imports everything once and computes nothing, so that a fork is whole: libraries start
their threads in the children.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIGNALLED = 1000


@dataclass(frozen=True)
class Fault:
    """What happens at one of the moments at which a command changes files.

    Attributes
    ----------
    kind : {"count", "kill", "full", "quota", "memory", "interrupt", "terminate"}
        Count the moments; kill -9; no space left; quota exceeded; no memory; SIGINT; SIGTERM.
    moment : int
        From 0.
    under : str
        Only files under this folder count.
    """

    kind: str
    moment: int = -1
    under: str = "/"


def load_libraries() -> None:
    """Import everything that commands import."""
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import polars  # noqa: F401
    import pyreadstat  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.ensemble  # noqa: F401
    import torch  # noqa: F401

    import tabsoda.analysis
    import tabsoda.cli.main
    import tabsoda.exchange.exporting
    import tabsoda.imputer.file_imputation
    import tabsoda.report.report
    import tabsoda.review.session
    import tabsoda.scale.imputing  # noqa: F401


def attempt(
    action: Callable[[], Any],
    *,
    fault: Fault | None = None,
    limits: dict[int, int] | None = None,
    after: tuple[float, int] | None = None,
    timeout: float = 120,
) -> tuple[int, str]:
    """Run an action in a forked process.

    Parameters
    ----------
    action : callable
        May return an exit code.
    fault : Fault, optional
    limits : dict of int to int, optional
        Resource limits.
    after : (float, int), optional
        Seconds after which a signal is sent.
    timeout : float
        Seconds after which the try counts as hanging.

    Returns
    -------
    int, str
        The exit code, or 1000 plus the signal that ended it, and all output.
    """
    # A pipe: limits on the size of files would cut off what a file contains.
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            _run(action, writing, fault, limits)
        finally:
            os._exit(1)
    os.close(writing)
    os.set_blocking(reading, False)
    output = bytearray()
    status = _wait(child, reading, output, after, timeout)
    os.close(reading)
    text = output.decode("utf-8", "replace")
    if os.WIFSIGNALED(status):
        return SIGNALLED + os.WTERMSIG(status), text
    return os.WEXITSTATUS(status), text


def _wait(
    child: int, reading: int, output: bytearray, after: tuple[float, int] | None, timeout: float
) -> int:
    start = time.monotonic()
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        _drain(reading, output)
        if found:
            return status
        passed = time.monotonic() - start
        if after is not None and passed >= after[0]:
            os.kill(child, after[1])
            after = None
        if passed > timeout:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return signal.SIGALRM
        time.sleep(0.002)


def _drain(reading: int, output: bytearray) -> None:
    """Read what a child has written so far."""
    with suppress(BlockingIOError):
        while part := os.read(reading, 65536):
            output += part


def _run(
    action: Callable[[], Any], output: int, fault: Fault | None, limits: dict[int, int] | None
) -> None:
    """Run in the child; never returns."""
    code = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for which, value in (limits or {}).items():
            resource.setrlimit(which, (value, value))
        moments = _Moments(fault) if fault is not None else None
        if moments is not None:
            sys.addaudithook(moments)
        found = action()
        code = found if isinstance(found, int) else 0
        if moments is not None and moments.fault.kind == "count":
            moments.is_on = False
            print(f"MOMENTS {moments.seen}")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Moments:
    """An audit hook that counts changes of files and acts at one of them."""

    _CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link")

    def __init__(self, fault: Fault) -> None:
        self.fault, self.seen, self.is_on = fault, 0, True

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on or not self._is_change(event, arguments):
            return
        moment, self.seen = self.seen, self.seen + 1
        if moment != self.fault.moment:
            return
        if self.fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.fault.kind == "interrupt":
            raise KeyboardInterrupt
        elif self.fault.kind == "terminate":
            os.kill(os.getpid(), signal.SIGTERM)
        elif self.fault.kind == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        elif self.fault.kind == "quota":
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        elif self.fault.kind == "memory":
            raise MemoryError

    def _is_change(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            path, mode, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not writes and not (isinstance(mode, str) and set(mode) & set("wax+")):
                return False
        elif event in self._CHANGES:
            path = arguments[0]
        else:
            return False
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        return os.fsdecode(path).startswith(self.fault.under)


def moments(action: Callable[[], Any], under: Path) -> int:
    """Return how many times an action changes files under a folder; it must succeed."""
    code, text = attempt(action, fault=Fault("count", under=str(under)))
    if code != 0 or "MOMENTS" not in text:
        raise RuntimeError(f"the action fails without a fault: {code} {text}")
    return int(text.rsplit("MOMENTS", 1)[1])


def command(*arguments: object) -> Callable[[], None]:
    """Return an action that runs a command of tabsoda."""

    def action() -> None:
        from tabsoda.cli.main import main

        main([str(argument) for argument in arguments])

    return action
