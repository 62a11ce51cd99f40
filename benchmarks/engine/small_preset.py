"""Choose the small preset's settings: hide 30 % (MAR) of three surveys, score each candidate.

    python benchmarks/engine/small_preset.py PACKED/tables results.json [--jobs 7]

PACKED is what benchmarks/imputation/pack.py writes. The three surveys here are those settings are
chosen on; results on the others are for confirmation only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

CHOSEN_ON = ("nsfg2006_2010_male", "nyts2019_products", "nhanes2015_16")
CANDIDATES: dict[str, dict[str, dict[str, Any]]] = {
    "as it is": {},
    "no dropout": {"backbone": {"dropout": 0.0}},
    "dropout 0.1": {"backbone": {"dropout": 0.1}},
    "dropout 0.4": {"backbone": {"dropout": 0.4}},
    "width 128": {"backbone": {"width": 128}},
    "top share 0.8": {"noise": {"top_share": 0.8}},
    "rate 2e-3": {"training": {"learning_rate": 2e-3}},
    "two rounds": {"em": {"rounds": 2}},
    "nominal weight 3": {"loss": {"nominal": 3.0}},
}
PEERS = ("boosting", "missforest", "mode")
SHOWN = ("rmse", "nominal_accuracy", "ordinal_accuracy", "mace", "mace_median")


def run(path: Path, name: str) -> dict[str, Any]:
    import torch

    from tabsoda.bench.cases import load_case
    from tabsoda.bench.masking import hide_cells
    from tabsoda.bench.methods.contract import SkipView
    from tabsoda.bench.methods.registry import method
    from tabsoda.bench.metrics.imputation_metrics import score_estimates

    torch.set_num_threads(1)
    case = load_case(path)
    hidden = hide_cells(case.table, "mar", replication=1, seed=7).mask
    seen = case.table.with_states(case.table.states.hide(hidden))
    if name in PEERS:
        chosen = method(name)
    else:
        chosen = method("tabsoda", preset="small", settings=CANDIDATES[name], device="cpu")
    start = time.process_time()
    estimates = chosen.impute(seen, 1, SkipView.LEVEL)
    seconds = time.process_time() - start
    scores = score_estimates(case.table, seen, estimates, hidden)["all"]
    return {
        "survey": path.stem,
        "candidate": name,
        "cpu_seconds": round(seconds, 1),
        **{key: round(float(scores[key]), 4) for key in SHOWN},
    }


def main() -> None:
    from joblib import Parallel, delayed

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    paths = [options.tables / f"{survey}.npz" for survey in CHOSEN_ON]
    names = [*CANDIDATES, *PEERS]
    results = Parallel(n_jobs=options.jobs)(
        delayed(run)(path, name) for name in names for path in paths
    )
    options.result.write_text(json.dumps({"mechanism": "mar", "runs": results}, indent=1) + "\n")
    for name in names:
        mine = [r for r in results if r["candidate"] == name]
        means = {k: sum(r[k] for r in mine if r[k] == r[k]) / len(mine) for k in SHOWN}
        seconds = sum(r["cpu_seconds"] for r in mine)
        print(
            f"{name:18s} {seconds:7.0f} s", {k: round(v, 4) for k, v in means.items()}, flush=True
        )


if __name__ == "__main__":
    main()
