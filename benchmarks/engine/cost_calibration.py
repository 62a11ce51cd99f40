"""Measure what each stage of ``tabsoda impute`` costs, and fit the constants of the estimate.

    python benchmarks/engine/cost_calibration.py benchmarks/engine/cost_calibration.json

Generated surveys of several sizes, each in a new process with one thread. Stages are timed in
seconds of CPU, over the probe of the same process, so that other work on the machine hardly
counts. The constants are non-negative least squares on relative errors. Only cases that the result
file does not hold yet are run; delete it to measure another version.
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
# Bytes that a drawn cell takes at least: two copies.
_DRAWN_CELL = 16.0
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
    from tabsoda import engines
    from tabsoda.cli.main import main as command
    from tabsoda.cost.estimate import probe_seconds
    from tabsoda.datasets import make_survey

    seconds = watch_stages()
    counted: dict[str, Any] = {}
    inner = engines.plan_work

    def count(*arguments: Any, **options: Any) -> Any:
        plan, threads = inner(*arguments, **options)
        counted.update(work=plan.stages, memory_work=plan.memory)
        return plan, threads

    engines.plan_work = count
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
    from tabsoda.engine import draws, fit
    from tabsoda.engine.engine import DefaultEngine
    from tabsoda.engine.ensemble import Ensemble
    from tabsoda.engine.network.network import Network
    from tabsoda.engine.regressions.fit import RegressionFit
    from tabsoda.engine.trees import background_fit
    from tabsoda.imputer.file_imputation import SurveyFiles
    from tabsoda.paper import fit as paper_fit
    from tabsoda.paper.e_step import Sampler
    from tabsoda.paper.engine import PaperEngine
    from tabsoda.report import report

    places = [
        (SurveyFiles, "prepare", "reading"),
        (DefaultEngine, "fit", "completing"),
        (Network, "fit", "training"),
        (background_fit, "fit_trees", "trees"),
        (RegressionFit, "for_points", "regressing"),
        (RegressionFit, "for_draws", "regressing"),
        (Ensemble, "fit", "answering"),
        (Ensemble, "points", "answering"),
        (DefaultEngine, "level_probabilities", "answering"),
        (draws, "draw_answers", "drawing"),
        (draws.Drawer, "draw", "redrawing"),
        (PaperEngine, "fit", "completing"),
        (paper_fit, "run_em", "training"),
        (Sampler, "expect", "answering"),
        (Sampler, "draw", "drawing"),
        (report, "write_report", "reporting"),
    ]
    watch = StageWatch({stage: 0.0 for *_, stage in places})
    for owner, name, stage in places:
        setattr(owner, name, watch.watched(vars(owner)[name], stage))
    # The draw that regressions start from is counted as completing.
    fit._regression_fit = watch.watched(fit._regression_fit, "completing", whole=True)
    return watch.seconds


class StageWatch:
    """Adds up the CPU seconds of stages.

    Parameters
    ----------
    seconds : dict of str to float
        By stage.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self._inside: list[float] = []
        self._is_paused = False

    def watched(self, function: Any, stage: str, *, whole: bool = False) -> Any:
        """Return the function, timed; ``whole`` counts the stages in it as this one."""
        inner = function.__func__ if isinstance(function, classmethod) else function

        @functools.wraps(inner)
        def timed(*arguments: Any, **options: Any) -> Any:
            if self._is_paused:
                return inner(*arguments, **options)
            start = time.process_time()
            self._inside.append(0.0)
            self._is_paused = whole
            try:
                return inner(*arguments, **options)
            finally:
                self._is_paused = False
                taken = time.process_time() - start
                self.seconds[stage] += taken - self._inside.pop()
                if self._inside:
                    self._inside[-1] += taken

        return classmethod(timed) if isinstance(function, classmethod) else timed


def fitted(runs: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the probes that one of each count takes, stage by stage."""
    found = {}
    for stage in sorted({name for run in runs for name in run["work"]}):
        # The paper's engine has no trees and no regressions.
        rows = [
            run for run in runs if any(run["work"].get(stage, ())) and run["seconds"][stage] > 0
        ]
        counts = np.array([run["work"][stage] for run in rows])
        probes = np.array([run["seconds"][stage] / run["probe"] for run in rows])
        found[stage] = _relative(counts, probes, probes)
    return found


def fitted_memory(runs: list[dict[str, Any]]) -> list[float]:
    """Return the bytes that one of each count takes."""
    counts = np.array([run["memory_work"] for run in runs])
    peaks = np.array([run["peak_bytes"] for run in runs])
    # These tables have too few draws to show what a drawn cell takes: it is stored and written.
    known = np.array([0.0] * (counts.shape[1] - 1) + [_DRAWN_CELL])
    rest = _relative(counts, peaks - counts @ known, peaks)
    return [float(f"{one:.3g}") for one in known + rest]


def _relative(counts: np.ndarray, found: np.ndarray, scale_of: np.ndarray) -> list[float]:
    scale = np.maximum(np.abs(counts).max(axis=0), 1e-300)
    solution, _ = nnls(counts / scale / scale_of[:, None], found / scale_of)
    return [float(f"{one:.3g}") for one in solution / scale]


if __name__ == "__main__":
    main()
