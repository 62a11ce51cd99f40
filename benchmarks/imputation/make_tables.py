"""Rebuild every table and picture of the documentation from results.

    python benchmarks/imputation/make_tables.py

Reads benchmarks/imputation/results/*.json and benchmarks/miner/results.json; writes docs/tables/
and fills the markers `<!-- table: STUDY/TABLE --> ... <!-- end -->` of docs/results.md and
README.md.
"""

import json
from pathlib import Path

from tabsoda._internal.files import write_text
from tabsoda.evaluation.report import fill_page, study_tables, write_plots
from tabsoda.evaluation.table_formats import Table, write_all
from tabsoda.evaluation.tables import miner_table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "imputation" / "results"
MINER = ROOT / "benchmarks" / "miner" / "results.json"
TABLES = ROOT / "docs" / "tables"
PAGES = (ROOT / "docs" / "results.md", ROOT / "README.md")


def main() -> None:
    TABLES.mkdir(parents=True, exist_ok=True)
    tables: dict[str, Table] = {}
    if MINER.is_file():
        miner = miner_table(json.loads(MINER.read_text(encoding="utf-8"))["runs"])
        tables["miner"] = miner
        _write("miner", [miner])
    for path in sorted(RESULTS.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        found = study_tables(document)
        tables |= {f"{path.stem}/{name}": table for name, table in found.items()}
        _write(path.stem, list(found.values()))
        write_plots(document, TABLES, prefix=f"{path.stem}-")
    for page in PAGES:
        if page.is_file():
            text = page.read_text(encoding="utf-8")
            filled = fill_page(text, tables)
            if filled != text:
                write_text(page, filled)
    print(f"{len(tables)} tables are in {TABLES.relative_to(ROOT)}")


def _write(name: str, tables: list[Table]) -> None:
    for form in ("md", "tex", "html"):
        write_text(TABLES / f"{name}.{form}", write_all(tables, form))


if __name__ == "__main__":
    main()
