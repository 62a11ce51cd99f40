"""Write ``results.json`` and the tables of the README from the records of ``run.py``.

python benchmarks/coverage/summary.py RECORDS ...

What the records do not hold stays as it is: tables of other mechanisms, results of other methods.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from populations import COLUMNS, population

from tabsoda._internal.files import write_json
from tabsoda.bench.metrics.coverage import count_coverage

HERE = Path(__file__).resolve().parent
KINDS = ("mean", "proportion", "quantile", "linear", "logistic")
# A mechanism's name, and its table below.
_SECTION = r"^([A-Z]+)\n\n((?:\|.*\n)+)"


def summarise(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per method, population, mechanism and kind of estimand."""
    surveys = Path(os.environ["TABSODA_SURVEYS"]) if "TABSODA_SURVEYS" in os.environ else None
    found: dict[tuple[Any, ...], dict[int, list[float]]] = defaultdict(dict)
    pairs: dict[tuple[Any, ...], dict[Any, list[list[float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in records:
        cell = (record["method"], record["population"], record["mechanism"])
        for place, terms in record["estimates"].items():
            for term, numbers in enumerate(terms):
                found[(*cell, int(place), term)][record["replication"]] = numbers
        for first, second, _, true, drawn in record.get("pairs", ()):
            pairs[cell][first, second].append([true, drawn])
    rows = []
    for cell in sorted({key[:3] for key in found}):
        method, name, mechanism = cell
        people = population(name, surveys)
        by_kind = defaultdict(list)
        errors: dict[str, float] = defaultdict(float)
        claims: dict[str, float] = defaultdict(float)
        replications = 0
        for (*head, place, term), taken in found.items():
            usual = found.get(("complete data", name, mechanism, place, term), {})
            both = sorted(set(taken) & set(usual))
            if tuple(head) != cell or not both:
                continue
            numbers = np.array([taken[one] for one in both])
            complete = np.array([usual[one] for one in both])
            counted = count_coverage(
                float(people.truths[place][term]),
                numbers[:, 0],
                numbers[:, 1:3],
                complete[:, 1:3],
            )
            kind = people.estimands[place].kind
            by_kind[kind].append(counted)
            # In units of the complete tables' variance, so that estimands can be added up.
            usual_variance = (np.diff(complete[:, 1:3], axis=1).mean() / 3.92) ** 2
            errors[kind] += float(((numbers[:, 0] - complete[:, 0]) ** 2).sum()) / usual_variance
            claims[kind] += float(numbers[:, 3].sum()) / usual_variance
            replications = max(replications, len(both))
        row: dict[str, Any] = {
            "method": method,
            "population": name,
            "mechanism": mechanism,
            "replications": replications,
        }
        for kind, several in by_kind.items():
            weights = [one.replications for one in several]

            def mean(values: list[float], weights: list[int] = weights) -> float:
                return round(float(np.average(values, weights=weights)), 4)

            row[kind] = {
                "coverage": mean([one.coverage for one in several]),
                "width": mean([one.width for one in several]),
                "bias": mean([abs(one.bias) for one in several]),
                "intervals": sum(weights),
            }
            if claims[kind] > 0:
                # 1 where draws differ as much as their mean is off; more is too narrow.
                row[kind]["error_over_claim"] = round(
                    float(np.sqrt(errors[kind] / claims[kind])), 3
                )
        if pairs[cell]:
            means = np.array([np.mean(several, axis=0) for several in pairs[cell].values()])
            true, drawn = means.T
            # Through the origin: 1 where drawn answers go together as true ones do.
            row["association_kept"] = round(float((true * drawn).sum() / (true**2).sum()), 3)
        rows.append(row)
    return rows


def shared(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the samples that every method of their mechanism completed, so that lines compare."""
    methods, done = defaultdict(set), defaultdict(set)
    for record in records:
        sample = (record["mechanism"], record["population"], record["replication"])
        methods[record["mechanism"]].add(record["method"])
        done[sample].add(record["method"])
    kept = {sample for sample, by in done.items() if by == methods[sample[0]]}
    keys = ("mechanism", "population", "replication")
    return [record for record in records if tuple(record[key] for key in keys) in kept]


def averaged(rows: list[dict[str, Any]], method: str) -> list[str]:
    """Return a method's line of the table: averages over the rows, by their intervals."""
    chosen = [row for row in rows if row["method"] == method]
    line = [method, str(sum(row["replications"] for row in chosen))]
    for kind in KINDS:
        entries = [row[kind] for row in chosen if kind in row]
        weights = [entry["intervals"] for entry in entries]
        cover, width, bias = (
            float(np.average([entry[key] for entry in entries], weights=weights))
            for key in ("coverage", "width", "bias")
        )
        text = f"{100 * cover:.1f} ({width:.2f}, {bias:.2f}"
        claims = [entry["error_over_claim"] for entry in entries if "error_over_claim" in entry]
        line.append(f"{text}, {np.mean(claims):.2f})" if claims else f"{text})")
    kept = [row["association_kept"] for row in chosen if "association_kept" in row]
    line.append(f"{np.mean(kept):.2f}" if kept else "")
    return line


def table(rows: list[dict[str, Any]], mechanism: str | None) -> str:
    """Lay out one mechanism's results as a Markdown table."""
    head = ["method", "runs", *KINDS, "association kept"]
    shown = [row for row in rows if mechanism in (None, row["mechanism"])]
    methods = list(dict.fromkeys(row["method"] for row in shown))
    lines = [head, *(averaged(shown, method) for method in methods)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], "| --- |" + " ---: |" * (len(head) - 1), *text[1:]])


def main() -> None:
    lines = [line for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    rows = summarise(records)
    keys = ("method", "population", "mechanism")
    found = {tuple(row[key] for key in keys) for row in rows}
    earlier = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    rows += [row for row in earlier if tuple(row[key] for key in keys) not in found]
    rows.sort(key=lambda row: (row["method"], list(COLUMNS).index(row["population"])))
    write_json(HERE / "results.json", rows)
    rows = summarise(shared(records))
    readme = HERE / "README.md"
    head, rest = readme.read_text(encoding="utf-8").split("<!-- results -->")
    before, tail = rest.split("<!-- end of results -->")
    tables = {name: body.rstrip() for name, body in re.findall(_SECTION, before, re.MULTILINE)}
    for mechanism in {row["mechanism"] for row in rows}:
        tables[mechanism.upper()] = table(rows, mechanism)
    shown = "\n\n".join(f"{name}\n\n{tables[name]}" for name in sorted(tables))
    text = f"{head}<!-- results -->\n\n{shown}\n\n<!-- end of results -->{tail}"
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
