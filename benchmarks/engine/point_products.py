"""Do products and curves help point estimates? Compare regressions with and without them.

    python benchmarks/engine/point_products.py SURVEYS benchmarks/engine/point_products.json

1,500 respondents and 30 questions of each survey, a fifth of the answers hidden. The quality is
"fast" without trees; network and blend are the same in both fits, and only the regressions in the
blend differ. Scores are means over questions.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from tabsoda.datasets.survey_folder import load_survey_folder, sample_table
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.presets import quality_settings
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.engine.regressions.fit import RegressionFit
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

SURVEYS = ("nhanes2015_16", "nsfg2006_2010_male", "nhts2022_person", "nsduh2023_youth")
ROWS, COLUMNS, HIDDEN, REPLICATIONS = 1500, 30, 0.2, (71, 72)
FEWEST = 20


def with_products(fit: RegressionFit) -> ChainedRegressions:
    """Fit the sets for point estimates with a screen for products."""
    return fit._fit(fit.training.shown, fit.settings.point_sets, 1, 1.0, interactions=True)


def scores(table: CodedTable, hidden: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Return accuracy of levels, distance of ordinals in levels, and error of numbers."""
    by_kind: dict[str, list[float]] = {}
    for place, column in enumerate(table.columns):
        cells = hidden[:, place]
        if cells.sum() < FEWEST:
            continue
        truth, own = table.values[cells, place], found[cells, place]
        if column.kind is ColumnKind.NOMINAL:
            by_kind.setdefault("nominal_accuracy", []).append(float((own == truth).mean()))
        elif column.kind is ColumnKind.ORDINAL:
            by_kind.setdefault("ordinal_accuracy", []).append(float((own == truth).mean()))
            by_kind.setdefault("ordinal_distance", []).append(float(np.abs(own - truth).mean()))
        else:
            error = np.abs(own - truth).mean() / (truth.std() or 1.0)
            by_kind.setdefault("number_error", []).append(float(error))
    return {name: round(float(np.mean(own)), 4) for name, own in sorted(by_kind.items())}


def compare(survey: Path, replication: int) -> dict[str, Any]:
    """Return the scores of one sample of a survey, without and with products."""
    whole = load_survey_folder(survey).table
    table = sample_table(whole, rows=ROWS, columns=COLUMNS, seed=replication)
    generator = np.random.default_rng(replication)
    hidden = table.states.answered & (generator.random(table.shape) < HIDDEN)
    seen = table.with_states(table.states.hide(hidden))
    settings = quality_settings("fast", *seen.shape).replace(trees={"effort": "none"})
    result: dict[str, Any] = {"survey": survey.name, "replication": replication}
    for name, fit in (("straight_lines", RegressionFit.for_points), ("products", with_products)):
        with patch.object(RegressionFit, "for_points", fit):
            engine = DefaultEngine.fit(seen, settings, seed=replication, device="cpu", draws=False)
        cells, found = engine.impute(seen), np.full(seen.shape, np.nan)
        found[cells.rows, cells.positions] = cells.mode
        result[name] = scores(table, hidden, found)
    return result


def main() -> None:
    torch.set_num_threads(1)
    found = []
    for name in SURVEYS:
        for replication in REPLICATIONS:
            found.append(compare(Path(sys.argv[1]) / name, replication))
            print(found[-1], flush=True)
            text = "[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n"
            Path(sys.argv[2]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
