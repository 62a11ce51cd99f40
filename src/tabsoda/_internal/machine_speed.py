"""How fast one core of this machine is, whatever else runs on it."""

from __future__ import annotations

import time

import numpy as np

from tabsoda._internal.threads import worker_threads

_REPEATS = 9


def probe_seconds() -> float:
    """Return the CPU seconds that one core takes for a little fixed work.

    Matrix products, passes over arrays, and Python: what a fit consists of. The least of some
    repeats, in CPU time: a core that another program shares is not counted as a slow one.
    """
    square = np.full((192, 192), 0.5, dtype=np.float32)
    numbers = np.linspace(-3.0, 3.0, 100_000, dtype=np.float32)
    taken = []
    with worker_threads(1):
        for _ in range(_REPEATS):
            start = time.thread_time()
            for _ in range(20):
                square @ square
            np.sort(np.exp(-numbers * numbers))
            sum(number % 7 for number in range(20_000))
            taken.append(time.thread_time() - start)
    return min(taken)
