"""Compare two versions of the default engine on the same hidden answers.

    python benchmarks/engine/redesign.py BEFORE AFTER benchmarks/engine/redesign.json
    python benchmarks/engine/redesign.py BEFORE AFTER benchmarks/engine/shorter_training.json

BEFORE and AFTER are ``results.json`` files that ``tabsoda evaluate`` wrote for
``benchmarks/studies/standard.toml`` (MAR, followers resolved, the default engine's rows)
with the package before and after the change. Differences are those of cells of the same survey,
replication and method; the interval treats the surveys as units.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

# Whether more is better.
METRICS = {
    "mace": False,
    "mace_median": False,
    "ordinal_accuracy": True,
    "nominal_accuracy": True,
    "categorical_accuracy": True,
    "rmse": False,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--replications", nargs="+", type=int, help="only these")
    options = parser.parse_args()
    before, after = (read(path, options.replications) for path in (options.before, options.after))
    labels = sorted({label for label, *_ in after})
    result = {label: compare(before, after, label) for label in labels}
    options.result.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for label, rows in result.items():
        for metric, row in rows["metrics"].items():
            print(label, metric, row)


def read(
    path: Path, replications: list[int] | None = None
) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return the metrics of every cell by method, survey and replication."""
    found = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        where = cell["settings"]
        if where["mechanism"] == "mar" and where["track"] == "resolved":
            key = (where["label"], where["survey"], where["replication"])
            if replications is None or where["replication"] in replications:
                found[key] = cell["metrics"]["all"]
    return found


def compare(before: dict[Any, Any], after: dict[Any, Any], label: str) -> dict[str, Any]:
    """Return means before and after, and their paired difference with an interval."""
    keys = sorted(key for key in after if key[0] == label and key in before)
    surveys = sorted({survey for _, survey, _ in keys})
    metrics = {}
    for metric, more_is_better in METRICS.items():
        means = [
            [
                np.mean([side[key][metric] for key in keys if key[1] == survey])
                for side in (before, after)
            ]
            for survey in surveys
            if all(before[key].get(metric) is not None for key in keys if key[1] == survey)
        ]
        old, new = np.array(means).T
        gain = new - old if more_is_better else old - new
        half = student.ppf(0.975, gain.size - 1) * gain.std(ddof=1) / np.sqrt(gain.size)
        metrics[metric] = {
            "before": round(float(old.mean()), 4),
            "after": round(float(new.mean()), 4),
            "better_by": round(float(gain.mean()), 4),
            "interval": [round(float(gain.mean() + sign * half), 4) for sign in (-1, 1)],
        }
    return {"surveys": surveys, "cells": len(keys), "metrics": metrics}


if __name__ == "__main__":
    main()
