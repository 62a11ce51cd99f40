"""Count the steps of `tabsoda reproduce`, and the GPU time that a measured fit implies.

    python benchmarks/paper/reproduction_time.py

Writes reproduction_time.json and the table in docs/reproduce.md. One fit of the paper's engine was
timed at PATH's size (benchmarks/engine/gpu_path.json). Everything else is counted: cells of the
grid, and optimiser steps at most, before early stopping.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from tabsoda.bench.methods.registry import method
from tabsoda.paper.settings import PaperSettings
from tabsoda.reproduce.plan import BASELINES, MECHANISMS, REPLICATIONS, VARIANTS
from tabsoda.reproduce.sources import SOURCES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MEASURED = ROOT / "benchmarks" / "engine" / "gpu_path.json"
PAGE = ROOT / "docs" / "reproduce.md"
MARKED = re.compile(
    r"(<!-- reproduction time -->\n).*?(\n<!-- end of reproduction time -->)", re.DOTALL
)


def most_steps(settings: PaperSettings, rows: int) -> int:
    """Return the optimiser steps of a fit that never stops early."""
    per_epoch = math.ceil(rows / settings.training.batch_size)
    return settings.em.rounds * settings.training.max_epochs * per_epoch


def counted() -> dict[str, Any]:
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    conditions = len(MECHANISMS) * REPLICATIONS
    seconds = measured["fit_seconds"] + measured["point_seconds"]
    # The first training step also compiles; the others show what a step costs.
    later = [one["training_seconds"] / one["steps"] for one in measured["rounds"][1:]]
    taken = sum(one["steps"] for one in measured["rounds"])
    path_steps = most_steps(PaperSettings.preset("path"), SOURCES["path"].rows)
    longest = seconds + (path_steps - taken) * sum(later) / len(later)
    result: dict[str, Any] = {
        "device": measured["device"],
        "precision": measured["precision"].removeprefix("torch."),
        "seconds_of_a_cell": round(seconds, 1),
        "seconds_of_a_cell_without_early_stop": round(longest, 1),
        "steps_taken": taken,
        "cells_of_each_survey": {
            "variants": conditions * len(VARIANTS),
            "baselines": conditions * len(BASELINES),
        },
        "path_variants_gpu_hours": [
            round(conditions * len(VARIANTS) * one / 3600, 1) for one in (seconds, longest)
        ],
        "steps_at_most": {},
    }
    for name, source in SOURCES.items():
        result["steps_at_most"][name] = {
            "tabsoda": most_steps(PaperSettings.preset(name), source.rows),
            "diffputer": most_steps(method("diffputer").settings, source.rows),
        }
    return result


def table(result: dict[str, Any]) -> str:
    cells, steps = result["cells_of_each_survey"], result["steps_at_most"]
    low, high = result["path_variants_gpu_hours"]
    lines = [
        "|  | PATH | NSDUH |",
        "| --- | ---: | ---: |",
        f"| cells: TabSODA and its two variants | {cells['variants']:,} | {cells['variants']:,} |",
        f"| cells: six baselines | {cells['baselines']:,} | {cells['baselines']:,} |",
        "| optimiser steps of a TabSODA cell, at most | "
        f"{steps['path']['tabsoda']:,} | {steps['nsduh']['tabsoda']:,} |",
        "| optimiser steps of a DiffPuter cell, at most | "
        f"{steps['path']['diffputer']:,} | {steps['nsduh']['diffputer']:,} |",
        f"| seconds of a TabSODA cell, {result['steps_taken']:,} steps (measured) | "
        f"{result['seconds_of_a_cell']:.0f} | not measured |",
        f"| hours of all TabSODA cells | {low:.1f} to {high:.1f} | not measured |",
    ]
    facts = (
        f"One {result['device']}, {result['precision']}; the second figure is without early stops."
    )
    return "\n".join([*lines, "", facts])


def page(result: dict[str, Any], text: str) -> str:
    """Return the page with the table between its markers."""
    return MARKED.sub(lambda match: f"{match[1]}\n{table(result)}\n{match[2]}", text)


def main() -> None:
    result = counted()
    write = {
        PAGE: page(result, PAGE.read_text(encoding="utf-8")),
        HERE / "reproduction_time.json": json.dumps(result, indent=1) + "\n",
    }
    for path, text in write.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
