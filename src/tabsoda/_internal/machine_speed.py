"""How fast one core of this machine is, independent of other programs."""

from __future__ import annotations

import time

import numpy as np

from tabsoda._internal.threads import worker_threads

_REPEATS = 9


def probe_seconds() -> float:
    """Return the CPU seconds that one core takes for a small fixed workload.

    The workload is a mix of matrix products, array operations and Python code, like a fit. The
    result is the minimum of several repeats in CPU time, so that other programs on the same core
    do not make it look slow.
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
