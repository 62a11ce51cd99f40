"""What functions that take long call to say how far they are."""

from __future__ import annotations

from collections.abc import Callable

# progress(done, total, what)
Progress = Callable[[int, int, str], None]
# progress(done, total), within one stage
StageProgress = Callable[[int, int], None]
