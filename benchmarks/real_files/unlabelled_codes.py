"""Count missing codes found where a file has no labels, on surveys whose codebooks are known.

    python benchmarks/real_files/unlabelled_codes.py SURVEYS

SURVEYS holds one folder per survey with schema.json (from its codebook) and raw.parquet. The
proposal sees the values alone: no labels, no question texts, no declared codes. Where the codebook
lists no codes, values outside a question's levels are the codes, and numbers are not scored.
Writes unlabelled_codes.json next to this script. No data is kept.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import polars as pl

from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Column
from tabsoda.schema.files import load_schema
from tabsoda.schema.inference import propose_schema

RESULT = Path(__file__).resolve().with_suffix(".json")


def main() -> None:
    parser = argparse.ArgumentParser(description="Score missing codes of files without labels.")
    parser.add_argument("surveys", type=Path)
    folders = sorted(path.parent for path in parser.parse_args().surveys.glob("*/schema.json"))
    results = {folder.name: measure(folder) for folder in folders}
    counts = ("codes", "taken_as_missing", "answers_taken_as_missing")
    results["all"] = {key: sum(row[key] for row in results.values()) for key in counts}
    RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


def measure(folder: Path) -> dict[str, Any]:
    """Count codes that occur, those taken as missing, and answers taken as missing."""
    truth = load_schema(folder / "schema.json")
    frame = pl.read_parquet(folder / "raw.parquet").select(truth.names)
    proposal = propose_schema(frame)
    n_codes = n_taken = n_answers = 0
    for column in truth:
        values = numbers(frame[column.name].unique().to_list())
        codes = true_codes(column, values)
        if codes is None:
            continue
        taken = numbers(proposal[column.name].special_codes) & values
        n_codes += len(codes)
        n_taken += len(taken & codes)
        n_answers += len(taken - codes)
    return {
        "codes": n_codes,
        "taken_as_missing": n_taken,
        "answers_taken_as_missing": n_answers,
    }


def numbers(values: Any) -> set[float]:
    """Return those values that are numbers."""
    return {number for value in values if (number := as_number(value)) is not None}


def true_codes(column: Column, values: set[float]) -> set[float] | None:
    """Return the codes of a column that occur; None where the codebook does not say."""
    if column.special_codes:
        return numbers(column.special_codes) & values
    return values - numbers(column.levels) if column.levels else None


if __name__ == "__main__":
    main()
