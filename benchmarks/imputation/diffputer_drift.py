r"""Why DiffPuter's rounds drift: chain noise, precision and skipped numbers, one at a time.

    OMP_NUM_THREADS=1 python benchmarks/imputation/diffputer_drift.py SURVEYS/ \
        benchmarks/imputation/diffputer_drift.json small [SURVEY ...]

Runs the rounds of DiffPuter on a CPU with a small network that is trained long enough to remember
its rows, as the released budget is on a table of a few thousand rows. Each run varies

- ``noise``: the chains of every round use the same noise (``reused``), or new noise (``fresh``);
- ``precision``: the sampler's products in float32, or in bfloat16 as on a GPU;
- ``skips``: a skipped number is a blank with a flag (``blank``), or a constant with a flag
  (``constant``); a survey without numbers has only one of the two.

Per round, over the entries to impute: root mean square by column in units of the answers' standard
deviation, the cosine between successive changes (near 0 for independent changes, above 0 for a
drift in one direction), and the scores on the hidden answers. ``precision`` compares a single
E-step in both precisions with the same weights and noise. Finished runs are kept: the same command
goes on where it stopped.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.files import write_json
from tabsoda._internal.randomness import stream_key
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.diffputer import DiffPuter
from tabsoda.bench.methods.plain_table import plain_table
from tabsoda.datasets.survey_folder import load_survey_folder, sample_table
from tabsoda.errors import TabSODAError
from tabsoda.events import EventLog
from tabsoda.paper.denoiser import sampling_copy
from tabsoda.paper.em import initial_state
from tabsoda.paper.fit import start_model
from tabsoda.paper.m_step import m_step
from tabsoda.paper.model import Model
from tabsoda.paper.reverse_process import ReverseProcess
from tabsoda.paper.reverse_sampler import SampledRows
from tabsoda.paper.standardizer import Standardizer
from tabsoda.paper.training_batch import RoundTargets
from tabsoda.paper.working_table import WorkingTable
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

SURVEYS = ("nyts2019_products", "nsduh2023_youth")
SEED = 1
SIZES = {
    "large": {"rows": 500, "columns": 30, "rounds": 8, "steps": 1200, "chains": 4, "cycles": 10},
    "medium": {"rows": 400, "columns": 30, "rounds": 6, "steps": 800, "chains": 3, "cycles": 10},
    "small": {"rows": 250, "columns": 20, "rounds": 8, "steps": 500, "chains": 3, "cycles": 6},
}


def settings_of(size: dict[str, int]) -> dict[str, dict[str, Any]]:
    """Return what differs from DiffPuter's full budget."""
    return {
        "backbone": {"width": 192},
        "training": {
            "batch_size": size["rows"],
            "max_steps": size["steps"],
            "patience": size["steps"],
            "learning_rate": 1e-3,
            "min_epoch_steps": 50,
            "plateau_patience": 8,
        },
        "sampler": {"steps": 15, "refresh_cycles": size["cycles"], "chains": size["chains"]},
        "em": {"rounds": size["rounds"]},
    }


def main() -> None:
    folder, target, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    size = SIZES[name]
    document = {"sizes": {n: {**s, **settings_of(s)} for n, s in SIZES.items()}}
    document |= {"runs": [], "precision": {}}
    if target.exists():
        document |= json.loads(target.read_text(encoding="utf-8"))
    done = document["runs"]
    torch.set_num_threads(1)
    for survey in sys.argv[4:] or SURVEYS:
        truth = sample_table(
            load_survey_folder(folder / survey).table,
            rows=size["rows"],
            columns=size["columns"],
            seed=SEED,
        )
        hidden = hide_cells(truth, "mar", seed=SEED).mask
        seen = truth.with_states(truth.states.hide(hidden))
        if f"{survey} {name}" not in document["precision"]:
            effect = precision_effect(seen, settings_of(size))
            document["precision"][f"{survey} {name}"] = effect
            write_json(target, document)
        for factors in _combinations(truth):
            tag = {"survey": survey, "size": name, **factors}
            if any(tag.items() <= earlier.items() for earlier in done):
                continue
            started = time.process_time()
            rounds = run(truth, seen, hidden, settings_of(size), **factors)
            seconds = round(time.process_time() - started)
            done.append({**tag, "cpu_seconds": seconds, "rounds": rounds})
            write_json(target, document)
            print(json.dumps({**tag, **summary(rounds)}), flush=True)


