"""Gather the cells of a study, run on one machine or several, into one results file.

    python benchmarks/imputation/collect.py STUDY.toml results/NAME.json OUT/ [OUT/ ...]

A source is a folder, or a results file from before. A cell that several sources hold is taken from
the first; cells that the study does not ask for are left out.
"""

import argparse
from pathlib import Path

from tabsoda.bench.studies.store import Store
from tabsoda.bench.studies.study import MethodEntry, Study, load_study
from tabsoda.bench.tables.results_file import read_results, write_results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    cells: dict[str, dict] = {}
    failures: dict[str, dict] = {}
    for folder in options.folders:
        document = read_results(folder) if folder.is_file() else Store(folder).collect()
        for found, kept in ((document["cells"], cells), (document["failures"], failures)):
            for one in found:
                kept.setdefault(repr(sorted(one["settings"].items(), key=str)), one)
    study = load_study(options.study)
    asked = [one for one in cells.values() if _is_asked(one, study)]
    left = [one for key, one in failures.items() if key not in cells and _is_asked(one, study)]
    content = {"study": study.model_dump(mode="json"), "cells": asked, "failures": left}
    write_results(options.results, content)
    print(f"{len(asked)} cells, {len(left)} failures are in {options.results}")


def _is_asked(cell: dict, study: Study) -> bool:
    """Say whether a study asks for a result."""
    return any(_fits(cell, entry, study) for entry in study.methods)


def _fits(cell: dict, entry: MethodEntry, study: Study) -> bool:
    """Say whether a study asks for a result by this entry."""
    settings = cell["settings"]
    for one, several in (
        ("survey", entry.surveys or study.surveys),
        ("mechanism", entry.mechanisms or study.mechanisms),
        ("track", entry.tracks or study.tracks),
        # What knows skips has a view of its own.
        ("skip_view", ["own", *(entry.skip_views or study.skip_views)]),
    ):
        if several is not None and settings[one] not in list(several):
            return False
    return (
        settings["method"] == entry.name
        and entry.label in ("", settings["label"])
        and settings["options"] == entry.options
        and settings["replication"] < (entry.replications or study.replications)
    )


if __name__ == "__main__":
    main()
