"""Compare point estimates of numbers: hide a fifth of the answers, score every candidate.

    python benchmarks/engine/number_medians.py SURVEYS benchmarks/engine/number_medians.json
    python benchmarks/engine/number_medians.py SURVEYS \
        benchmarks/engine/number_medians_confirmed.json --quality fast --replication 1 2

The median table was chosen on replication 0. Later replications confirm the choice: they leave out
the respondents of replication 0, draw other respondents and questions, and hide other answers.

SURVEYS holds survey folders (values.parquet, schema.json, skip.parquet). The result holds scores
alone, averaged over questions; errors are in standard deviations of the visible answers.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

SURVEYS = (
    "nhts2022_person",
    "nhanes2015_16",
    "nsfg2006_2010_male",
    "nsduh2023_youth",
    "nlsy97_religion_panel",
)
ROWS, COLUMNS, HIDDEN, DRAWS = 2500, 60, 0.2, 20
# Seeds of replication 0, on which the median table was chosen; replication r adds r to each.
SAMPLE_SEED, HIDING_SEED, FITTING_SEED = 1, 5, 3
# Fewer hidden answers than this say nothing about a question.
FEWEST = 20
# A question with so many zeros among its answers counts as heavy in zeros.
MANY_ZEROS = 0.3


def sampled(folder: Path, replication: int) -> Any:
    """Draw rows and questions; later replications leave out the rows of replication 0."""
    from tabsoda._internal.randomness import numpy_generator
    from tabsoda.datasets.survey_folder import load_survey_folder, sample_table

    table = load_survey_folder(folder).table
    n_rows = table.shape[0]
    if replication:
        # The same draw as in sample_table.
        generator = numpy_generator(SAMPLE_SEED, "sample rows")
        used = generator.choice(n_rows, ROWS, replace=False)
        table = table.rows(np.setdiff1d(np.arange(n_rows), used))
    return sample_table(table, rows=ROWS, columns=COLUMNS, seed=SAMPLE_SEED + replication)


def run(folder: Path, quality: str, replication: int = 0) -> dict[str, Any]:
    """Fit one survey and score the candidates."""
    import torch

    from tabsoda.engine.engine import DefaultEngine
    from tabsoda.engine.presets import quality_settings

    torch.set_num_threads(1)
    table = sampled(folder, replication)
    generator = np.random.default_rng(HIDING_SEED + replication)
    hidden = table.states.answered & (generator.random(table.shape) < HIDDEN)
    seen = table.with_states(table.states.hide(hidden))
    settings, seed = quality_settings(quality, *seen.shape), FITTING_SEED + replication
    engine = DefaultEngine.fit(seen, settings, seed=seed, device="cpu")
    candidates = estimates(engine, seen)
    questions = []
    for position, column in enumerate(table.columns):
        cells = hidden[:, position]
        if column.is_categorical or cells.sum() < FEWEST:
            continue
        shown = seen.values[seen.states.answered[:, position], position]
        candidates["constant median"][:, position] = np.median(shown)
        truth = table.values[cells, position]
        spread = shown.std() or 1.0
        errors = {
            name: (given[cells, position] - truth) / spread for name, given in candidates.items()
        }
        zero = truth == 0
        questions.append(
            {
                "zeros": float((shown == 0).mean()),
                "mae": {name: float(np.abs(e).mean()) for name, e in errors.items()},
                "rmse": {name: float(np.sqrt((e**2).mean())) for name, e in errors.items()},
                "zeros found": {
                    name: float((given[cells, position][zero] == 0).mean())
                    for name, given in candidates.items()
                }
                if zero.any()
                else {},
            }
        )
    heavy = [question for question in questions if question["zeros"] >= MANY_ZEROS]
    return {
        "survey": folder.name,
        "quality": quality,
        "replication": replication,
        "all numbers": summary(questions),
        "heavy in zeros": summary(heavy),
    }


def estimates(engine: Any, seen: Any) -> dict[str, np.ndarray]:
    """Return the candidates' values of every missing cell, each of the table's shape."""
    cells = engine.impute(seen, n_draws=DRAWS)

    def placed(values: np.ndarray) -> np.ndarray:
        whole = np.full(seen.shape, np.nan)
        whole[cells.rows, cells.positions] = values
        return whole

    # The network is the first predictor.
    likely = engine.ensemble.predictors[0].answers(seen, seen.states.missing).bins
    bins, network = engine.codec.bins, np.full(seen.shape, np.nan)
    for place, position in enumerate(engine.codec.numbers):
        network[:, position] = bins.medians(place, likely[:, place, : bins.counts[place]])
    return {
        "mean table": placed(cells.mode),
        "median table": placed(cells.median),
        "network's median": network,
        f"median of {DRAWS} draws": placed(np.median(cells.draws, axis=0)),
        "constant median": np.full(seen.shape, np.nan),
    }


def summary(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Average the scores of some questions; count those where the median table is nearer."""
    scores: dict[str, Any] = {"questions": len(questions)}
    for score in ("mae", "rmse", "zeros found"):
        given = [question[score] for question in questions if question[score]]
        names = given[0] if given else {}
        scores[score] = {
            name: round(float(np.mean([one[name] for one in given])), 4) for name in names
        }
    ours = [question["mae"]["median table"] for question in questions]
    scores["median table better"] = {
        name: sum(
            own < question["mae"][name] for own, question in zip(ours, questions, strict=True)
        )
        for name in scores["mae"]
        if name != "median table"
    }
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--quality", nargs="+", default=["fast", "balanced"])
    parser.add_argument("--replication", type=int, nargs="+", default=[0])
    options = parser.parse_args()
    runs: list[dict[str, Any]] = []
    settings = {"rows": ROWS, "columns": COLUMNS, "hidden": HIDDEN, "many_zeros": MANY_ZEROS}
    for quality, replication, survey in product(options.quality, options.replication, SURVEYS):
        runs.append(run(options.surveys / survey, quality, replication))
        print(json.dumps(runs[-1]), flush=True)
        content = {**settings, "runs": runs}
        options.result.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
