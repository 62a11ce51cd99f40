"""Time the paper's PATH preset on a generated table of PATH's size, on one GPU.

Needs torch, numpy, scipy and scikit-learn alone. Writes one JSON file:

    python benchmarks/engine/gpu.py results.json [--rounds 5] [--epochs 1000]
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from tabsoda.coding.row_order import canonical_order
from tabsoda.cost.estimate import matrix_rate
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.event_texts import stage
from tabsoda.events import EventLog
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.work import network_weights, passes_per_chain
from tabsoda.paper.working_table import WorkingTable
from tabsoda.torch_runtime.devices import matrix_precision


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--rows", type=int, default=32_320)
    parser.add_argument("--columns", type=int, default=57)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--preset", default="path")
    return parser.parse_args()


def sampling(engine: PaperEngine, table, rate: float) -> dict[str, float]:
    """Time one chain of every incomplete row, after a first one that pays for compilation."""
    model = engine.model
    _, keys = canonical_order(table)
    data = WorkingTable.build(table, model.codec, keys, model.device)
    sampler = Sampler(model, EventLog())
    start = time.perf_counter()
    sampler.draw(data, 1)
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    start = time.perf_counter()
    for chain in (2, 3, 4):
        rows, _ = sampler.draw(data, chain)
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / 3
    passes = passes_per_chain(model.settings)
    weights = network_weights(model.codec.layout.n_coordinates, model.settings)
    operations = 2.0 * weights * passes * rows.numel()
    return {
        "rows_sampled": rows.numel(),
        "passes_per_chain": passes,
        "first_chain_seconds": first,
        "chain_seconds": seconds,
        "seconds_per_million_row_steps": seconds / (rows.numel() * passes) * 1e6,
        "floor_per_million_row_steps": 2.0 * weights / rate * 1e6,
        "share_of_matrix_rate": operations / seconds / rate,
    }


def main() -> None:
    options = arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = matrix_precision(device)
    rate = float(np.median([matrix_rate(device, dtype) for _ in range(5)]))
    table = make_survey(options.rows, n_columns=options.columns, seed=0).true_table
    # The generator's own nonresponse is low; hide a fifth more so that nearly every row is sampled.
    generator = np.random.default_rng(0)
    hidden = table.states.answered & (generator.random(table.shape) < 0.2)
    table = table.with_states(table.states.hide(hidden))
    settings = PaperSettings.preset(options.preset).replace(
        em={"rounds": options.rounds, "min_rounds": 1}, training={"max_epochs": options.epochs}
    )
    result = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else platform.processor(),
        "torch": torch.__version__,
        "precision": str(dtype),
        "matrix_rate_tflops": rate / 1e12,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "missing_share": float(table.states.missing.mean()),
        "skipped_share": float(table.states.skipped.mean()),
        "settings": settings.to_dict(),
    }
    print(json.dumps({k: v for k, v in result.items() if k != "settings"}), flush=True)
    start = time.perf_counter()
    engine = PaperEngine.fit(table, settings, seed=1, device=str(device))
    fit_seconds = time.perf_counter() - start
    start = time.perf_counter()
    engine.impute(table, n_draws=0)
    point_seconds = time.perf_counter() - start
    n_coordinates = engine.model.codec.layout.n_coordinates
    weights = network_weights(n_coordinates, engine.model.settings)
    rounds = [{k: v for k, v in r.items() if k != "losses"} for r in engine.history]
    batch = min(settings.training.batch_size, table.shape[0])
    batch = table.shape[0] // -(-table.shape[0] // batch)
    passes = 2 if settings.training.low_noise_pass else 1
    step_seconds = sum(r["training_seconds"] for r in rounds) / sum(r["steps"] for r in rounds)
    result |= {
        "coordinates": n_coordinates,
        "network_weights": weights,
        "fit_seconds": fit_seconds,
        "point_seconds": point_seconds,
        "rounds": rounds,
        "seconds_per_training_step": step_seconds,
        "floor_per_training_step": 6.0 * weights * batch * passes / rate,
        "sampling": sampling(engine, table, rate),
        "peak_memory_gib": torch.cuda.max_memory_allocated() / 2**30,
        "events": [e.to_dict() for e in engine.events if stage(e) in ("train", "impute")][:40],
    }
    options.result.write_text(json.dumps(result, indent=2) + "\n")
    shown = ("fit_seconds", "point_seconds", "seconds_per_training_step", "sampling")
    print(json.dumps({k: result[k] for k in shown}, indent=1), flush=True)


if __name__ == "__main__":
    main()
