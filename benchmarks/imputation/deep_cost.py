"""Count the arithmetic of the deep study's cells before it is run.

    python benchmarks/imputation/deep_cost.py SURVEYS/ benchmarks/imputation/deep_cost.json

Counts the products of the paper's engine and of DiffPuter, which is the same engine with other
settings, as `--dry-run` does: 2 operations per weight and row, 6 with gradients, without early
stops. Divided by a GPU's rate in float32, they are the least time of a cell, however many cells
share the GPU.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from tabsoda._internal.files import write_json
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.diffputer import DiffPuter
from tabsoda.bench.methods.plain_table import plain_table
from tabsoda.bench.studies.study import cases_of, load_study, tables_in
from tabsoda.cost.table_size import TableSize
from tabsoda.engines import settings_for
from tabsoda.paper.work import work_plan

STUDY = Path(__file__).resolve().parents[1] / "studies" / "deep.toml"
# Of large matrix products in float32 on an H200: the data sheet has 67, what is reached is less.
TERA_PER_SECOND = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys", type=Path)
    parser.add_argument("result", type=Path)
    options = parser.parse_args()
    study = load_study(STUDY)
    cells = []
    for name, case in cases_of(study, tables_in(study, options.surveys)).items():
        hidden = hide_cells(case.table, "mar", seed=study.seed).mask
        seen = case.table.with_states(case.table.states.hide(hidden))
        shown = plain_table(seen, SkipView.LEVEL)
        for label, table, settings in (
            ("TabSODA (nsduh)", seen, settings_for("nsduh", *seen.shape, {})),
            ("TabSODA (path)", seen, settings_for("path", *seen.shape, {})),
            ("DiffPuter", shown, DiffPuter().settings),
        ):
            stages = work_plan(TableSize.of(table), settings, 0).stages
            tera = {stage: round(stages[stage][2] / 1e12) for stage in ("training", "answering")}
            seconds = round(sum(tera.values()) / TERA_PER_SECOND)
            cells.append({"survey": name, "method": label, "tera": tera, "seconds": seconds})
            print(name, label, tera, f"{seconds} s")
    total = Counter[str]()
    for cell in cells:
        total[cell["method"]] += cell["seconds"]
    write_json(
        options.result,
        {
            "tera_per_second": TERA_PER_SECOND,
            "cells": cells,
            "hours_of_a_replication": {k: round(v / 3600, 2) for k, v in total.items()},
        },
    )


if __name__ == "__main__":
    main()
