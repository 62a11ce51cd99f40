"""Time the qualities against MissForest, boosting and MICE, in one run.

    python benchmarks/engine/two_cores.py SURVEYS/ results.json
    python benchmarks/engine/two_cores.py SURVEYS/ results.json --cpu --against MICE

Up to 4,000 rows and 40 columns of the surveys, MAR, one replication: tables of the standard study.
Methods take turns on each table, each with two threads or processes where it can use them, so the
ratios hold whatever the machine. Nothing else should run meanwhile. With ``--cpu``, each has one
thread and seconds are those of CPU, which hold next to other work, too. "R's mice" makes five
imputations in five iterations, with predictors chosen by quickpred, and includes the start of R and
its reading and writing. Surveys that the result file holds are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tabsoda._internal.files import write_json
from tabsoda._internal.threads import load_torch
from tabsoda.bench.cases import SurveyCase
from tabsoda.bench.gates import seen_table
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.registry import method
from tabsoda.bench.studies.study import cases_of, load_study, tables_in
from tabsoda.datasets import make_survey
from tabsoda.table import CodedTable

STUDY = Path(__file__).resolve().parents[1] / "studies" / "standard.toml"
# Those that no setting was chosen on at first.
SURVEYS = ("nhts2022_person", "nlsy97_religion_panel", "nsduh2023_youth")
N_CORES = 2
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "fast": ("default-engine", {"quality": "fast", "device": "cpu"}),
    "balanced": ("default-engine", {"quality": "balanced", "device": "cpu"}),
    "MissForest": ("missforest", {"n_jobs": N_CORES}),
    "boosting": ("boosting", {}),
    "MICE": ("mice", {"n_jobs": N_CORES}),
    "best": ("default-engine", {"quality": "best", "device": "cpu"}),
    "R's mice": ("r-mice", {}),
}
USUAL = ["fast", "balanced", "MissForest", "boosting", "MICE"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=USUAL)
    parser.add_argument("--only", nargs="+", default=list(SURVEYS), metavar="SURVEY")
    parser.add_argument("--against", choices=METHODS, default="MissForest")
    options = parser.parse_args()
    n_cores = 1 if options.cpu else N_CORES
    # As a program does that imports tabsoda first: waiting threads sleep.
    load_torch()
    import torch

    torch.set_num_threads(n_cores)
    clock = cpu_seconds if options.cpu else time.perf_counter
    built = {}
    for label in options.methods:
        name, given = METHODS[label]
        built[label] = method(name, **given | ({"n_jobs": n_cores} if "n_jobs" in given else {}))
    seconds: dict[str, dict[str, float]] = {}
    if options.result.exists():
        seconds = json.loads(options.result.read_text(encoding="utf-8"))["seconds"]
    study = load_study(STUDY).model_copy(update={"surveys": tuple(options.only)})
    cases = cases_of(study, tables_in(study, options.surveys))
    for one in built.values():
        # Libraries are loaded once a process, whatever the table.
        one.impute(_hidden(make_case())[0], 1, SkipView.LEVEL)
    for name, case in cases.items():
        if name in seconds:
            continue
        seen, _ = _hidden(case)
        taken = {}
        for label, one in built.items():
            start = clock()
            one.impute(seen, 1, SkipView.LEVEL)
            taken[label] = round(clock() - start, 2)
            print(name, label, taken[label], flush=True)
        seconds[name] = taken
        write_json(options.result, summary(seconds, options.against, n_cores, options.cpu))


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has started and that have ended."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


def make_case() -> SurveyCase:
    """Return a small generated survey."""
    return SurveyCase.of("generated", make_survey(300, n_columns=12, seed=1).true_table)


def _hidden(case: SurveyCase) -> tuple[CodedTable, object]:
    hidden = hide_cells(case.table, "mar", replication=0, seed=1).mask
    return seen_table(case.table, hidden, case.followers, "resolved")


def summary(
    seconds: dict[str, dict[str, float]], against: str, n_cores: int, cpu: bool
) -> dict[str, object]:
    """Return seconds, and each method's over those of one: per survey, mean and median."""
    ratios = {
        name: {label: round(found / taken[against], 3) for label, found in taken.items()}
        for name, taken in seconds.items()
    }

    def pooled(pick: Callable[[list[float]], float]) -> dict[str, float]:
        labels = next(iter(ratios.values()))
        return {
            label: round(float(pick([taken[label] for taken in ratios.values()])), 3)
            for label in labels
        }

    return {
        "cores": n_cores,
        "clock": "CPU" if cpu else "elapsed",
        "seconds": seconds,
        f"over_{against.lower()}": ratios,
        "mean_ratio": pooled(np.mean),
        "median_ratio": pooled(np.median),
    }


if __name__ == "__main__":
    main()
