"""Run a packed study with numpy, scipy, scikit-learn and torch alone.

    python benchmarks/imputation/run_packed.py PACKED/ OUT/ [--methods NAME ...] [--seconds N]

Writes the same cell folders as `tabsoda evaluate -o OUT/`, so that results of several machines can
be laid together. Interrupted, the same command goes on. With --seconds, no cell is begun after that
time.
"""

import argparse
import json
import time
from pathlib import Path

from tabsoda.bench.cases import load_case
from tabsoda.bench.studies.cells import CellSettings, slug
from tabsoda.bench.studies.runner import run_study
from tabsoda.bench.studies.store import Store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packed", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--methods", nargs="+", help="only these, by name or label")
    parser.add_argument("--sanity-check", action="store_true", help="check first that methods work")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    entries = json.loads((options.packed / "cells.json").read_text(encoding="utf-8"))
    cells = [CellSettings(**entry) for entry in entries]
    if options.methods:
        cells = [c for c in cells if {c.method, c.label} & set(options.methods)]
    names = {cell.survey for cell in cells}
    cases = {name: load_case(options.packed / "tables" / f"{slug(name)}.npz") for name in names}
    store = Store(options.output)
    start = time.monotonic()
    failed = 0
    for cell in store.pending(cells):
        if time.monotonic() - start > options.seconds:
            break
        summary = run_study(cases, [cell], store, sanity_check=options.sanity_check)
        failed += summary.failed
        took = time.monotonic() - start
        print(f"{took:7.1f} s {cell.path} {'FAILED' if summary.failed else ''}", flush=True)
    left = len(store.pending(cells))
    print(f"{len(cells) - left} of {len(cells)} cells are done, {failed} failed now")


if __name__ == "__main__":
    main()
