"""Time the small preset on two CPU cores, against the arithmetic floor and against a peer.

Writes one JSON file; takes some minutes:

    python benchmarks/engine/cpu.py benchmarks/engine/cpu.json [--rows 5000] [--columns 30]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.mode_mean import ModeMean
from tabsoda.bench.metrics.imputation_metrics import score_estimates
from tabsoda.coding.row_order import canonical_order
from tabsoda.cost.estimate import estimate_cost, matrix_rate
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.engines import plan_work
from tabsoda.events import EventLog
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.work import network_weights, passes_per_chain
from tabsoda.paper.working_table import WorkingTable
from tabsoda.table import CodedTable

N_DRAWS = 5
CHAINS = (2, 20)
SCORES = ("nominal_accuracy", "ordinal_accuracy", "mace_median", "rmse")
CPU = torch.device("cpu")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--chains", type=int, help="only measure the memory of so many chains")
    return parser.parse_args()


def hidden_table(rows: int, columns: int) -> tuple[CodedTable, CodedTable, np.ndarray]:
    """Return the true answers, the table with a fifth of them hidden, and which ones."""
    survey = make_survey(rows, n_columns=columns, seed=0)
    truth, states = survey.true_table, survey.true_table.states
    hidden = states.answered & (np.random.default_rng(0).random(truth.shape) < 0.2)
    return truth, truth.with_states(states.hide(hidden)), hidden


def peak_memory() -> int:
    """Return the most bytes this process ever held."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def processor() -> str:
    """Return the processor's name, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "")


def time_sampling(engine: PaperEngine, table: CodedTable, rate: float) -> dict[str, float]:
    """Time one chain of every incomplete row."""
    model = engine.model
    _, keys = canonical_order(table)
    data = WorkingTable.build(table, model.codec, keys, model.device)
    sampler = Sampler(model, EventLog())
    sampler.draw(data, 1)
    start = time.perf_counter()
    rows, _ = sampler.draw(data, 2)
    seconds = time.perf_counter() - start
    weights = network_weights(model.codec.layout.n_coordinates, model.settings)
    row_steps = rows.numel() * passes_per_chain(model.settings)
    return {
        "rows_sampled": rows.numel(),
        "passes_per_chain": passes_per_chain(model.settings),
        "chain_seconds": seconds,
        "seconds_per_million_row_steps": seconds / row_steps * 1e6,
        "floor_per_million_row_steps": 2.0 * weights / rate * 1e6,
        "share_of_matrix_rate": 2.0 * weights * row_steps / seconds / rate,
    }


def time_peer(table: CodedTable, threads: int) -> tuple[float, np.ndarray]:
    """Time scikit-learn's iterative imputer with trees, a MissForest; it fills skips as well."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    trees = ExtraTreesRegressor(n_estimators=50, min_samples_leaf=5, random_state=0, n_jobs=threads)
    start = time.perf_counter()
    filled = IterativeImputer(trees, max_iter=5, tol=0.0, random_state=0).fit_transform(
        table.values
    )
    return time.perf_counter() - start, filled


def peer_estimates(table: CodedTable, filled: np.ndarray) -> Estimates:
    """Round levels, and keep them within their range."""
    values = filled.copy()
    for position, column in enumerate(table.columns):
        if column.is_categorical:
            values[:, position] = np.clip(np.rint(values[:, position]), 0, column.n_levels - 1)
    return Estimates(values, values, {})


def point_estimates(table: CodedTable, cells) -> Estimates:
    pair = []
    for values in (cells.mode, cells.median):
        filled = table.values.copy()
        filled[cells.rows, cells.positions] = values
        pair.append(filled)
    return Estimates(pair[0], pair[1], {})


