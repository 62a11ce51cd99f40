"""Pack a study for a machine that has numpy, scipy, scikit-learn and torch alone.

    python benchmarks/imputation/pack.py STUDY.toml OUT/ [--surveys FOLDER] [--methods NAME ...]

Writes OUT/tables/SURVEY.npz and OUT/cells.json; run_packed.py runs them there.
"""

import argparse
from pathlib import Path

from tabsoda._internal.files import write_json
from tabsoda.bench.cases import save_case
from tabsoda.bench.studies.cells import slug
from tabsoda.bench.studies.study import cases_of, load_study, tables_in
from tabsoda.datasets.survey_folder import surveys_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--surveys", type=Path, help="folder of surveys; else TABSODA_SURVEYS")
    parser.add_argument("--methods", nargs="+", help="only these, by name or label")
    options = parser.parse_args()
    study = load_study(options.study).restricted(options.methods or ["all"])
    cases = cases_of(study, tables_in(study, surveys_folder(options.surveys)))
    cells = study.cells(cases)
    used = {cell.survey for cell in cells}
    (options.output / "tables").mkdir(parents=True, exist_ok=True)
    for name in sorted(used):
        save_case(cases[name], options.output / "tables" / f"{slug(name)}.npz")
    write_json(options.output / "cells.json", [cell.to_dict() for cell in cells])
    print(f"{len(cells)} cells on {len(used)} surveys are in {options.output}")


if __name__ == "__main__":
    main()
