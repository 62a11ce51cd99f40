"""Measure what each deviation from the paper changes, one at a time.

    python benchmarks/paper/deviations.py SURVEYS/ benchmarks/paper/deviations.json

Where the code deviates from the paper's text, a variant does what the paper says. It is compared
with the paper's engine on the same hidden answers with the same seed: 1,000 respondents and 20
questions of two surveys, one with the settings of the preset ``path``, the other with those of
``nsduh``, both with a small network and little training, so that the script runs on a laptop.
Results are written after every fit, and finished fits are not repeated.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from tabsoda._internal.files import write_json
from tabsoda._internal.randomness import row_keys, stream_key
from tabsoda._version import __version__
from tabsoda.bench.gates import seen_table
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.methods.contract import Estimates
from tabsoda.bench.methods.point_estimates import usual_answers
from tabsoda.bench.metrics.imputation_metrics import score_estimates
from tabsoda.coding.row_order import canonical_order
from tabsoda.datasets.survey_folder import load_survey_folder, sample_table
from tabsoda.events import EventLog
from tabsoda.followers import find_followers
from tabsoda.paper import em, fit, m_step, reverse_process
from tabsoda.paper.calibration import calibrate_cutpoints
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.losses import nominal_loss
from tabsoda.paper.objective import Objective
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.standardizer import Standardizer
from tabsoda.paper.working_table import WorkingTable
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

SURVEYS = {"nhanes2015_16": "path", "nsduh2023_youth": "nsduh"}
ROWS, COLUMNS, SEED = 1000, 20, 1
METRICS = (
    "mace",
    "ordinal_accuracy",
    "nominal_accuracy",
    "categorical_accuracy",
    "rmse",
)
SMALL: dict[str, dict[str, Any]] = {
    "backbone": {"width": 64},
    "training": {
        "batch_size": 256,
        "max_epochs": 15,
        "patience": 15,
        "plateau_patience": 5,
        "learning_rate": 2e-3,
        "calibration_learning_rate": 1e-2,
    },
    "sampler": {"steps": 10, "chains": 3},
}
OURS = "ours"


@dataclass(frozen=True)
class Variant:
    """What the paper says in one place, as changed settings, changed code or a changed table."""

    settings: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    code: Callable[[CodedTable], Iterator[None]] | None = None
    hides_held_out: bool = False


def over_all_entries(table: CodedTable) -> Iterator[None]:
    """Fit the first standardiser over all applicable entries, filled ones too."""
    with patch.object(em, "moment_entries", lambda refresh, visible, applicable: applicable):
        yield


def to_unit_scale(table: CodedTable) -> Iterator[None]:
    """Standardise to a standard deviation of 1, while the network assumes 1/2."""

    class UnitScale(Standardizer):
        @classmethod
        def fit(cls, encoded, weights, data_scale=0.5, **options):  # type: ignore[no-untyped-def]
            return Standardizer.fit(encoded, weights, 1.0, **options)

    with patch.object(em, "Standardizer", UnitScale):
        yield


def on_drawn_latents(table: CodedTable) -> Iterator[None]:
    """Condition the E-step on the latents that the round's M-step drew for answers."""
    run = Sampler._run

    def with_draws(self, data, complete, progress):  # type: ignore[no-untyped-def]
        model, objective = self.model, self.model.objective
        if self._round > 1 and model.has_latents:
            key = stream_key(model.seed, "latents", self._round)
            drawn = data.draw_latents(
                model.encoder_cutpoints(),
                objective.ordinal_columns,
                objective.ordinal_coordinates,
                key,
            )
            data = replace(data, encoded=drawn)
        return run(self, data, complete, progress)

    with patch.object(Sampler, "_run", with_draws):
        yield


def calibrated_first(table: CodedTable) -> Iterator[None]:
    """Calibrate the cutpoints before the first training, too."""
    step = m_step.m_step

    def with_phase_one(model, data, targets, number, *others):  # type: ignore[no-untyped-def]
        if number == 1:
            calibrate_cutpoints(model, data, targets, number, "before")
        return step(model, data, targets, number, *others)

    with patch.object(em, "m_step", with_phase_one):
        yield


def down_to_the_last_level(table: CodedTable) -> Iterator[None]:
    """End the reverse process at the last noise level instead of at 0."""
    step = reverse_process.reverse_step

    def without_the_last(denoise, state, rows, *others, last=False):  # type: ignore[no-untyped-def]
        if not last:
            return step(denoise, state, rows, *others)
        mixed = torch.where(rows.to_impute, state, rows.observed)
        return mixed.masked_fill(~rows.applicable, 0.0)

    with patch.object(reverse_process, "reverse_step", without_the_last):
        yield


def on_nominals_alone(table: CodedTable) -> Iterator[None]:
    """Leave the ordinals that are encoded as bits out of the nominal loss."""
    nominal = torch.tensor([column.kind is ColumnKind.NOMINAL for column in table.columns])

    def of_nominals(self, decoded, targets):  # type: ignore[no-untyped-def]
        counted = targets.supervised[:, self.bit_columns] & nominal[self.bit_columns]
        levels = targets.levels[:, self.bit_columns]
        reduction = self.settings.reduction
        return nominal_loss(decoded.nominal, levels, counted, targets.row_weight, reduction)

    with patch.object(Objective, "nominal", of_nominals):
        yield


