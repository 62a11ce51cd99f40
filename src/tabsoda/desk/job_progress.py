"""The progress of a job, written to a file for the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_json
from tabsoda.progress import Progress

_INTERVAL_SECONDS = 0.5


class JobProgress:
    """Writes the stage, the share done and the time left of a job, twice a second.

    Time during which the process was stopped does not count.

    Parameters
    ----------
    path : Path
    clock : callable
        Returns seconds.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._state: dict[str, Any] = {"stage": "Starting", "what": "", "done": 0, "total": 0}
        self._notes: dict[str, Any] = {}
        self._worked = self._stage_worked = 0.0
        self._last = clock()
        self._ended = threading.Event()

    @contextmanager
    def running(self) -> Iterator[JobProgress]:
        """Write the progress during the block, from a thread."""
        writer = threading.Thread(target=self._write_often, daemon=True)
        writer.start()
        try:
            yield self
        finally:
            self._ended.set()
            writer.join()
            self.write()

    @contextmanager
    def stage(self, name: str) -> Iterator[Progress]:
        """Begin a stage; yields the callback ``progress(done, total, what)``."""
        self._set(stage=name, what="", done=0, total=0)
        self._stage_worked = self._worked
        yield self._update

    def note(self, **values: Any) -> None:
        """Keep plain values that the page shows next to the progress."""
        with self._lock:
            self._notes |= values
        self.write()

    def tick(self) -> None:
        """Count the time since the last tick; a long gap means that the process was stopped."""
        now = self._clock()
        self._worked += min(now - self._last, 4 * _INTERVAL_SECONDS)
        self._last = now

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as plain values; ``seconds_left`` is that of the stage."""
        with self._lock:
            state, notes = dict(self._state), dict(self._notes)
        share = state["done"] / state["total"] if state["total"] else 0.0
        elapsed = self._worked - self._stage_worked
        left = elapsed * (1 - share) / share if 0 < share < 1 else None
        return {
            **state,
            "seconds": round(self._worked, 1),
            "seconds_left": None if left is None else round(left, 1),
            **notes,
        }

    def write(self) -> None:
        """Write the file now."""
        write_json(self.path, self.to_dict())

    def _update(self, done: int, total: int, what: str) -> None:
        self._set(done=done, total=total, what=what)

    def _set(self, **values: Any) -> None:
        with self._lock:
            self._state |= values

    def _write_often(self) -> None:
        while not self._ended.wait(_INTERVAL_SECONDS):
            self.tick()
            try:
                self.write()
            except OSError:
                # A full disk is reported by the work itself.
                continue
