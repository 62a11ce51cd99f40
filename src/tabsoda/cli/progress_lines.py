"""Durations as text, and progress in a log file: a line per minute, where there is no terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

INTERVAL_SECONDS = 60.0


def duration_text(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours.

    Examples
    --------
    >>> duration_text(40), duration_text(600), duration_text(9000)
    ('40 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} second{'' if seconds < 1.5 else 's'}"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


class ProgressLines:
    """Stores the progress of some work and describes it in one line.

    Parameters
    ----------
    description : str
        What is being done, such as ``"Fitting"``.
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> times = iter([0.0, 90.0])
    >>> lines = ProgressLines("Imputing", clock=lambda: next(times))
    >>> lines.update(1, 4, "draw 1 of 4")
    >>> lines.line()
    'Imputing: draw 1 of 4, 25 %, about 4 minutes left'
    """

    def __init__(self, description: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._description = description
        self._clock = clock
        self._start = clock()
        # One tuple, replaced as a whole: the writing thread never sees a half-updated state.
        self._state = (0.0, "")

    def update(self, done: int, total: int, what: str = "") -> None:
        """Store how much is done, and the current step."""
        self._state = (done / total if total else 0.0, what)

    def line(self) -> str:
        """Return one line: the current step, the share done and the estimated time left."""
        share, what = self._state
        elapsed = self._clock() - self._start
        step = f"{self._description}: {what}" if what else self._description
        if 0 < share < 1:
            left = duration_text(elapsed * (1 - share) / share)
            return f"{step}, {100 * share:.0f} %, about {left} left"
        return f"{step}, for {duration_text(elapsed)} so far"


@contextmanager
def progress_lines(
    description: str,
    *,
    interval: float | None = None,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[int, int, str], None]]:
    """Write a line to stderr every minute, or every ``interval`` seconds, while the block runs.

    A separate thread writes the lines, so that they appear even if the work reports nothing for a
    long time.
    """
    lines = ProgressLines(description, clock)
    finished = threading.Event()
    seconds = INTERVAL_SECONDS if interval is None else interval
    log = sys.stderr if stream is None else stream

    def write() -> None:
        while not finished.wait(seconds):
            log.write(f"{lines.line()}\n")
            log.flush()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield lines.update
    finally:
        finished.set()
        writer.join()
