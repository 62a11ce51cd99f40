"""Measure the default engine's trees against the baseline of one boosted model per column.

    python benchmarks/trees/run.py TABLES RESULTS [REPLICATIONS]

TABLES is the folder of packed tables that ``benchmarks/imputation/pack.py`` writes (4,000 rows,
up to 40 questions); RESULTS a JSON file. 30 % of the answers are hidden at random given others
(MAR), and only hidden cells are scored. Seconds are of processor time on one thread, which other
work on the machine disturbs little.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tabsoda._internal.files import write_json
from tabsoda.bench.cases import SurveyCase, load_case
from tabsoda.bench.gates import seen_table
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.methods.boosting import Boosting
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.point_estimates import estimates_from
from tabsoda.bench.metrics.imputation_metrics import compare, groups_of
from tabsoda.engine.trees.settings import TreeSettings
from tabsoda.engine.trees.tree_models import TreeModels
from tabsoda.table import CodedTable

SURVEYS = ("nsfg2006_2010_male", "nyts2019_products", "nhanes2015_16")
METRICS = (
    "mace",
    "mace_median",
    "ordinal_accuracy",
    "nominal_accuracy",
    "categorical_accuracy",
    "log_score",
    "rmse",
)


def by_boosting(seen: CodedTable) -> tuple[Estimates, dict[str, float]]:
    start = time.process_time()
    estimates = Boosting().impute(seen, 1, SkipView.LEVEL)
    return estimates, {"seconds": time.process_time() - start}


def by_trees(effort: str) -> Callable[[CodedTable], tuple[Estimates, dict[str, float]]]:
    def impute(seen: CodedTable) -> tuple[Estimates, dict[str, float]]:
        start = time.process_time()
        models = TreeModels.fit(seen, seen.states.answered, TreeSettings.named(effort), 1)
        fitted = time.process_time()
        answers = models.predict(seen, np.arange(seen.shape[0]))
        done = time.process_time()
        arrays, _ = models.to_state()
        costs = {
            "seconds": done - start,
            "fit_seconds": fitted - start,
            "predict_seconds": done - fitted,
            "megabytes": sum(array.nbytes for array in arrays.values()) / 1e6,
        }
        return estimates_from(seen, answers.numbers, answers.probabilities), costs

    return impute


METHODS = {
    "boosting baseline": by_boosting,
    "trees quick": by_trees("quick"),
    "trees full": by_trees("full"),
}


def score(case: SurveyCase, replication: int) -> list[dict[str, Any]]:
    """Hide cells of a survey and score every method on them."""
    hidden = hide_cells(case.table, "mar", replication=replication, seed=1, rate=0.3).mask
    seen, scored = seen_table(case.table, hidden, case.followers, "resolved")
    gates = np.asarray(case.followers.any(axis=1))
    records = []
    for name, impute in METHODS.items():
        estimates, costs = impute(seen)
        group = groups_of(compare(case.table, seen, estimates, scored), gates)["all"]
        metrics = {key: _rounded(group[key], 4) for key in METRICS}
        costs = {key: _rounded(value, 2) for key, value in costs.items()}
        records.append({"method": name, "replication": replication, **metrics, **costs})
        print(case.name, records[-1], flush=True)
    return records


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None or np.isnan(value) else round(float(value), digits)


def main(tables: Path, results: Path, replications: int) -> None:
    records = {
        name: [
            record
            for replication in range(replications)
            for record in score(load_case(tables / f"{name}.npz"), replication)
        ]
        for name in SURVEYS
    }
    write_json(results, records)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
