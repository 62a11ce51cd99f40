"""Compare point estimates of numbers: hide a fifth of the answers, score every candidate.

    python benchmarks/engine/number_medians.py SURVEYS benchmarks/engine/number_medians.json

SURVEYS holds survey folders (values.parquet, schema.json, skip.parquet). The result holds scores
alone, averaged over questions; errors are in standard deviations of the visible answers.
"""

from __future__ import annotations

import argparse
import json
import sys
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
# Fewer hidden answers than this say nothing about a question.
FEWEST = 20
# A question with so many zeros among its answers counts as heavy in zeros.
MANY_ZEROS = 0.3


def run(folder: Path, quality: str) -> dict[str, Any]:
    """Fit one survey and score the candidates."""
    import torch

    from tabsoda.datasets.survey_folder import load_survey_folder, sample_table
    from tabsoda.em.engine import Engine
    from tabsoda.quality import settings_for

    torch.set_num_threads(1)
    table = sample_table(load_survey_folder(folder).table, rows=ROWS, columns=COLUMNS, seed=1)
    generator = np.random.default_rng(5)
    hidden = table.states.answered & (generator.random(table.shape) < HIDDEN)
    seen = table.with_states(table.states.hide(hidden))
    engine = Engine.fit(seen, settings_for(quality, *seen.shape), seed=3, device="cpu")
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
        "all numbers": summary(questions),
        "heavy in zeros": summary(heavy),
    }


def estimates(engine: Any, seen: Any) -> dict[str, np.ndarray]:
    """Return the candidates' values of every missing cell, each of the table's shape."""
    from tabsoda.em.answering import answers_of

    cells = engine.impute(seen, n_draws=DRAWS)

    def placed(values: np.ndarray) -> np.ndarray:
        whole = np.full(seen.shape, np.nan)
        whole[cells.rows, cells.positions] = values
        return whole

    data = engine._working(seen, None)
    rows = data.incomplete_rows()
    likely = answers_of(engine.model, data, rows).bin_log_probabilities.double().exp().numpy()
    bins, network = engine.model.answer_codec.bins, np.full(seen.shape, np.nan)
    for place, position in enumerate(engine.model.codec.layout.continuous_columns):
        own = likely[:, place, : bins.counts[place]]
        network[rows.numpy(), position] = bins.medians(place, own)
    return {
        "mean table": placed(cells.mode),
        "median table": placed(cells.median),
        "network's median": network,
        f"median of {DRAWS} draws": placed(np.median(cells.draws, axis=0)),
        "constant median": np.full(seen.shape, np.nan),
    }


def summary(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Average the scores of some questions."""
    scores: dict[str, Any] = {"questions": len(questions)}
    for score in ("mae", "rmse", "zeros found"):
        given = [question[score] for question in questions if question[score]]
        names = given[0] if given else {}
        scores[score] = {
            name: round(float(np.mean([one[name] for one in given])), 4) for name in names
        }
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--quality", nargs="+", default=["fast", "balanced"])
    options = parser.parse_args()
    runs: list[dict[str, Any]] = []
    settings = {"rows": ROWS, "columns": COLUMNS, "hidden": HIDDEN, "many_zeros": MANY_ZEROS}
    for quality in options.quality:
        for survey in SURVEYS:
            runs.append(run(options.surveys / survey, quality))
            print(json.dumps(runs[-1]), flush=True)
            content = {**settings, "runs": runs}
            options.result.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
