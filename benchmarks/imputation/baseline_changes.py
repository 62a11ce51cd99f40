"""What changes of the baselines did to their scores: one small survey on a CPU.

Run once with the version before and once with the version after, into the same file:

    PYTHONPATH=BEFORE/src python benchmarks/imputation/baseline_changes.py SURVEYS/ FILE before
    PYTHONPATH=src python benchmarks/imputation/baseline_changes.py SURVEYS/ FILE after

MAR, skips as a level, reduced budgets. Finished methods are kept.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch

from tabsoda._internal.files import write_json
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.registry import method
from tabsoda.bench.metrics.imputation_metrics import compare, groups_of
from tabsoda.datasets.survey_folder import load_survey_folder, sample_table

SURVEY, ROWS, COLUMNS, SEED = "nsfg2006_2010_male", 1000, 15, 1
REDUCED = {"budget": "reduced", "device": "cpu"}
METHODS = {
    "mode": {},
    "boosting": {},
    "mice": {},
    "missforest": {"n_jobs": 1},
    "tabdiff": REDUCED,
    "tabsyn": REDUCED,
    "diffputer": REDUCED,
    "tabcsdi": REDUCED,
}
KEPT = (
    "mace",
    "ordinal_accuracy",
    "nominal_accuracy",
    "categorical_accuracy",
    "rmse",
    "rps",
    "log_score",
)


def main() -> None:
    folder, target, label = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    document = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    truth = sample_table(
        load_survey_folder(folder / SURVEY).table, rows=ROWS, columns=COLUMNS, seed=SEED
    )
    hidden = hide_cells(truth, "mar", seed=SEED).mask
    seen = truth.with_states(truth.states.hide(hidden))
    for name, options in METHODS.items():
        if name in document.get(label, {}):
            continue
        started = time.process_time()
        estimates = method(name, **options).impute(seen, SEED, SkipView.LEVEL)
        seconds = round(time.process_time() - started, 1)
        # Nothing is taken for a gate: all questions are scored together.
        scores = groups_of(compare(truth, seen, estimates, hidden), hidden.any(axis=0) & False)
        kept = {key: scores["all"].get(key) for key in KEPT}
        kept = {k: None if v is None else round(float(v), 4) for k, v in kept.items()}
        # Another run may have written in the meantime.
        document = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
        document["case"] = {"survey": SURVEY, "rows": ROWS, "columns": COLUMNS, "mechanism": "mar"}
        document.setdefault(label, {})[name] = {**kept, "cpu_seconds": seconds}
        write_json(target, document)


if __name__ == "__main__":
    main()
