"""Measure what each stage of ``tabsoda impute`` costs, and fit the constants of the estimate.

    python benchmarks/engine/cost_calibration.py benchmarks/engine/cost_calibration.json

Generated surveys of several sizes, each in a new process with one thread. Stages are timed in
seconds of CPU, over the probe of the same process, so that other work on the machine hardly
counts. The constants are non-negative least squares on relative errors. Only cases that the result
file does not hold yet are run.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

HERE = Path(__file__).resolve()
FEW_STEPS = "training.max_steps=60"
# Quality or preset, rows, columns, draws, a changed setting.
CASES = [
    ("fast", 300, 20, 5, ""),
    ("fast", 2000, 12, 10, ""),
    ("fast", 2000, 40, 20, ""),
    ("fast", 8000, 20, 5, ""),
    ("fast", 1000, 120, 5, ""),
    ("fast", 4000, 120, 5, ""),
    ("balanced", 300, 20, 5, ""),
    ("balanced", 2000, 12, 10, ""),
    ("balanced", 4000, 40, 5, ""),
    ("balanced", 1000, 120, 5, ""),
    ("balanced", 3000, 120, 5, ""),
    ("best", 500, 12, 2, FEW_STEPS),
    ("best", 1000, 40, 2, FEW_STEPS),
    ("small", 1000, 20, 2, "training.max_steps=400"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        return
    runs: list[dict[str, Any]] = []
    if options.result.exists():
        runs = json.loads(options.result.read_text(encoding="utf-8"))["runs"]
    done = [tuple(run["case"]) for run in runs]
    for case in CASES:
        if case in done:
            continue
        command = [sys.executable, str(HERE), str(options.result), "--one", json.dumps(case)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
        runs.append(json.loads(said.splitlines()[-1]))
        print(case, {k: round(v, 2) for k, v in runs[-1]["seconds"].items()}, flush=True)
        options.result.write_text(json.dumps({"runs": runs}) + "\n", encoding="utf-8")
    content = {"constants": fitted(runs), "memory": fitted_memory(runs), "runs": runs}
    options.result.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def measure(name: str, n_rows: int, n_columns: int, n_draws: int, change: str) -> dict[str, Any]:
    """Run the command here; return the work counted and the CPU seconds of each stage."""
    import tabsoda.imputer.plan as plans
    from tabsoda._internal.machine_speed import probe_seconds
    from tabsoda.cli.main import main as command
    from tabsoda.datasets import make_survey
    from tabsoda.em.peak_memory import memory_work
    from tabsoda.em.stage_work import TableSize, stage_work
    from tabsoda.engines import counted_settings

    seconds = watch_stages()
    counted: dict[str, Any] = {}
    inner = plans._cost

    def count(imputer: Any, survey: Any, m: int, **options: Any) -> Any:
        size = TableSize.of(survey.table)
        settings = counted_settings(imputer.settings_for(*survey.table.shape))
        counted["work"] = stage_work(size, settings, n_draws)
        counted["memory_work"] = memory_work(size, settings, n_draws)
        return inner(imputer, survey, m, **options)

    plans._cost = count
    chosen = "--preset" if name == "small" else "--quality"
    with tempfile.TemporaryDirectory() as folder:
        make_survey(n_rows, n_columns=n_columns, seed=1).write(folder, ("parquet",))
        start = time.process_time()
        given = [f"{folder}/survey.parquet", "--survey", f"{folder}/survey.toml"]
        given += ["--skip-mask", f"{folder}/skip.parquet", "-m", str(n_draws), chosen, name]
        given += ["-o", f"{folder}/out", *(["--set", change] if change else [])]
        shown, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        command(["impute", *given])
        sys.stdout = shown
        whole = time.process_time() - start
    seconds["writing"] = whole - sum(seconds.values())
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "case": [name, n_rows, n_columns, n_draws, change],
        "probe": min(probe_seconds() for _ in range(5)),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        "seconds": seconds,
        **counted,
    }


def watch_stages() -> dict[str, float]:
    """Let every stage add its CPU seconds, without those of stages in it, to what is returned."""
    import tabsoda.experts.growing as trees
    import tabsoda.report.report as report
    from tabsoda.em import engine, fitting
    from tabsoda.em.estimating import Estimator
    from tabsoda.em.refitting import RegressionFit
    from tabsoda.imputer.file_imputation import SurveyFiles
    from tabsoda.paper import engine as paper_engine
    from tabsoda.paper import fitting as paper_fitting
    from tabsoda.paper.e_step import Sampler

    places = [
        (SurveyFiles, "prepare", "reading"),
        (engine.Engine, "fit", "completing"),
        (fitting, "run_em", "training"),
        (paper_engine.PaperEngine, "fit", "completing"),
        (paper_fitting, "run_em", "training"),
        (trees, "grow_experts", "trees"),
        (RegressionFit, "for_points", "regressing"),
        (RegressionFit, "for_draws", "regressing"),
        (Estimator, "fit", "answering"),
        (engine.Engine, "_points", "answering"),
        (engine.Engine, "level_probabilities", "answering"),
        (Sampler, "points", "answering"),
        (paper_engine.PaperEngine, "level_probabilities", "answering"),
        (engine, "draw_values", "drawing"),
        (Sampler, "draw", "drawing"),
        (engine, "redraw", "redrawing"),
        (report, "write_report", "reporting"),
    ]
    seconds = {stage: 0.0 for *_, stage in places}
    inside: list[float] = []
    for owner, name, stage in places:
        setattr(owner, name, _watched(vars(owner)[name], seconds, stage, inside))
    return seconds


def _watched(function: Any, seconds: dict[str, float], stage: str, inside: list[float]) -> Any:
    inner = function.__func__ if isinstance(function, classmethod) else function

    @functools.wraps(inner)
    def watched(*arguments: Any, **options: Any) -> Any:
        start = time.process_time()
        inside.append(0.0)
        try:
            return inner(*arguments, **options)
        finally:
            taken = time.process_time() - start
            seconds[stage] += taken - inside.pop()
            if inside:
                inside[-1] += taken

    return classmethod(watched) if isinstance(function, classmethod) else watched


def fitted(runs: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the probes that one of each count takes, stage by stage."""
    found = {}
    for stage in sorted({name for run in runs for name in run["work"]}):
        rows = [run for run in runs if any(run["work"][stage]) and run["seconds"][stage] > 0]
        counts = np.array([run["work"][stage] for run in rows])
        probes = np.array([run["seconds"][stage] / run["probe"] for run in rows])
        found[stage] = _relative(counts, probes)
    return found


def fitted_memory(runs: list[dict[str, Any]]) -> list[float]:
    """Return the bytes that one of each count takes."""
    counts = np.array([run["memory_work"] for run in runs])
    return _relative(counts, np.array([run["peak_bytes"] for run in runs]))


def _relative(counts: np.ndarray, found: np.ndarray) -> list[float]:
    scale = np.maximum(np.abs(counts).max(axis=0), 1e-300)
    solution, _ = nnls(counts / scale / found[:, None], np.ones(len(found)))
    return [float(f"{one:.3g}") for one in solution / scale]


if __name__ == "__main__":
    main()
