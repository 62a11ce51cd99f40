"""Measure what the harness adds to a method's own time; prints JSON.

    python benchmarks/imputation/overhead.py [--rows 4000] [--columns 40] [--method boosting]

The harness's time is that of hiding, scoring and writing a cell.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from tabsoda.bench.cases import SurveyCase
from tabsoda.bench.studies.cells import CellSettings, method_factory
from tabsoda.bench.studies.runner import run_study
from tabsoda.bench.studies.store import Store
from tabsoda.datasets import make_survey


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--method", default="boosting")
    parser.add_argument("--engine", default="local")
    options = parser.parse_args()
    table = make_survey(n_rows=options.rows, n_columns=options.columns, seed=1).true_table
    case = SurveyCase.of("generated", table)
    cells = [
        CellSettings(
            "generated", case.fingerprint, mechanism, 0, options.method, options.method,
            skip_view="level",
        )
        for mechanism in ("mcar", "mar", "mnar")
    ]  # fmt: skip
    # Importing a method's libraries happens once per process and is not part of either time.
    method_factory(options.method)()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        start = time.perf_counter()
        run_study({"generated": case}, cells, store, engine=options.engine, sanity_check=False)
        total = time.perf_counter() - start
        own = sum(result["seconds"] for result in store.results())
    report = {
        "rows": options.rows,
        "columns": options.columns,
        "method": options.method,
        "engine": options.engine,
        "cells": len(cells),
        "method_seconds": round(own, 3),
        "total_seconds": round(total, 3),
        "overhead_share": round((total - own) / own, 5),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
