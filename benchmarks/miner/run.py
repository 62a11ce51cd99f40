"""Mine the shared surveys and compare the result with their codebooks, cell by cell.

    python benchmarks/miner/run.py [--screens purity paper] [--surveys NAME ...] [--limits]

Writes results.json next to this file: numbers only, no data. Runs already there are kept unless
they are measured anew. The surveys are looked for in ``../shared/surveys`` next to the checkout, or
in TABSODA_SURVEYS.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
from limits import what_limits_recall
from record import write

from tabsoda.bench.metrics.skip_metrics import skip_metrics
from tabsoda.reading import read_survey
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.rules import count_conditions

HERE = Path(__file__).resolve().parent
SURVEYS = (
    "nhanes2015_16",
    "nhts2022_person",
    "nyts2019_products",
    "nsfg2006_2010_male",
    "nsduh2023_youth",
    "nlsy97_religion_panel",
)


def surveys_folder() -> Path:
    default = HERE.parents[2] / "shared" / "surveys"
    return Path(os.environ.get("TABSODA_SURVEYS", default))


def measure(name: str, screen: str, limits: bool) -> dict:
    folder = surveys_folder() / name
    table = read_survey(folder / "values.parquet", folder / "schema.json").table
    reference = pl.read_parquet(folder / "skip.parquet").select(table.names).to_numpy()
    started, cpu_started = time.perf_counter(), time.process_time()
    mined = SkipMiner(screen=screen).mine(table)
    seconds = time.perf_counter() - started
    cpu_seconds = time.process_time() - cpu_started
    # Linux counts in KiB; the process holds this one survey and nothing else.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = [sum(len(path) for path in rule.any_of) for rule in mined.rules]
    result = {
        "survey": name,
        "screen": screen,
        "rows": table.shape[0],
        "variables": table.shape[1],
        "mined": len(mined.targets),
        "with_skips": int(reference.any(axis=0).sum()),
        "rules": len(mined.rules),
        "conditions": count_conditions(mined.rules),
        "rules_of_several_conditions": sum(size > 1 for size in sizes),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "peak_memory_mib": round(peak),
    }
    metrics = skip_metrics(mined.states.skipped, reference, ~table.states.answered)
    for cells, values in metrics.items():
        result[cells] = {
            key: round(value, 5) if isinstance(value, float) else value
            for key, value in values.items()
        }
    if limits and screen == "purity":
        result["limits"] = what_limits_recall(table, mined, reference)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screens", nargs="+", default=["purity", "paper"])
    parser.add_argument("--surveys", nargs="+", default=list(SURVEYS))
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.surveys[0], options.screens[0], options.limits)))
        return
    runs = []
    for screen in options.screens:
        for name in options.surveys:
            # A process of its own for each, so that the peak memory is its own.
            command = [sys.executable, __file__, "--one", "--screens", screen, "--surveys", name]
            command += ["--limits"] if options.limits else []
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            runs.append(json.loads(output))
            cells = runs[-1]["all_cells"]
            print(
                f"{name:24s} {screen:7s} precision {cells['precision']:.4f} "
                f"recall {cells['recall']:.4f} rules {runs[-1]['rules']:4d} "
                f"{runs[-1]['cpu_seconds']:6.1f} s CPU {runs[-1]['peak_memory_mib']} MiB",
                flush=True,
            )
    write(HERE / "results.json", runs, ("survey", "screen"))


if __name__ == "__main__":
    main()
