"""Rebuild every table and picture of the documentation from results.

    python benchmarks/imputation/make_tables.py

Reads benchmarks/imputation/results/*.json, benchmarks/miner/results.json,
benchmarks/miner/true_gates.json and benchmarks/engine/two_cores.json; writes docs/tables/ and fills
the markers `<!-- table: STUDY/TABLE --> ... <!-- end -->` of docs/results.md and README.md, and
what stands between `<!-- results:begin -->` and `<!-- results:end -->`: the mined skips by the
default screen, and the mean over the surveys of the main studies.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tabsoda._internal.files import write_text
from tabsoda.bench.tables.collected import group
from tabsoda.bench.tables.paper_tables import miner_table
from tabsoda.bench.tables.report import fill_page, study_tables, write_plots
from tabsoda.bench.tables.results_file import read_results
from tabsoda.bench.tables.table_formats import Entry, Table, write_all
from tabsoda.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "imputation" / "results"
MINER = ROOT / "benchmarks" / "miner" / "results.json"
TRUE_GATES = ROOT / "benchmarks" / "miner" / "true_gates.json"
TWO_CORES = ROOT / "benchmarks" / "engine" / "two_cores.json"
TABLES = ROOT / "docs" / "tables"
PAGES = (ROOT / "docs" / "results.md", ROOT / "README.md")
SIDES = ("before", "after")
# What the README shows of the studies.
MAIN = ("classical/mar-mean", "few/mar-mean")
BEGIN, END = "<!-- results:begin -->\n", "<!-- results:end -->"


def main() -> None:
    TABLES.mkdir(parents=True, exist_ok=True)
    tables: dict[str, Table] = {}
    if MINER.is_file():
        miner = miner_table(json.loads(MINER.read_text(encoding="utf-8"))["runs"])
        tables["miner"] = miner
        _write("miner", [miner])
    if TRUE_GATES.is_file():
        gates = true_gates_table(json.loads(TRUE_GATES.read_text(encoding="utf-8")))
        tables["true_gates"] = gates
        _write("true_gates", [gates])
    if TWO_CORES.is_file():
        tables["two_cores"] = two_cores_table(json.loads(TWO_CORES.read_text(encoding="utf-8")))
    for path in sorted(RESULTS.glob("*.json")):
        document = read_results(path)
        found = study_tables(document)
        if path.stem in ("standard", "many"):
            found["median"] = median_table(document["cells"])
        tables |= {f"{path.stem}/{name}": table for name, table in found.items()}
        _write(path.stem, list(found.values()))
        write_plots(document, TABLES, prefix=f"{path.stem}-")
    for page in PAGES:
        if page.is_file():
            text = page.read_text(encoding="utf-8")
            filled = fill_results(fill_page(text, tables), tables)
            if filled != text:
                write_text(page, filled)
    print(f"{len(tables)} tables are in {TABLES.relative_to(ROOT)}")


def fill_results(text: str, tables: Mapping[str, Table]) -> str:
    """Put the main results between the markers of a page; a page without them stays as it is."""
    if BEGIN not in text:
        return text
    before, _, rest = text.partition(BEGIN)
    if END not in rest:
        raise InputError("The page opens the results and does not end them", expected=END)
    shown = [tables[name] for name in MAIN if name in tables]
    if "miner" in tables:
        shown.append(_default_screen(tables["miner"]))
    return f"{before}{BEGIN}{write_all(shown, 'md').rstrip()}\n{END}{rest.partition(END)[2]}"


def median_table(cells: Iterable[dict[str, Any]], ours: str = "Default engine") -> Table:
    """Lay out how far our medians are off, against all methods that ran as often."""
    means: dict[tuple[str, str], list[float]] = {}
    conditions: dict[str, set[tuple[str, ...]]] = {}
    for one in group(cells):
        if one.track == "resolved":
            conditions.setdefault(one.title, set()).add(one.condition)
            for metric in ("mace", "mace_median"):
                values = one.values(metric).values()
                means.setdefault((one.title, metric), []).append(float(np.mean([*values])))
    target = float(np.mean(means[ours, "mace_median"]))
    rows = []
    for title in (t for t in conditions if conditions[t] == conditions[ours] and t != ours):
        entries = [Entry(title)]
        for metric in ("mace", "mace_median"):
            theirs = float(np.mean(means[title, metric]))
            entries += [Entry(f"{theirs:.3f}"), Entry(f"{100 * (target / theirs - 1):+.1f} %")]
        rows.append(tuple(entries))
    header = ("Method", "Its MACE by mode", f"{ours}'s by median")
    header += ("Its MACE by median", f"{ours}'s by median")
    note = f"Means over surveys and three mechanisms; {ours}'s MACE by median is {target:.3f}."
    return Table("Ordinal distance by the median", header, tuple(rows), note, left=1)


def true_gates_table(document: Mapping[str, Any]) -> Table:
    """Lay out how many rules name the questionnaire's gate, before and after."""
    before, after = ({run["survey"]: run for run in document[side]["runs"]} for side in SIDES)
    rows = []
    for name, run in after.items():
        entries = [Entry(name)]
        for one in (before[name], run):
            share = one["true"] / max(one["judged"], 1)
            entries += [Entry(f"{one['true']} of {one['judged']}"), Entry(f"{share:.2f}")]
            entries += [Entry(f"{one['precision']:.3f}"), Entry(f"{one['recall']:.3f}")]
        rows.append((*entries, Entry(str(run["with_rivals"]))))
    header: tuple[str, ...] = ("Survey",)
    for side in SIDES:
        header += (f"True gates, {side}", "Share", "Prec.", "Rec.")
    note = (
        "Rules that name only gates of their target, among rules whose target has its gate in the"
        " file; precision and recall of the cells. Names in split_forms end with the item"
        " nonresponse in per cent."
    )
    return Table(
        "Rules that name the questionnaire's gate",
        (*header, "Rules with rivals"),
        tuple(rows),
        note,
        left=1,
    )


def two_cores_table(document: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    """Lay out times on two cores as shares of MissForest's."""
    ratios = document["over_missforest"]
    methods = list(document["mean_ratio"])
    lines = [*ratios.items(), ("mean", document["mean_ratio"])]
    rows = [
        (Entry(name), *(Entry(f"{shares[method]:.2f}") for method in methods))
        for name, shares in lines
    ]
    note = "Point estimates, seconds over those of MissForest on the same table in the same run."
    return Table("Time on two cores", ("Survey", *methods), tuple(rows), note, left=1)


def _default_screen(miner: Table) -> Table:
    """Keep the rows of the default screen, and leave out the column that says so."""
    rows = [row for row in miner.rows if row[1].text == "purity"]
    header = miner.header[:1] + miner.header[2:]
    return replace(miner, header=header, rows=tuple(row[:1] + row[2:] for row in rows), left=1)


def _write(name: str, tables: list[Table]) -> None:
    for form in ("md", "tex", "html"):
        write_text(TABLES / f"{name}.{form}", write_all(tables, form))


if __name__ == "__main__":
    main()
