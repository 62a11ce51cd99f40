"""Gather the cells of a study, run on one machine or several, into one results file.

    python benchmarks/imputation/collect.py STUDY.toml results/NAME.json OUT/ [OUT/ ...]

A cell that several folders hold is taken from the first.
"""

import argparse
from pathlib import Path

from tabsoda._internal.files import write_json
from tabsoda.evaluation.store import Store
from tabsoda.evaluation.study import load_study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    cells: dict[str, dict] = {}
    failures: dict[str, dict] = {}
    for folder in options.folders:
        document = Store(folder).collect()
        for found, kept in ((document["cells"], cells), (document["failures"], failures)):
            for one in found:
                kept.setdefault(repr(sorted(one["settings"].items(), key=str)), one)
    study = load_study(options.study).model_dump(mode="json")
    left = [one for key, one in failures.items() if key not in cells]
    content = {"study": study, "cells": list(cells.values()), "failures": left}
    write_json(options.results, content)
    print(f"{len(cells)} cells, {len(left)} failures are in {options.results}")


if __name__ == "__main__":
    main()