def precision_effect(seen: CodedTable, changes: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Compare the E-step of the first round in bfloat16 and float32.

    Returns
    -------
    dict
        For the same weights and noise, the ``slope`` of bfloat16 imputations on float32 ones (above
        1 would amplify) and the root mean square of their ``difference``; that of two E-steps in
        float32 with different noise; in units of the answers' standard deviation.
    """
    model, data, completed, _ = start(blank_numbers(seen), changes)
    targets = RoundTargets(
        completed, model.standardizer.apply(completed, data.applicable), torch.tensor(1.0)
    )
    m_step(model, data, targets, 1, EventLog())

    def imputed(key: int, precision: str) -> torch.Tensor:
        drawn = model.standardizer.apply(
            mean_of_chains(model, data, key, precision), data.applicable
        )
        return drawn[data.to_impute].double() / model.settings.noise.data_scale

    single, half, other = imputed(0, "float32"), imputed(0, "bfloat16"), imputed(1, "float32")
    return {
        "slope": round(float((single @ half) / (single @ single)), 4),
        "difference": _root_mean_square(half - single),
        "difference_by_noise": _root_mean_square(other - single),
    }


def _combinations(truth: CodedTable) -> Iterator[dict[str, str]]:
    numbers = any(not column.is_categorical for column in truth.columns)
    treatments = ("blank", "constant") if numbers else ("blank",)
    for skips, precision, noise in itertools.product(
        treatments, ("float32", "bfloat16"), ("reused", "fresh")
    ):
        if skips == "constant" and precision == "bfloat16":
            continue
        yield {"noise": noise, "precision": precision, "skips": skips}


def run(
    truth: CodedTable,
    seen: CodedTable,
    hidden: NDArray[np.bool_],
    changes: dict[str, dict[str, Any]],
    noise: str,
    precision: str,
    skips: str,
) -> list[dict[str, Any]]:
    """Run the rounds, and describe the table after each."""
    plain = blank_numbers(seen) if skips == "blank" else plain_table(seen, SkipView.LEVEL)
    model, data, completed, order = start(plain, changes)
    events, settings = EventLog(), model.settings
    rounds: list[dict[str, Any]] = []
    last_change = None
    for number in range(1, settings.em.rounds + 1):
        targets = RoundTargets(
            completed,
            model.standardizer.apply(completed, data.applicable),
            torch.tensor(1.0),
        )
        try:
            training = m_step(model, data, targets, number, events)
        except TabSODAError as error:
            rounds.append({"round": number, "error": str(error)})
            break
        key = number if noise == "fresh" else 0
        drawn = mean_of_chains(model, data, key, precision)
        change = ((drawn - completed) / model.standardizer.scale)[data.to_impute]
        completed = torch.where(data.to_impute, drawn, completed)
        entry = {
            "round": number,
            "loss": round(training["loss"], 4),
            "change": _root_mean_square(change),
            "cosine": None if last_change is None else _cosine(change, last_change),
            **describe(model, data, completed),
            **scores(model, completed, order, truth, hidden),
        }
        rounds.append(entry)
        last_change = change
    return rounds


def start(
    plain: CodedTable, changes: dict[str, dict[str, Any]]
) -> tuple[Model, WorkingTable, torch.Tensor, NDArray[np.int64]]:
    """Return an untrained model, its table, the filled encoded table, and the order of rows."""
    settings, device = DiffPuter(settings=changes).settings, torch.device("cpu")
    begun = start_model(plain, settings, SEED, device, None, EventLog())
    model = begun.model
    data = WorkingTable.build(begun.table, model.codec, begun.keys, device, begun.held_out)
    completed = initial_state(model, data).completed
    model.standardizer = Standardizer.fit(completed, data.visible, settings.noise.data_scale)
    return model, data, completed, _order(plain, begun.table)


def blank_numbers(seen: CodedTable) -> CodedTable:
    """Show skips as levels, but a skipped number as a blank with a flag."""
    shown = plain_table(seen, SkipView.LEVEL)
    values = shown.values.copy()
    for position, column in enumerate(seen.columns):
        if not column.is_categorical:
            values[seen.states.skipped[:, position], position] = np.nan
    return CodedTable.from_values(shown.columns, values)


def _order(plain: CodedTable, ordered: CodedTable) -> NDArray[np.int64]:
    """Return, for each row of the ordered table, its row in the plain one."""
    from tabsoda.coding.row_order import canonical_order

    order, _ = canonical_order(plain)
    np.testing.assert_array_equal(plain.values[order], ordered.values)
    return order


def mean_of_chains(model: Model, data: WorkingTable, key: int, precision: str) -> torch.Tensor:
    """Return the mean of the chains for all rows, unstandardised; (n, p)."""
    frozen = sampling_copy(model.denoiser, getattr(torch, precision))
    process = ReverseProcess(frozen, model.settings.sampler, "noisy")
    rows = SampledRows(
        model.standardizer.apply(data.encoded, data.visible),
        data.to_impute,
        data.applicable,
        data.row_keys,
    )
    chains = model.settings.sampler.chains
    total = torch.zeros_like(data.encoded)
    for chain in range(1, chains + 1):
        total += process.sample(rows, stream_key(model.seed, "chain", key, chain))
    return model.standardizer.invert(total / chains)


def describe(model: Model, data: WorkingTable, completed: torch.Tensor) -> dict[str, Any]:
    """Return the root mean square of the imputed entries, over all and by column."""
    scaled = model.standardizer.apply(completed, data.applicable) / model.settings.noise.data_scale
    names, layout = model.codec.names, model.codec.layout
    by_column = {}
    for position in np.flatnonzero(model.codec.modelled).tolist():
        own = torch.from_numpy(np.asarray(layout.column_of) == position)
        entries = data.to_impute & own
        if entries.any():
            by_column[names[position]] = _root_mean_square(scaled[entries])
    return {"rms": _root_mean_square(scaled[data.to_impute]), "rms_by_column": by_column}


def scores(
    model: Model,
    completed: torch.Tensor,
    order: NDArray[np.int64],
    truth: CodedTable,
    hidden: NDArray[np.bool_],
) -> dict[str, float]:
    """Return accuracies and the standardised error of the hidden answers, pooled over columns."""
    values = np.empty((truth.shape[0], len(model.codec.names)))
    values[order] = model.codec.decode_point(completed, whole_numbers=False)
    found: dict[str, list[NDArray[np.float64]]] = {}
    for position, column in enumerate(truth.columns):
        here = hidden[:, position]
        error = values[here, position] - truth.values[here, position]
        if column.kind is ColumnKind.CONTINUOUS:
            error = error / truth.values[truth.states.answered[:, position], position].std()
            found.setdefault("squared_error", []).append(error**2)
        else:
            found.setdefault(f"{column.kind}_accuracy", []).append((error == 0).astype(float))
    means = {name: float(np.concatenate(parts).mean()) for name, parts in found.items()}
    if "squared_error" in means:
        means["rmse"] = means.pop("squared_error") ** 0.5
    return {name: round(value, 4) for name, value in means.items()}


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first, fourth and last round in short."""
    kept = ("round", "change", "cosine", "rms", "nominal_accuracy", "rmse", "error")
    places = sorted({0, min(3, len(rounds) - 1), len(rounds) - 1})
    return {"rounds": [{k: rounds[p][k] for k in kept if k in rounds[p]} for p in places]}


def _root_mean_square(values: torch.Tensor) -> float:
    return round(float(values.double().square().mean().sqrt()), 4)


def _cosine(left: torch.Tensor, right: torch.Tensor) -> float:
    product = float((left.double() * right.double()).sum())
    return round(product / max(float(left.double().norm() * right.double().norm()), 1e-12), 4)


if __name__ == "__main__":
    main()
