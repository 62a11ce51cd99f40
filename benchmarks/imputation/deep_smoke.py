"""Run every deep baseline once on an embedded survey; print time and scores as JSON.

Needs torch, numpy, scipy and scikit-learn alone:

    python benchmarks/imputation/deep_smoke.py --rows 4000 --columns 40 [--methods TabSyn,TabDiff]
        [--budget full|reduced] [--skip-view blind] [--device auto] [--settings settings.json]

The settings file maps a method's name to what differs from the budget.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from tabsoda.bench.methods.contract import ImputationMethod, SkipView
from tabsoda.bench.methods.diffputer import DiffPuter
from tabsoda.bench.methods.point_estimates import usual_answers
from tabsoda.bench.methods.tabcsdi import TabCSDI
from tabsoda.bench.methods.tabdiff import TabDiff
from tabsoda.bench.methods.tabsoda import TabSODA, TabSODAN
from tabsoda.bench.methods.tabsyn import TabSyn
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

METHODS = {m.name: m for m in (TabSODA, TabSODAN, DiffPuter, TabCSDI, TabSyn, TabDiff)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--budget", default="full", choices=("full", "reduced"))
    parser.add_argument("--skip-view", default="blind", choices=[str(v) for v in SkipView])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--settings", type=Path)
    parser.add_argument("--hidden", type=float, default=0.25)
    return parser.parse_args()


def scores(
    truth: CodedTable,
    hidden: NDArray[np.bool_],
    mode: NDArray[np.float64],
    median: NDArray[np.float64],
) -> dict[str, float]:
    """Average accuracy, standardised RMSE and mean absolute category error over columns."""
    found: dict[str, list[float]] = {}
    for position, column in enumerate(truth.columns):
        here = hidden[:, position]
        if not here.any():
            continue
        error = mode[here, position] - truth.values[here, position]
        if not column.is_categorical:
            spread = truth.values[truth.states.answered[:, position], position].std()
            found.setdefault("rmse", []).append(float(np.sqrt((error**2).mean()) / spread))
            continue
        found.setdefault(f"{column.kind}_accuracy", []).append(float((error == 0).mean()))
        if column.kind is ColumnKind.ORDINAL:
            middle = median[here, position] - truth.values[here, position]
            found.setdefault("mace", []).append(float(np.abs(error).mean()))
            found.setdefault("median_mace", []).append(float(np.abs(middle).mean()))
    return {name: round(float(np.mean(values)), 4) for name, values in found.items()}


def build(name: str, options: argparse.Namespace, changes: dict[str, Any]) -> ImputationMethod:
    method = METHODS[name]
    budget = {"budget": options.budget}
    if method.knows_skips:
        budget = {"preset": "nsduh" if options.budget == "full" else "small"}
    return method(settings=changes.get(name), device=options.device, **budget)


def main() -> None:
    options = arguments()
    changes = json.loads(options.settings.read_text()) if options.settings else {}
    truth = make_survey(options.rows, n_columns=options.columns, seed=0).true_table
    uniforms = np.random.default_rng(0).random(truth.shape)
    hidden = truth.states.answered & (uniforms < options.hidden)
    table = truth.with_states(truth.states.hide(hidden))
    usual = np.where(table.states.answered, table.values, usual_answers(table))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    case = {"rows": options.rows, "columns": options.columns, "device": device}
    case |= {"budget": options.budget, "skip_view": options.skip_view}
    print(json.dumps({"method": "mode", **case, **scores(truth, hidden, usual, usual)}), flush=True)
    for name in options.methods.split(","):
        started = time.perf_counter()
        estimates = build(name, options, changes).impute(table, 1, SkipView(options.skip_view))
        result = {"method": name, **case, "seconds": round(time.perf_counter() - started, 2)}
        result |= scores(truth, hidden, estimates.mode, estimates.median)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
