"""Time the regressions and draws with products and curves against straight lines.

    python benchmarks/engine/interaction_time.py SURVEYS benchmarks/engine/interaction_time.json

Respondents of one survey, 20 % of the answers hidden; the sets of the quality "balanced" for that
size, then twenty draws. Seconds of CPU in one thread, both in the same process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tabsoda.datasets.survey_folder import load_survey_folder
from tabsoda.engine.presets import quality_settings
from tabsoda.engine.regressions.chained_regressions import FEWEST_ANSWERS, ChainedRegressions
from tabsoda.table import CodedTable

SURVEY = "nsfg2006_2010_male"
SIZES = ((4000, 40), (10_403, 219))
DRAWS = 20


def hide(whole: CodedTable, n_rows: int, n_columns: int, rng: np.random.Generator) -> CodedTable:
    """Return some rows and columns with 20 % of the answers hidden."""
    columns = np.sort(rng.permutation(len(whole.columns))[:n_columns])
    table = whole.select([whole.names[place] for place in columns])
    table = table.rows(np.sort(rng.permutation(whole.shape[0])[:n_rows]))
    hidden = table.states.answered & (rng.random(table.shape) < 0.2)
    return table.with_states(table.states.hide(hidden))


def measure(table: CodedTable, interactions: bool) -> dict[str, float]:
    """Return the seconds of the fit and of the draws, and the number of relations."""
    rng = np.random.default_rng(1)
    states, filled = table.states, table.values.copy()
    usable = []
    for place, column in enumerate(table.columns):
        answers = table.values[states.answered[:, place], place]
        if answers.size:
            missing = states.missing[:, place]
            filled[missing, place] = rng.choice(answers, missing.sum())
        few = not column.is_categorical or column.n_levels <= 40
        if answers.size >= FEWEST_ANSWERS and np.unique(answers).size > 1 and few:
            usable.append(place)
    chosen = quality_settings("balanced", *table.shape).regressions
    barred = np.zeros((table.shape[1], table.shape[1]), dtype=bool)
    start = time.process_time()
    chained = ChainedRegressions.fit(
        table, filled, usable, barred, n_sets=chosen.sets, rounds=chosen.rounds, seed=1,
        max_questions=chosen.max_questions, first_rounds=3, row_share=chosen.row_share,
        interactions=interactions,
    )  # fmt: skip
    fitted = time.process_time()
    missing = states.missing.copy()
    missing[:, np.setdiff1d(np.arange(table.shape[1]), usable)] = False
    for number in range(1, 4):
        noise = [rng.random(missing.shape) for _ in range(chosen.sweeps)]
        chained.redraw(filled, missing, states.skipped, number, noise)
    drawn = (time.process_time() - fitted) / 3 * DRAWS
    return {
        "fit": round(fitted - start, 1),
        "draws": round(drawn, 1),
        "relations": len(chained.relations),
    }


def main() -> None:
    whole = load_survey_folder(Path(sys.argv[1]) / SURVEY).table
    found = []
    for n_rows, n_columns in SIZES:
        table = hide(whole, n_rows, n_columns, np.random.default_rng(0))
        lines, products = (measure(table, interactions) for interactions in (False, True))
        ratio = (products["fit"] + products["draws"]) / (lines["fit"] + lines["draws"])
        found.append(
            {
                "rows": n_rows,
                "columns": n_columns,
                "straight_lines": lines,
                "with_products": products,
                "ratio": round(ratio, 2),
            }
        )
        print(found[-1], flush=True)
    Path(sys.argv[2]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
