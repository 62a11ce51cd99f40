"""Sample, hide, impute and analyse, to see whether draws keep interactions and curves.

    python benchmarks/coverage/interactions.py RECORDS --methods "fast;mice" --samples 0 40
    python benchmarks/coverage/interactions.py RECORDS --table

RECORDS is a file of one line of JSON per sample and method, to which is added; what it holds is not
computed again. The same number is the same sample with the same hidden answers for every method.
TABSODA_SURVEYS names the folder of the surveys. ``--table`` writes ``interactions.json`` and its
table in README.md; rows of methods that RECORDS does not hold are kept.
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
RESULT = Path(__file__).with_name("interactions.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- interactions -->", "<!-- end of interactions -->"
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
    """Return, per population, setting, estimand and method, the figures of all its samples."""
    setting = ("population", "mechanism", "rows", "share")
    complete = {
        (*(record[key] for key in setting), record["number"], what): found[1:]
        for record in records
        if record["method"] == "complete data"
        for what, found in record["estimates"].items()
    }
    groups: dict[tuple[Any, ...], list[list[float]]] = {}
    for record in records:
        key = tuple(record[name] for name in setting)
        for what, (kind, *found) in record["estimates"].items():
            whole = complete[(*key, record["number"], what)]
            groups.setdefault((*key, record["method"], what, kind), []).append([*found, *whole])
    rows = []
    for (*key, method, what, kind), found in groups.items():
        truth = truths(key[0], surveys)[what]
        estimate, low, high, of_complete, low_complete, high_complete = np.array(found).T
        width = (high_complete - low_complete).mean()
        straight = key[0] == "linear" and kind in ("interaction", "curve")
        rows.append(
            dict(zip(setting, key, strict=True))
            | {
                "method": method,
                "estimand": what,
                "kind": kind,
                "truth": float(f"{truth:.4g}"),
                "ratio": None if straight else round(float(estimate.mean() / truth), 3),
                "bias": round(float((estimate - of_complete).mean() / (width / 3.92)), 3),
                "coverage": round(float(((low <= truth) & (truth <= high)).mean()), 3),
                "width": round(float((high - low).mean() / width), 3),
                "samples": len(found),
            }
        )
    return rows


def with_earlier(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the rows of ``interactions.json`` whose population, setting and method are not new."""
    keys = ("population", "mechanism", "rows", "share", "method")
    new = {tuple(row[key] for key in keys) for row in rows}
    earlier = json.loads(RESULT.read_text()) if RESULT.exists() else []
    kept = [row for row in earlier if tuple(row[key] for key in keys) not in new]
    return sorted(rows + kept, key=lambda row: (row["rows"], row["mechanism"] == "mcar"))


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table of the README: means over the estimands of a kind."""
    methods = [
        m
        for m in ("complete data", "complete cases", *METHODS)
        if any(r["method"] == m for r in rows)
    ]
    kinds = {
        "products and curves": ("interaction", "curve"),
        "main effects": ("main effect",),
        "means": ("mean",),
    }
    lines = [
        "| population | rows | estimates of | " + " | ".join(methods) + " |",
        "| --- | ---: | --- | " + "---: | " * len(methods),
    ]
    settings = dict.fromkeys((r["population"], r["rows"], r["mechanism"]) for r in rows)
    for name, n, mechanism in settings:
        for label, of_kind in kinds.items():
            cells = []
            for method in methods:
                own = [
                    r
                    for r in rows
                    if (r["population"], r["rows"], r["mechanism"]) == (name, n, mechanism)
                    and r["method"] == method
                    and r["kind"] in of_kind
                ]
                cells.append(_cell(own))
            lines.append(
                f"| {name}, {mechanism.upper()} | {n:,} | {label} | " + " | ".join(cells) + " |"
            )
    return "\n\n" + "\n".join(lines) + "\n\n"


def _cell(rows: list[dict[str, Any]]) -> str:
    """Return mean coverage in %, and mean absolute bias in standard errors, with the samples."""
    if not rows:
        return ""
    coverage = 100 * np.mean([row["coverage"] for row in rows])
    bias = np.mean([abs(row["bias"]) for row in rows])
    return f"{coverage:.0f} ({bias:.2f}; {rows[0]['samples']})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("--methods", default="fast")
    parser.add_argument("--samples", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--populations", default=";".join(NAMES))
    parser.add_argument("--mechanisms", default="mar,mcar")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    surveys = Path(os.environ.get("TABSODA_SURVEYS", "surveys"))
    torch.set_num_threads(1)
    lines = options.records.read_text().splitlines() if options.records.exists() else []
    records = [json.loads(line) for line in lines]
    if options.table:
        rows = with_earlier(summary(records, surveys))
        RESULT.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        README.write_text(before + BEGIN + markdown(rows) + END + after, encoding="utf-8")
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
