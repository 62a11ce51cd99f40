"""Time the qualities against MissForest, boosting and MICE on two cores, in one run.

    python benchmarks/engine/two_cores.py SURVEYS/ results.json

Up to 4,000 rows and 40 columns of three surveys, MAR, one replication: tables of the standard
study. Methods take turns on each table, each with two threads or processes where it can use them,
so the ratios hold whatever the machine. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from tabsoda._internal.files import write_json
from tabsoda.bench.cases import SurveyCase
from tabsoda.bench.gates import seen_table
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.registry import method
from tabsoda.bench.studies.study import cases_of, load_study, tables_in
from tabsoda.datasets import make_survey
from tabsoda.table import CodedTable

STUDY = Path(__file__).resolve().parents[1] / "studies" / "standard.toml"
# Those that no setting was chosen on.
SURVEYS = ("nhts2022_person", "nlsy97_religion_panel", "nsduh2023_youth")
N_CORES = 2
METHODS = {
    "fast": ("default-engine", {"quality": "fast", "device": "cpu"}),
    "balanced": ("default-engine", {"quality": "balanced", "device": "cpu"}),
    "MissForest": ("missforest", {"n_jobs": N_CORES}),
    "boosting": ("boosting", {}),
    "MICE": ("mice", {"n_jobs": N_CORES}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys", type=Path)
    parser.add_argument("result", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(N_CORES)
    built = {label: method(name, **given) for label, (name, given) in METHODS.items()}
    seconds: dict[str, dict[str, float]] = {}
    study = load_study(STUDY).model_copy(update={"surveys": SURVEYS})
    cases = cases_of(study, tables_in(study, options.surveys))
    for one in built.values():
        # Libraries are loaded once a process, whatever the table.
        one.impute(_hidden(make_case())[0], 1, SkipView.LEVEL)
    for name, case in cases.items():
        seen, _ = _hidden(case)
        seconds[name] = {}
        for label, one in built.items():
            start = time.perf_counter()
            one.impute(seen, 1, SkipView.LEVEL)
            seconds[name][label] = round(time.perf_counter() - start, 2)
        write_json(options.result, summary(seconds))


def make_case() -> SurveyCase:
    """Return a small generated survey."""
    return SurveyCase.of("generated", make_survey(300, n_columns=12, seed=1).true_table)


def _hidden(case: SurveyCase) -> tuple[CodedTable, object]:
    hidden = hide_cells(case.table, "mar", replication=0, seed=1).mask
    return seen_table(case.table, hidden, case.followers, "resolved")


def summary(seconds: dict[str, dict[str, float]]) -> dict[str, object]:
    """Return seconds, and each method's over MissForest's: per survey and on average."""
    ratios = {
        name: {label: round(found / taken["MissForest"], 3) for label, found in taken.items()}
        for name, taken in seconds.items()
    }
    mean = {
        label: round(float(np.mean([taken[label] for taken in ratios.values()])), 3)
        for label in METHODS
    }
    return {"cores": N_CORES, "seconds": seconds, "over_missforest": ratios, "mean_ratio": mean}


if __name__ == "__main__":
    main()
