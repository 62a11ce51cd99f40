"""Types of the callbacks that report progress."""

from __future__ import annotations

from collections.abc import Callable

# progress(done, total, what)
Progress = Callable[[int, int, str], None]
# progress(done, total), within one stage
StageProgress = Callable[[int, int], None]
