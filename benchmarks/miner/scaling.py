"""Time and memory of the default screen against rows and columns, on the embedded survey.

    python benchmarks/miner/scaling.py

Writes scaling.json next to this file.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from record import write

from tabsoda.datasets import make_survey
from tabsoda.skips.miner import SkipMiner

HERE = Path(__file__).resolve().parent
SHAPES = (
    (2_000, 200),
    (5_000, 200),
    (10_000, 50),
    (10_000, 100),
    (10_000, 200),
    (10_000, 300),
    (20_000, 200),
    (58_034, 200),
)


def measure(n_rows: int, n_columns: int) -> dict:
    survey = make_survey(n_rows, n_columns, seed=1)
    table = survey.table
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started, cpu_started = time.perf_counter(), time.process_time()
    mined = SkipMiner().mine(table)
    seconds = time.perf_counter() - started
    cpu_seconds = time.process_time() - cpu_started
    found, truth = mined.states.skipped, survey.true_table.states.skipped
    return {
        "rows": table.shape[0],
        "columns": table.shape[1],
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "memory_before_mining_mib": round(before),
        "rules": len(mined.rules),
        "planted_rules": len(survey.rules),
        "precision": round(float((found & truth).sum() / max(found.sum(), 1)), 4),
        "recall": round(float((found & truth).sum() / max(truth.sum(), 1)), 4),
    }


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
        return
    runs = []
    for shape in SHAPES:
        command = [sys.executable, __file__, *map(str, shape)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append(json.loads(output))
        print(runs[-1], flush=True)
    write(HERE / "scaling.json", runs, ("rows", "columns"))


if __name__ == "__main__":
    main()
