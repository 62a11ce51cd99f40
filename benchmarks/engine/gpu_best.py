"""Time the quality "best" on a generated table of PATH's size, on one GPU: fit and point estimate.

Needs torch, numpy, scipy and scikit-learn alone. Writes one JSON file:

    python benchmarks/engine/gpu_best.py results.json [--rows 32320] [--columns 57]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.presets import quality_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--rows", type=int, default=32_320)
    parser.add_argument("--columns", type=int, default=57)
    parser.add_argument("--quality", default="best")
    options = parser.parse_args()
    table = make_survey(options.rows, n_columns=options.columns, seed=0).true_table
    generator = np.random.default_rng(0)
    hidden = table.states.answered & (generator.random(table.shape) < 0.2)
    table = table.with_states(table.states.hide(hidden))
    settings = quality_settings(options.quality, *table.shape)
    start = time.perf_counter()
    engine = DefaultEngine.fit(table, settings, seed=1, device="auto", draws=False)
    fitted = time.perf_counter()
    engine.impute(table, n_draws=0)
    done = time.perf_counter()
    result = {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "torch": torch.__version__,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "missing_share": float(table.states.missing.mean()),
        "fit_seconds": fitted - start,
        "point_seconds": done - fitted,
        "steps": sum(member["steps"] for member in engine.history),
        "training_seconds": sum(member["training_seconds"] for member in engine.history),
        "events": engine.events.to_dicts(),
        "settings": engine.settings.to_dict(),
    }
    options.result.write_text(json.dumps(result, indent=1) + "\n")
    print({k: v for k, v in result.items() if k not in ("settings", "events")}, flush=True)


if __name__ == "__main__":
    main()