def measure_chains(options: argparse.Namespace) -> None:
    """Print the peak memory of an E-step with so many chains, in a process of its own."""
    _, table, _ = hidden_table(options.rows, options.columns)
    settings = PaperSettings.preset("small").replace(
        training={"max_steps": 25, "calibration_steps": 0},
        sampler={"point": "chains", "chains": options.chains, "steps": 5},
    )
    PaperEngine.fit(table, settings, seed=1, device="cpu")
    print(peak_memory())


def memory_of_chains(options: argparse.Namespace, chains: int) -> int:
    command = [sys.executable, __file__, str(options.result), "--chains", str(chains)]
    command += ["--rows", str(options.rows), "--columns", str(options.columns)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    if options.chains is not None:
        measure_chains(options)
        return
    truth, table, hidden = hidden_table(options.rows, options.columns)
    settings = PaperSettings.preset("small")
    rate = float(np.median([matrix_rate(CPU) for _ in range(9)]))
    load = os.getloadavg()[0]
    before = peak_memory()
    start = time.perf_counter()
    engine = PaperEngine.fit(table, settings, seed=1, device="cpu")
    fitted = time.perf_counter()
    cells = engine.impute(table, n_draws=N_DRAWS)
    imputed = time.perf_counter()
    peak = peak_memory()
    print(f"fit {fitted - start:.1f} s, impute {imputed - fitted:.1f} s", flush=True)
    weights = network_weights(engine.model.codec.layout.n_coordinates, engine.model.settings)
    rounds = [{k: v for k, v in entry.items() if k != "losses"} for entry in engine.history]
    batch = table.shape[0] // -(-table.shape[0] // settings.training.batch_size)
    passes = 2 if settings.training.low_noise_pass else 1
    step = sum(r["training_seconds"] for r in rounds) / sum(r["steps"] for r in rounds)
    floor = 6.0 * weights * batch * passes / rate
    announced = estimate_cost(*plan_work(table, settings, N_DRAWS, CPU), CPU)
    peer_seconds, filled = time_peer(table, options.threads)
    print(f"peer {peer_seconds:.1f} s", flush=True)
    methods = {
        "small preset": point_estimates(table, cells),
        "IterativeImputer, ExtraTrees": peer_estimates(table, filled),
        "mode/mean": ModeMean().impute(table, 0, SkipView.BLIND),
    }
    result = {
        "device": processor(),
        "cores": os.cpu_count(),
        "threads": options.threads,
        "load_before": load,
        "torch": torch.__version__,
        "matrix_rate_gflops": rate / 1e9,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "coordinates": engine.model.codec.layout.n_coordinates,
        "missing_share": float(table.states.missing.mean()),
        "skipped_share": float(table.states.skipped.mean()),
        "network_weights": weights,
        "fit_seconds": fitted - start,
        "impute_seconds": imputed - fitted,
        "total_seconds": imputed - start,
        "announced_seconds": announced.seconds,
        "announced_bytes": announced.memory_bytes,
        "n_draws": N_DRAWS,
        "rounds": rounds,
        "seconds_per_training_step": step,
        "floor_per_training_step": floor,
        "share_of_matrix_rate_in_training": floor / step,
        "sampling": time_sampling(engine, table, rate),
        "peak_memory_bytes": peak,
        "peak_memory_beyond_start_bytes": peak - before,
        "peak_memory_by_chains_bytes": {str(n): memory_of_chains(options, n) for n in CHAINS},
        "peer": {
            "name": "scikit-learn IterativeImputer, 50 ExtraTrees, 5 passes",
            "seconds": peer_seconds,
            "ratio": (imputed - start) / peer_seconds,
        },
        "scores": {
            name: {
                key: score_estimates(truth, table, estimates, hidden)["all"][key] for key in SCORES
            }
            for name, estimates in methods.items()
        },
        "settings": engine.model.settings.to_dict(),
    }
    options.result.write_text(json.dumps(result, indent=2) + "\n")
    left_out = ("rounds", "settings")
    print(json.dumps({k: v for k, v in result.items() if k not in left_out}, indent=1))


if __name__ == "__main__":
    main()