BASE = Variant()
VARIANTS: dict[str, Variant] = {
    "standardiser in round 1": Variant(code=over_all_entries),
    "scale of the standardiser": Variant(code=to_unit_scale),
    "conditioning of the E-step": Variant(code=on_drawn_latents),
    "phase 1 in round 1": Variant(code=calibrated_first),
    "step to noise 0": Variant(code=down_to_the_last_level),
    "nominal loss": Variant(code=on_nominals_alone),
    "held-out answers at the end": Variant(hides_held_out=True),
    "steps of a calibration": Variant({"training": {"calibration_steps": 2000}}),
    "learning rate": Variant({"training": {"plateau_patience": 1_000_000}}),
    "weights across rounds": Variant({"training": {"warm_start": False}}),
    "churn": Variant({"sampler": {"churn": 1.0}}),
    # Not a deviation any more: what fresh noise in every round changed.
    "same noise in every round": Variant({"sampler": {"fresh_noise": False}}),
}


def settings_of(preset: str, changes: Mapping[str, dict[str, Any]]) -> PaperSettings:
    """Return a preset, cut down, with the changes of a variant."""
    return PaperSettings.preset(preset).replace(**SMALL).replace(**changes)


@contextmanager
def changed(variant: Variant, table: CodedTable) -> Iterator[None]:
    """Run with the code of a variant."""
    with ExitStack() as stack:
        if variant.code is not None:
            stack.enter_context(contextmanager(variant.code)(table))
        yield


def run(truth: CodedTable, preset: str, replication: int, variant: Variant) -> dict[str, Any]:
    """Fit a variant to a table with hidden answers, and score its estimates."""
    hidden = hide_cells(truth, "mar", replication=replication, seed=SEED).mask
    seen, scored = seen_table(truth, hidden, find_followers(truth), "resolved")
    settings = settings_of(preset, variant.settings)
    with changed(variant, seen):
        engine = PaperEngine.fit(seen, settings, seed=replication, device="cpu")
        shown = without_held_out(seen, settings, replication) if variant.hides_held_out else seen
        cells = engine.impute(shown, whole_numbers=False)
    mode = np.where(seen.states.answered, seen.values, usual_answers(seen))
    filled = np.where(hidden | seen.states.missing, mode, seen.values)
    filled[cells.rows, cells.positions] = cells.mode
    found = score_estimates(truth, seen, Estimates(filled, filled, {}), scored)["all"]
    result: dict[str, Any] = {name: found[name] for name in METRICS}
    result["change_by_round"] = [entry["change"] for entry in engine.history]
    if variant is BASE:
        result["draws"] = draws(engine, truth, seen, scored)
    return result


def without_held_out(table: CodedTable, settings: PaperSettings, seed: int) -> CodedTable:
    """Hide the answers that the fit held out for the temperatures."""
    order, _ = canonical_order(table)
    ordered = table.rows(order)
    latent = fit.latent_columns(ordered, settings, EventLog())
    held_out = np.zeros(table.shape, dtype=bool)
    held_out[order] = fit.choose_held_out(ordered, latent, settings, seed)
    return table.with_states(table.states.hide(held_out))


def draws(
    engine: PaperEngine, truth: CodedTable, seen: CodedTable, scored: np.ndarray
) -> dict[str, dict[str, float]]:
    """Decode one draw of the latent ordinals by interval, and by mode with temperatures.

    Returns the distance of the shares of levels from the true ones (total variation, mean over
    questions) and the accuracy of a draw.
    """
    model = engine.model
    keys = row_keys(seen.values, seen.states.states)
    data = WorkingTable.build(seen, model.codec, keys, engine.device)
    rows, encoded = Sampler(model, EventLog(), engine.history[-1]["round"]).draw(data, 1)
    places = {row: place for place, row in enumerate(rows.tolist())}
    ways = {
        "interval": model.codec.decode_point(encoded, rule="interval"),
        "mode with temperature": model.codec.decode_point(
            encoded, model.temperatures, "mode", cutpoints=model.cutpoints().detach()
        ),
    }
    result = {}
    for way, values in ways.items():
        distances, hits = [], []
        for position in model.objective.ordinal_columns.tolist():
            cells = np.flatnonzero(scored[:, position])
            if not cells.size:
                continue
            drawn = values[[places[row] for row in cells.tolist()], position].astype(int)
            actual = truth.values[cells, position].astype(int)
            n_levels = truth.columns[position].n_levels
            shares = [np.bincount(one, minlength=n_levels) / cells.size for one in (drawn, actual)]
            distances.append(0.5 * float(np.abs(shares[0] - shares[1]).sum()))
            hits.append(float((drawn == actual).mean()))
        result[way] = {
            "distance_of_shares": float(np.mean(distances)),
            "accuracy": float(np.mean(hits)),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--replications", type=int, default=4)
    parser.add_argument("--survey", choices=tuple(SURVEYS), nargs="+", default=tuple(SURVEYS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    document: dict[str, Any] = {"runs": []}
    if options.result.is_file():
        document = json.loads(options.result.read_text(encoding="utf-8"))
    done = {(one["survey"], one["variant"], one["replication"]) for one in document["runs"]}
    document |= {
        "tabsoda": __version__,
        "rows": ROWS,
        "columns": COLUMNS,
        "seed": SEED,
        "settings": SMALL,
    }
    tables = {
        name: sample_table(
            load_survey_folder(options.surveys / name).table, rows=ROWS, columns=COLUMNS, seed=SEED
        )
        for name in options.survey
    }
    for replication in range(options.replications):
        for variant_name, variant in {OURS: BASE, **VARIANTS}.items():
            for survey, table in tables.items():
                if (survey, variant_name, replication) in done:
                    continue
                preset = SURVEYS[survey]
                scores = run(table, preset, replication, variant)
                document["runs"].append(
                    {
                        "survey": survey,
                        "preset": preset,
                        "variant": variant_name,
                        "replication": replication,
                        **scores,
                    }
                )
                write_json(options.result, document)
                print(replication, survey, variant_name, scores["mace"], flush=True)


if __name__ == "__main__":
    main()
