"""Kinds proposed for six surveys whose codebooks give the true ones, with declared levels wrong.

    python benchmarks/real_files/kinds_on_surveys.py SURVEYS [--details]

SURVEYS holds one folder per survey, with ``raw.parquet`` and ``schema.json``. Labels, questions and
codes for no answer are given to the proposal as a file would give them; the declared level is left
out, "nominal" for every column, or "scale" for every column. Writes kinds_on_surveys.json next to
this script: shares of right kinds, ordinals in a wrong order, and how often each confidence is
right. No data is kept.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from tabsoda.schema.column import Column, ColumnKind
from tabsoda.schema.files import load_schema
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.inference import propose_schema
from tabsoda.schema.schema import Schema

RESULT = Path(__file__).resolve().with_suffix(".json")
CONDITIONS = {"none declared": "", "all nominal": "nominal", "all scale": "scale"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Score proposed kinds against codebooks.")
    parser.add_argument("surveys", type=Path)
    parser.add_argument("--details", action="store_true", help="print every wrong kind")
    chosen = parser.parse_args()
    folders = sorted(path.parent for path in chosen.surveys.glob("*/schema.json"))
    results = {folder.name: measure(folder, details=chosen.details) for folder in folders}
    results["all"] = {name: total(results, name) for name in CONDITIONS}
    RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for survey, conditions in results.items():
        print(survey, *(f"{name}: {row['share_right']:.3f}" for name, row in conditions.items()))


def measure(folder: Path, details: bool = False) -> dict[str, Any]:
    """Score one survey under the three conditions."""
    truth = load_schema(folder / "schema.json")
    frame = pl.read_parquet(folder / "raw.parquet").select(truth.names)
    result = {}
    for name, measure_level in CONDITIONS.items():
        hints = {column.name: hints_of(column, measure_level) for column in truth}
        proposal = propose_schema(frame, hints)
        result[name] = score(truth, proposal)
        if details and not measure_level:
            print_wrong(truth, proposal)
    return result


def hints_of(column: Column, measure_level: str) -> ColumnHints:
    """Return what a labelled file would say of a column, its declared level aside."""
    return ColumnHints(
        label=column.label,
        level_labels=column.level_labels,
        measure=measure_level,
        missing_codes=tuple(code for code in column.special_codes if code != ""),
    )


def score(truth: Schema, proposal: Schema) -> dict[str, Any]:
    """Count right kinds, ordinals in a wrong order, and right kinds by confidence."""
    right = [proposal[column.name].kind is column.kind for column in truth]
    ordinals = [
        (column, proposal[column.name])
        for column, is_right in zip(truth, right, strict=True)
        if is_right and column.kind is ColumnKind.ORDINAL
    ]
    by_confidence: dict[str, Counter[str]] = {}
    for column, is_right in zip(truth, right, strict=True):
        confidence = proposal[column.name].confidence
        counts = by_confidence.setdefault(confidence.value if confidence else "role", Counter())
        counts["right" if is_right else "wrong"] += 1
    return {
        "columns": len(right),
        "right": sum(right),
        "share_right": round(sum(right) / len(right), 3),
        "ordinals": len(ordinals),
        "in_wrong_order": sum(not same_order(column, guess) for column, guess in ordinals),
        "by_confidence": {name: dict(counts) for name, counts in sorted(by_confidence.items())},
    }


def same_order(truth: Column, guess: Column) -> bool:
    """Whether the levels are in the true order, in either direction."""
    wanted = [str(level) for level in truth.levels]
    found = [str(level) for level in guess.levels if str(level) in wanted]
    return found in (wanted, wanted[::-1])


def total(results: dict[str, Any], name: str) -> dict[str, Any]:
    """Sum one condition over the surveys."""
    rows = [survey[name] for survey in results.values()]
    counts = {
        key: sum(row[key] for row in rows)
        for key in ("columns", "right", "ordinals", "in_wrong_order")
    }
    return counts | {"share_right": round(counts["right"] / counts["columns"], 3)}


def print_wrong(truth: Schema, proposal: Schema) -> None:
    """Print the columns whose kind is wrong, with the reason of the guess."""
    for column in truth:
        guess = proposal[column.name]
        if guess.kind is not column.kind:
            print(f"{column.name}: {column.kind.value}, guessed {guess.kind.value}; {guess.note}")


if __name__ == "__main__":
    main()
