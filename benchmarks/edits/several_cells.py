"""How many records stay unsatisfied where several imputed cells must change together.

    python benchmarks/edits/several_cells.py RESULT.json LABEL [--records 400]

Records that satisfy all edits lose three or more answers, which random answers of other records
replace. Every record can therefore be repaired. Counted are records that still violate an edit
after the repair of point estimates (nothing is drawn again), cells changed, and CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from tabsoda import CodedTable, Column, ColumnKind, Schema
from tabsoda.edits.edit_set import EditSet
from tabsoda.edits.repair import Repairer
from tabsoda.schema import Edit

# Populations: columns (None for whole numbers from 0 to 20, else a number of levels) and edits.
POPULATIONS = {
    "parts of a total": (
        {"A": None, "B": None, "C": None, "D": None, "T": None},
        ("A + B + C + D == T", "A <= B", "C <= D", "T >= 4"),
    ),
    "orders": (
        {"A": None, "B": None, "C": None, "D": None, "E": None},
        ("A < B", "B < C", "C < D", "D < E", "E - A <= 12"),
    ),
    "select all": (
        {"NONE": 2, "B1": 2, "B2": 2, "B3": 2, "B4": 2, "N": 5},
        (
            "not (NONE == 1 and (B1 == 1 or B2 == 1 or B3 == 1 or B4 == 1))",
            "count(B1 == 1, B2 == 1, B3 == 1, B4 == 1) == N",
            "NONE == 1 or N >= 1",
        ),
    ),
    "household": (
        {"SIZE": None, "ADULTS": None, "CHILDREN": None, "WORKING": None, "TYPE": 3, "BEDS": None},
        (
            "ADULTS + CHILDREN == SIZE",
            "WORKING <= ADULTS",
            "ADULTS >= 1",
            "TYPE != 1 or SIZE == 1",
            "TYPE != 2 or (ADULTS == 2 and CHILDREN == 0)",
            "max(ADULTS, CHILDREN) <= BEDS",
        ),
    ),
    "products": (
        {"A": None, "B": None, "C": None, "T": None},
        ("A * B <= T", "A + B + C == T", "B < C", "A >= 1"),
    ),
}


def clean_records(name: str, n_records: int, generator: np.random.Generator) -> tuple:
    """Return columns, edits and records that satisfy them."""
    kinds, rules = POPULATIONS[name]
    columns = tuple(
        Column(column, ColumnKind.CONTINUOUS, minimum=0, maximum=20)
        if levels is None
        else Column(column, ColumnKind.NOMINAL, tuple(range(0 if column == "N" else 1, levels + 1)))
        for column, levels in kinds.items()
    )
    sizes = [21 if one.kind is ColumnKind.CONTINUOUS else one.n_levels for one in columns]
    schema = Schema(columns, tuple(map(Edit, rules)))
    edits = EditSet.of(schema, None)
    found, n_found = [], 0
    while n_found < n_records:
        # Small numbers are frequent, so that some of them add up.
        tried = np.column_stack(
            [np.minimum(generator.geometric(2 / (s + 1), 200_000) - 1, s - 1) for s in sizes]
        ).astype(float)
        good = tried[~edits.violated(edits.named(tried)).any(axis=1)]
        found.append(good)
        n_found += len(good)
    values = np.concatenate(found)[:n_records]
    return EditSet.of(schema, CodedTable.from_values(columns, values)), values


def measured(name: str, n_records: int) -> dict[str, float]:
    generator = np.random.default_rng(len(name))
    edits, values = clean_records(name, n_records, generator)
    n_columns = values.shape[1]
    imputed = np.zeros(values.shape, dtype=bool)
    for row in imputed:
        row[generator.permutation(n_columns)[: generator.integers(3, n_columns)]] = True
    others = np.column_stack([generator.permutation(column) for column in values.T])
    drawn = np.where(imputed, others, values)
    start = time.process_time()
    found = Repairer(edits, imputed).repair(drawn)
    violated = found.before.any(axis=1)
    return {
        "records": n_records,
        "violating": int(violated.sum()),
        "unsatisfied": int(found.after.any(axis=1).sum()),
        "cells_changed": round(float((found.values != drawn)[violated].sum(axis=1).mean()), 3),
        "cpu_seconds": round(time.process_time() - start, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("label")
    parser.add_argument("--records", type=int, default=400)
    options = parser.parse_args()
    content = {}
    if options.result.exists():
        content = json.loads(options.result.read_text(encoding="utf-8"))
    content[options.label] = {name: measured(name, options.records) for name in POPULATIONS}
    options.result.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content[options.label], indent=1))


if __name__ == "__main__":
    main()
