"""Write the tables of deviations from the paper: the page, and docs/tables/deviations.md.

    python benchmarks/paper/tables.py

Reads deviations.toml (the words) and deviations.json (the numbers) next to this file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabsoda._internal.files import write_text
from tabsoda.bench.tables.paper_tables import HEADINGS
from tabsoda.bench.tables.replications import PairedDifference, paired_difference
from tabsoda.bench.tables.report import fill_page
from tabsoda.bench.tables.table_formats import Entry, Table, to_markdown

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
SHOWN = ("mace", "categorical_accuracy", "rmse")
ALL = ("mace", "ordinal_accuracy", "nominal_accuracy", "rmse")
OURS = "ours"
Runs = list[dict[str, Any]]


def main() -> None:
    rows = tomllib.loads((HERE / "deviations.toml").read_text(encoding="utf-8"))["rows"]
    runs = json.loads((HERE / "deviations.json").read_text(encoding="utf-8"))["runs"]
    page = DOCS / "paper_deviations.md"
    table = deviation_table(rows, runs)
    write_text(page, fill_page(page.read_text(encoding="utf-8"), {"deviations": table}))
    write_text(DOCS / "tables" / "deviations.md", to_markdown(survey_table(runs)))


def deviation_table(rows: Iterable[Mapping[str, str]], runs: Runs) -> Table:
    """Lay out the deviations with their effects over all surveys."""
    cells = []
    for row in rows:
        effect = (
            draw_effect(runs) if row.get("effect") == "draws" else effects(runs, row["variant"])
        )
        if row.get("effect") == "movement":
            effect += movement(runs, row["variant"])
        cells.append(tuple(Entry(row[name]) for name in ("place", "paper", "ours", "why")))
        cells[-1] += (Entry(effect),)
    header = ("Place", "Paper", "Ours", "Why", "Measured effect")
    return Table("Deviations from the paper", header, tuple(cells), left=len(header))


def survey_table(runs: Runs) -> Table:
    """Lay out the differences of every variant survey by survey."""
    surveys = list(dict.fromkeys(run["survey"] for run in runs))
    variants = list(dict.fromkeys(run["variant"] for run in runs if run["variant"] != OURS))
    cells = []
    for survey in surveys:
        own = [run for run in runs if run["survey"] == survey]
        means = [float(np.mean([*pairs(own, OURS, metric).values()])) for metric in ALL]
        cells.append((Entry(survey), Entry(OURS), *(Entry(f"{mean:.3f}") for mean in means)))
        for variant in variants:
            gaps = [difference(own, variant, metric) for metric in ALL]
            entries = (Entry(_text(gap), bold=gap.is_clear) for gap in gaps)
            cells.append((Entry(survey), Entry(variant), *entries))
    header = ("Survey", "Variant", *(HEADINGS[metric] for metric in ALL))
    note = (
        "Means of ours; variants minus ours with 95 % t intervals, in bold where they exclude zero."
    )
    return Table("Deviations from the paper, by survey", header, tuple(cells), note)


def pairs(runs: Runs, variant: str, metric: str) -> dict[tuple[str, int], float]:
    """Return the values of a variant by survey and replication."""
    return {
        (run["survey"], run["replication"]): run[metric]
        for run in runs
        if run["variant"] == variant and run[metric] is not None
    }


def difference(runs: Runs, variant: str, metric: str) -> PairedDifference:
    """Compare a variant with ours on the pairs that both have."""
    theirs, ours = pairs(runs, variant, metric), pairs(runs, OURS, metric)
    shared = sorted(theirs.keys() & ours.keys())
    return paired_difference([theirs[key] for key in shared], [ours[key] for key in shared])


def effects(runs: Runs, variant: str) -> str:
    """Write the differences of a variant in words."""
    parts = []
    for metric in SHOWN:
        gap = difference(runs, variant, metric)
        mark = "**" if gap.is_clear else ""
        parts.append(f"{HEADINGS[metric]} {mark}{_text(gap)}{mark}")
    return "; ".join(parts) + f" ({gap.n} pairs)"


def movement(runs: Runs, variant: str) -> str:
    """Write how far the imputed table moves in the last round, root mean square."""
    last = [{**run, "last": run["change_by_round"][-1]} for run in runs]
    theirs, ours = pairs(last, variant, "last"), pairs(last, OURS, "last")
    means = [float(np.mean([side[key] for key in theirs])) for side in (theirs, ours)]
    return f"; the imputed table moves by {means[0]:.3f} in the last round, ours by {means[1]:.3f}"


def draw_effect(runs: Runs) -> str:
    """Write how draws decoded with temperature differ from those decoded by interval."""
    ways = ("mode with temperature", "interval")
    base = [run["draws"] for run in runs if run["variant"] == OURS]
    parts = []
    for name, words in (
        ("distance_of_shares", "distance of drawn from true shares"),
        ("accuracy", "accuracy of a draw"),
    ):
        gap = paired_difference(*([one[way][name] for one in base] for way in ways))
        mark = "**" if gap.is_clear else ""
        parts.append(f"{words} {mark}{_text(gap)}{mark}")
    return "; ".join(parts) + f" (with temperature minus by interval, {gap.n} pairs)"


def _text(gap: PairedDifference) -> str:
    return f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"


if __name__ == "__main__":
    main()
