"""Sample, hide, impute and analyse, to see whether draws keep interactions and curves.

    python benchmarks/coverage/interactions.py RECORDS --methods "fast;mice" --samples 0 40
    python benchmarks/coverage/interactions.py RECORDS --table

RECORDS is a file of one line of JSON per sample and method, to which is added; what it or further
files hold is not computed again. The same number is the same sample with the same hidden answers
for every method. TABSODA_SURVEYS names the folder of the surveys. ``--table`` writes
``interactions.json``, its table in README.md and the table of terms in decision 15; rows of methods
that RECORDS does not hold are kept. ``--differences fast products`` compares two methods in
``regressions_alone.json``.
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
ALONE = Path(__file__).with_name("regressions_alone.json")
README = Path(__file__).with_name("README.md")
DECISION = Path(__file__).parents[2] / "docs" / "decisions" / "0015-interactions.md"
REFERENCES = ("complete data", "complete cases")
# Terms of the analyses whose true value is near 0, so that a ratio to it says nothing.
NO_EFFECT = ("y4 ~ h=1:g", "y ~ g:s")


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


def differences(records: list[dict[str, Any]], one: str, other: str) -> list[dict[str, Any]]:
    """Return by how much the estimates of two methods differ in the same samples, by kind.

    In standard errors of complete data.
    """
    setting = ("population", "mechanism", "rows", "share", "number")
    by_case = {(tuple(r[k] for k in setting), r["method"]): r["estimates"] for r in records}
    found: dict[str, list[float]] = {}
    for (case, method), estimates in by_case.items():
        if method != one or (case, other) not in by_case:
            continue
        for what, (kind, estimate, *_) in estimates.items():
            _, _, low, high = by_case[case, "complete data"][what]
            apart = estimate - by_case[case, other][what][1]
            found.setdefault(kind, []).append(apart / ((high - low) / 3.92))
    return [
        {
            "methods": [one, other],
            "kind": kind,
            "mean_difference": round(float(np.mean(own)), 3),
            "standard_error": round(float(np.std(own, ddof=1) / np.sqrt(len(own))), 3),
            "estimates": len(own),
        }
        for kind, own in found.items()
    ]


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


def terms_table(rows: list[dict[str, Any]]) -> str:
    """Return the table of decision 15: ratio and coverage of products and curves, by method."""
    shown = [
        row
        for row in rows
        if (row["mechanism"], row["rows"]) == ("mar", 1000)
        and row["kind"] in ("interaction", "curve")
        and row["ratio"] is not None
        and row["estimand"] not in NO_EFFECT
    ]
    methods = [m for m in (*REFERENCES, *METHODS) if any(r["method"] == m for r in shown)]
    lines = [
        "| population | term | " + " | ".join(methods) + " |",
        "| --- | --- | " + "---: | " * len(methods),
    ]
    for name, term in dict.fromkeys((row["population"], row["estimand"]) for row in shown):
        own = {r["method"]: r for r in shown if (r["population"], r["estimand"]) == (name, term)}
        cells = [
            f"{own[m]['ratio']:.2f} / {100 * own[m]['coverage']:.0f} ({own[m]['samples']})"
            if m in own
            else ""
            for m in methods
        ]
        lines.append(f"| {name} | {term} | " + " | ".join(cells) + " |")
    return "\n\n" + "\n".join(lines) + "\n\n"


def put(path: Path, name: str, text: str) -> None:
    """Write a table between the marks of its name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(before + begin + text + end + rest.partition(end)[2], encoding="utf-8")


def _cell(rows: list[dict[str, Any]]) -> str:
    """Return mean coverage in %, and mean absolute bias in standard errors, with the samples."""
    if not rows:
        return ""
    coverage = 100 * np.mean([row["coverage"] for row in rows])
    bias = np.mean([abs(row["bias"]) for row in rows])
    return f"{coverage:.0f} ({bias:.2f}; {rows[0]['samples']})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--methods", default="fast")
    parser.add_argument("--samples", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--populations", default=";".join(NAMES))
    parser.add_argument("--mechanisms", default="mar,mcar")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--differences", nargs=2, metavar=("ONE", "OTHER"))
    options = parser.parse_args()
    surveys = Path(os.environ.get("TABSODA_SURVEYS", "surveys"))
    torch.set_num_threads(1)
    lines = [
        line for path in options.records if path.exists() for line in path.read_text().splitlines()
    ]
    keys = ("population", "mechanism", "rows", "share", "number", "method")
    # A sample of a method counts once, even if several files hold it.
    found = (json.loads(line) for line in lines)
    records = list({tuple(one[key] for key in keys): one for one in found}.values())
    if options.differences:
        apart = differences(records, *options.differences)
        ALONE.write_text("[\n" + ",\n".join(map(json.dumps, apart)) + "\n]\n")
        return
    if options.table:
        rows = with_earlier(summary(records, surveys))
        RESULT.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        put(README, "interactions", markdown(rows))
        put(DECISION, "terms", terms_table(rows))
        return
    done = {tuple(record[key] for key in keys) for record in records}
    for number in range(*options.samples):
        for name in options.populations.split(";"):
            for mechanism in options.mechanisms.split(","):
                for method in (*REFERENCES, *options.methods.split(";")):
                    case = (name, mechanism, options.rows, options.share, number, method)
                    if case not in done:
                        record = replicate(*case, surveys)
                        with options.records[0].open("a") as file:
                            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
