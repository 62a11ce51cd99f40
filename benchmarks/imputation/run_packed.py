"""Run a packed study with numpy, scipy, scikit-learn and torch alone.

    python benchmarks/imputation/run_packed.py PACKED/ OUT/ [--methods NAME ...] [--views VIEW ...]
        [--replications N] [--jobs N] [--seconds N]

Writes the same cell folders as `tabsoda evaluate -o OUT/`, so that results of several machines can
be laid together. Interrupted, the same command goes on. Replications run one after the other, each
with the methods in the order in which they are named. With --jobs, that many processes share the
machine and its GPU. With --seconds, the run ends after that time, and unfinished cells are run
again by the next command: see deep_cost.json for how long a cell takes at least.
"""

import argparse
import json
import os
import signal
import threading
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
    parser.add_argument("--methods", nargs="+", help="only these, by name or label, in this order")
    parser.add_argument("--views", nargs="+", help="only these views of skips")
    parser.add_argument("--replications", type=int, help="only the first N")
    parser.add_argument("--sanity-check", action="store_true", help="check first that methods work")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    entries = json.loads((options.packed / "cells.json").read_text(encoding="utf-8"))
    cells = chosen([CellSettings(**entry) for entry in entries], options)
    names = {cell.survey for cell in cells}
    cases = {name: load_case(options.packed / "tables" / f"{slug(name)}.npz") for name in names}
    store = Store(options.output)
    if options.seconds is not None:
        stop_after(options.seconds)
    start = time.monotonic()

    def progress(done: int, total: int, what: str) -> None:
        print(f"{time.monotonic() - start:7.1f} s {done} of {total} {what}", flush=True)

    summary = run_study(
        cases,
        cells,
        store,
        engine="joblib" if options.jobs > 1 else "local",
        jobs=options.jobs,
        sanity_check=options.sanity_check,
        progress=progress,
    )
    print(f"{summary.ran} run, {summary.reused} done before, {summary.failed} failed")


def chosen(cells: list[CellSettings], options: argparse.Namespace) -> list[CellSettings]:
    """Return the cells that the options ask for, in the order of the methods."""
    views = options.views
    cells = [cell for cell in cells if views is None or cell.skip_view in ["own", *views]]
    if options.replications is not None:
        cells = [cell for cell in cells if cell.replication < options.replications]
    order = options.methods or []

    def turn(cell: CellSettings) -> tuple[int, int]:
        places = [at for at, name in enumerate(order) if name in (cell.method, cell.label)]
        return cell.replication, places[0] if places else len(order)

    return sorted((c for c in cells if not order or turn(c)[1] < len(order)), key=turn)


def stop_after(seconds: float) -> None:
    """End this process and its workers after some time; finished cells are kept."""

    def stop() -> None:
        print(f"stopped after {seconds:.0f} s", flush=True)
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    main()
