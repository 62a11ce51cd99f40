"""How long a report takes, and how large it is: 219 questions, 10,403 respondents, 20 draws.

    python benchmarks/report/run.py SURVEYS/nsfg2006_2010_male

A tenth of the answers is hidden, so that there is much to show, and imputed by answers of other
respondents: the time of a report does not depend on how the draws were made. The model that
overimputes answers is one of quality "balanced", fitted to 300 rows in five steps.
"""

import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from tabsoda import TabSODAImputer, __version__
from tabsoda.datasets.survey_folder import load_survey_folder
from tabsoda.report.report import write_report
from tabsoda.results import Imputations, ImputedCells
from tabsoda.survey import Survey

DRAWS, HIDDEN = 20, 0.1


def imputed(survey) -> Imputations:
    rng = np.random.default_rng(0)
    answered = survey.states.answered
    hidden = survey.with_states(
        survey.states.hide(answered & (rng.random(answered.shape) < HIDDEN))
    )
    table = hidden.table
    rows, positions = np.nonzero(table.states.missing)
    draws = np.empty((DRAWS, rows.size))
    for position in range(table.shape[1]):
        cells = positions == position
        answers = table.values[table.states.answered[:, position], position]
        draws[:, cells] = rng.choice(answers, (DRAWS, int(cells.sum())))
    return Imputations(table, ImputedCells(rows, positions, draws, draws[0], draws[0]), hidden)


def first_rows(survey: Survey, n_rows: int = 300) -> Survey:
    table = survey.table.rows(np.arange(n_rows))
    return Survey(survey.frame.head(n_rows), survey.schema, table, source=survey.source)


def timed(result: Imputations, **options) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        started, worked = time.perf_counter(), time.process_time()
        summary = write_report(result, page, **options)
        return {
            "seconds": round(time.perf_counter() - started, 1),
            "cpu_seconds": round(time.process_time() - worked, 1),
            "page_bytes": page.stat().st_size,
            "json_bytes": page.with_suffix(".json").stat().st_size,
            "overimputed_cells": (summary["calibration"] or {}).get("cells", 0),
        }


def main(folder: Path) -> None:
    torch.set_num_threads(2)
    survey = load_survey_folder(folder)
    result = imputed(survey)
    imputer = TabSODAImputer(settings={"training": {"max_steps": 5}}, device="cpu")
    imputer.fit(first_rows(result.survey))
    content = {
        "survey": folder.name,
        "rows": result.table.shape[0],
        "questions": result.table.shape[1],
        "draws": DRAWS,
        "imputed_cells": int(result.cells.rows.size),
        "without_model": timed(result),
        "with_model": timed(result, imputer=imputer),
        "with_model_and_strata": timed(result, imputer=imputer, strata=["HISP"]),
        "tabsoda": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cores": len(os.sched_getaffinity(0)),
        "processor": platform.processor() or platform.machine(),
    }
    target = Path(__file__).with_name("results.json")
    target.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
