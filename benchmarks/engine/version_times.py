"""Time ``tabsoda impute`` of several versions in turn.

    python benchmarks/engine/version_times.py RESULT.json NAME=SRC [NAME=SRC ...]

SRC is the ``src`` folder of a version. Generated surveys, as installed on the cores there are; the
versions take turns, each in a new process. Medians of seconds, and ratios to the first version.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tabsoda.datasets import make_survey

# Quality, rows, columns, draws, times.
CASES = (
    ("fast", 2000, 12, 10, 3),
    ("balanced", 2000, 12, 10, 3),
    ("fast", 4000, 40, 5, 2),
    ("balanced", 4000, 40, 5, 2),
)


def run(source: str, folder: str, quality: str, n_draws: int) -> float:
    """Return the seconds of one run, by the clock."""
    command = [sys.executable, "-m", "tabsoda.cli.main", "impute", f"{folder}/survey.parquet"]
    command += ["--survey", f"{folder}/survey.toml", "--skip-mask", f"{folder}/skip.parquet"]
    command += ["--quality", quality, "-m", str(n_draws), "-o", f"{folder}/out", "--force"]
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    start = time.perf_counter()
    subprocess.run(
        [*command, "--no-report"],
        env=environment | {"PYTHONPATH": source},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - start


def main() -> None:
    result, *pairs = sys.argv[1:]
    versions = dict(pair.split("=", 1) for pair in pairs)
    first = next(iter(versions))
    found = []
    for quality, n_rows, n_columns, n_draws, times in CASES:
        seconds: dict[str, list[float]] = {name: [] for name in versions}
        with tempfile.TemporaryDirectory() as folder:
            make_survey(n_rows, n_columns=n_columns, seed=3).write(folder, ("parquet",))
            for _ in range(times):
                for name, source in versions.items():
                    seconds[name].append(run(source, folder, quality, n_draws))
        medians = {name: statistics.median(taken) for name, taken in seconds.items()}
        found.append(
            {
                "case": f"{quality}, {n_rows:,} x {n_columns}, {n_draws} draws",
                "cores": os.cpu_count(),
                "seconds": {name: round(value, 1) for name, value in medians.items()},
                "ratio": {
                    name: round(value / medians[first], 2) for name, value in medians.items()
                },
            }
        )
        print(found[-1], flush=True)
        Path(result).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
