"""Sample, hide, impute and analyse, to see whether draws keep interactions and curves.

    python benchmarks/coverage/interactions.py RECORDS --methods "fast;mice" --samples 0 40
    python benchmarks/coverage/interactions.py RECORDS --table benchmarks/coverage/interactions.json

RECORDS is a file of one line of JSON per sample and method, to which is added; what it holds is not
computed again. The same number is the same sample with the same hidden answers for every method.
TABSODA_SURVEYS names the folder of the surveys. ``--table`` writes the summary.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from interaction_methods import METHODS
from interaction_populations import NAMES, interaction_population, truths

from tabsoda._internal.randomness import numpy_generator
from tabsoda.analysis.pooling import Analysis
from tabsoda.bench.metrics.coverage import intervals
from tabsoda.table import CodedTable

SEED = 17
REFERENCES = ("complete data", "complete cases")


def replicate(
    name: str, mechanism: str, rows: int, share: float, number: int, method: str, surveys: Path
) -> dict[str, Any]:
    """Return the pooled estimates of one method in one sample, with intervals and seconds."""
    people = interaction_population(name, surveys)
    generator = numpy_generator(SEED, name, mechanism, rows, number)
    values = people.sample(rows, generator)
    hidden = people.hide(values, mechanism, share, generator)
    seen = CodedTable.from_values(
        people.columns, np.where(hidden, np.nan, values), np.isnan(values)
    )
    start = time.process_time(), time.perf_counter()
    completed = [values if method == "complete data" else seen.values]
    if method not in REFERENCES:
        completed = METHODS[method](seen, number, people)
    seconds = time.perf_counter() - start[1]
    found = [people.analyses(one) for one in completed]
    estimates = {}
    for what in found[0]:
        parts = [
            Analysis(np.array([one[what][1]]), np.array([[one[what][2]]]), None, one[what][3])
            for one in found
        ]
        estimate, ends = intervals(parts)
        estimates[what] = [found[0][what][0], *(float(f"{x:.6g}") for x in (*estimate, *ends[0]))]
    return {
        "population": name,
        "mechanism": mechanism,
        "rows": rows,
        "share": share,
        "number": number,
        "method": method,
        "seconds": round(seconds, 2),
        "estimates": estimates,
    }


def summary(records: list[dict[str, Any]], surveys: Path) -> list[dict[str, Any]]:
    """Return, per population, setting, estimand and method: ratio to the truth, bias, coverage."""
    groups: dict[tuple[Any, ...], list[list[Any]]] = {}
    for record in records:
        for what, found in record["estimates"].items():
            key = tuple(record[k] for k in ("population", "mechanism", "rows", "share"))
            groups.setdefault((*key, record["method"], what, found[0]), []).append(found[1:])
    rows = []
    for (name, mechanism, n, share, method, what, kind), found in groups.items():
        truth = truths(name, surveys)[what]
        estimates, low, high = np.array(found, dtype=float).T
        rows.append(
            {
                "population": name, "mechanism": mechanism, "rows": n, "share": share,
                "method": method, "estimand": what, "kind": kind, "truth": float(f"{truth:.4g}"),
                "ratio": round(float(estimates.mean() / truth), 3)
                if name != "linear" or kind in ("main effect", "mean") else None,
                "bias_se": round(float((estimates.mean() - truth) / estimates.std(ddof=1)), 2)
                if len(found) > 1 else None,
                "coverage": round(float(((low <= truth) & (truth <= high)).mean()), 3),
                "width": float(f"{(high - low).mean():.4g}"),
                "samples": len(found),
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("--methods", default="fast")
    parser.add_argument("--samples", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--populations", default=";".join(NAMES))
    parser.add_argument("--mechanisms", default="mar,mcar")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    surveys = Path(os.environ.get("TABSODA_SURVEYS", "surveys"))
    torch.set_num_threads(1)
    lines = options.records.read_text().splitlines() if options.records.exists() else []
    records = [json.loads(line) for line in lines]
    if options.table is not None:
        rows = summary(records, surveys)
        options.table.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        return
    keys = ("population", "mechanism", "rows", "share", "number", "method")
    done = {tuple(record[key] for key in keys) for record in records}
    for number in range(*options.samples):
        for name in options.populations.split(";"):
            for mechanism in options.mechanisms.split(","):
                for method in (*REFERENCES, *options.methods.split(";")):
                    case = (name, mechanism, options.rows, options.share, number, method)
                    if case not in done:
                        record = replicate(*case, surveys)
                        with options.records.open("a") as file:
                            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
