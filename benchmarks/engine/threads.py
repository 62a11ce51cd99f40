"""Time fits on one, two, eight and sixteen cores against one thread, alone and next to a busy one.

    python benchmarks/engine/threads.py RESULT.json [--before SRC] [--cases QUALITY:TABLE ...]

Ten draws of a generated survey of 2,000 x 12 ("generated"), five of one of 4,000 x 219 ("large"),
or two of 12,000 x 12 ("long", whose trees are fitted in several threads at a time). A fit has the
network, trees and regressions, with their BLAS. "workers" are two joblib processes, each of which
fits the generated survey.

"As installed" is the machine as it is. With "8 cores" and "16 cores" the process is bound to that
many; if the machine has fewer, the engine is made to see that many, as in a container that shows
the host's cores: threads then outnumber cores. The busy process is bound to one of them.
``--before`` names the ``src`` folder of an earlier version that has ``tabsoda.engine``, which is
timed as installed in the same run. The versions take turns, each in a new process, so that ratios
hold on a machine that is busy with other things; seconds of CPU, which include the process that
fits trees, show threads that spin whatever runs. Only cases that the result file does not hold yet
are run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
CASES = ["fast:generated", "balanced:generated", "fast:large", "fast:long", "fast:workers"]
# Rows, columns and draws.
TABLES = {
    "generated": (2000, 12, 10),
    "large": (4000, 219, 5),
    "long": (12_000, 12, 2),
    "workers": (2000, 12, 10),
}
CORES = (2, 8, 16)
N_WORKERS = 2
# What decides about threads, and is not set "as installed".
OPENMP = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "MKL_NUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="QUALITY:TABLE")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        quality, table, cores = options.one
        bind(int(cores))
        print(json.dumps(measure_here(quality, table, int(cores))))
        return
    found: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "cases": []}
    if options.result.exists():
        found = json.loads(options.result.read_text(encoding="utf-8"))
    done = [(one["case"], one["busy_neighbour"]) for one in found["cases"]]
    for case in options.cases:
        quality, table = case.split(":")
        n_rows, n_columns, _ = TABLES[table]
        for is_busy in (False, True):
            if (case, is_busy) in done:
                continue
            runs = alternate(quality, table, options.before, options.repeats, is_busy)
            found["cases"].append(
                {
                    "case": case,
                    "quality": quality,
                    "table": f"{n_rows:,} x {n_columns}",
                    "busy_neighbour": is_busy,
                    "repeats": options.repeats,
                    **summary(runs),
                }
            )
            options.result.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def alternate(
    quality: str, table: str, before: Path | None, repeats: int, is_busy: bool
) -> dict[str, list[dict[str, Any]]]:
    """Let the versions take turns; return the measurements of each."""
    source = HERE.parents[2] / "src"
    # The source, what the environment says, and how many cores it gets or sees (0: those here).
    versions: dict[str, tuple[Path, dict[str, str], int]] = {
        "one thread": (source, {"OMP_NUM_THREADS": "1"}, 0),
        "as installed": (source, {}, 0),
    }
    versions |= {f"{n} cores": (source, {}, n) for n in CORES}
    if before is not None:
        versions["before"] = (before, {}, 0)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in versions}
    for _ in range(repeats):
        for name, (folder, environment, cores) in versions.items():
            with busy() if is_busy else nullcontext():
                runs[name].append(measure(quality, table, folder, environment, cores))
            print(quality, table, is_busy, name, runs[name][-1], flush=True)
    return runs


def measure(
    quality: str, table: str, source: Path, environment: dict[str, str], cores: int
) -> dict[str, Any]:
    """Run one fit in a new process."""
    kept = {name: value for name, value in os.environ.items() if name not in OPENMP}
    command = [sys.executable, str(HERE), "-", "--one", quality, table, str(cores)]
    environment = kept | {"PYTHONPATH": str(source)} | environment
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read() if process.stdout else ""
    # Unlike the process itself, who waits for it learns what its own processes took, too.
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    result: dict[str, Any] = json.loads(text.splitlines()[-1])
    loading = result.pop("cpu_seconds_before")
    return result | {"cpu_seconds": round(used.ru_utime + used.ru_stime - loading, 2)}


def measure_here(quality: str, table: str, cores: int) -> dict[str, Any]:
    """Fit and impute in this process or in workers, with whatever threads they get."""
    from tabsoda._internal.parallel import run_tasks

    start, cpu = time.perf_counter(), time.process_time()
    if table == "workers":
        tasks = [(quality, table, cores)] * N_WORKERS
        draws = sorted({found for _, found in run_tasks(drawn, tasks, "joblib", N_WORKERS)})
    else:
        draws = [drawn(quality, table, cores)]
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds_before": cpu,
        "draws": " ".join(draws),
    }


def drawn(quality: str, name: str, cores: int) -> str:
    """Fit and draw a table, as on a machine with so many cores; return a hash of the draws."""
    from tabsoda._internal import threads
    from tabsoda.datasets import make_survey
    from tabsoda.engine.engine import DefaultEngine
    from tabsoda.engine.presets import quality_settings

    if cores > len(os.sched_getaffinity(0)):
        threads.load_torch()
        import torch

        threads._affinity = lambda: cores
        threads.cgroup_cores = lambda *_: None
        torch.set_num_threads(cores)
    n_rows, n_columns, n_draws = TABLES[name]
    table = make_survey(n_rows, n_columns=n_columns, seed=1).true_table
    settings = quality_settings(quality, *table.shape)
    engine = DefaultEngine.fit(table, settings, seed=1, device="cpu")
    return hashlib.sha256(engine.impute(table, n_draws).draws.tobytes()).hexdigest()[:12]


def bind(cores: int) -> None:
    """Bind this process to so many cores, if the machine has them; 0 leaves it as it is."""
    available = sorted(os.sched_getaffinity(0))
    if 0 < cores <= len(available):
        os.sched_setaffinity(0, available[:cores])


@contextmanager
def busy() -> Iterator[None]:
    """Keep one core busy meanwhile."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    try:
        yield
    finally:
        process.kill()
        process.wait()


def summary(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the least and median seconds of each version, and ratios to one thread."""
    found: dict[str, Any] = {}
    for name, taken in runs.items():
        found[name] = {
            f"{how}_{what}": round(pick([one[what] for one in taken]), 2)
            for what in ("seconds", "cpu_seconds")
            for how, pick in (("least", min), ("median", statistics.median))
        }
    base = found["one thread"]
    return {
        "versions": found,
        "over_one_thread": {
            name: {what: round(one[what] / base[what], 2) for what in one}
            for name, one in found.items()
            if name != "one thread"
        },
        "same_draws": len({one["draws"] for taken in runs.values() for one in taken}) == 1,
    }


if __name__ == "__main__":
    main()
