"""Replicate: sample, hide, impute, analyse; one line of JSON per replication and method.

    python benchmarks/coverage/run.py RECORDS METHODS FIRST LAST [MECHANISMS] [POPULATIONS]

RECORDS is a file that is added to; what it holds already is not done again. METHODS are names of
``methods.py``, divided by ``;``. Replications are numbered, and the same number is the same sample
with the same hidden cells for every method. TABSODA_SURVEYS names the folder of the surveys.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from methods import METHODS
from populations import COLUMNS, Population, population

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.masking import hide_cells
from tabsoda.bench.metrics.coverage import Array, Estimand, association, intervals
from tabsoda.errors import InputError
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

N_ROWS = 1000
SEED = 5
MECHANISMS = ("mcar", "mar")
# Fewer pairs than this say little of how columns go together.
_FEWEST_PAIRS = 30
# These need no imputation, and are recorded with every replication.
REFERENCES = ("complete data", "complete cases")


def replicate(people: Population, mechanism: str, number: int, method: str) -> dict[str, Any]:
    """Return what a method estimates in one replication."""
    generator = numpy_generator(SEED, "sample", people.name, number)
    sample = people.table.rows(generator.integers(people.table.shape[0], size=N_ROWS))
    hidden = hide_cells(sample, mechanism, replication=number, seed=SEED).mask
    seen = CodedTable.from_values(sample.columns, np.where(hidden, np.nan, sample.values))
    record: dict[str, Any] = {
        "method": method,
        "population": people.name,
        "mechanism": mechanism,
        "replication": number,
    }
    if method in REFERENCES:
        completed = [sample.values if method == "complete data" else seen.values]
    else:
        completed = METHODS[method](seen, number)
        record["pairs"] = pairs_kept(sample, hidden, completed)
    record["estimates"] = {
        place: found
        for place, estimand in enumerate(people.estimands)
        # What no hidden cell touches says nothing of a method.
        if hidden[:, list(estimand.columns)].any()
        and (found := estimate(estimand, completed)) is not None
    }
    return record


def estimate(estimand: Estimand, completed: list[Array]) -> list[list[float]] | None:
    """Return estimate, interval and claimed variance of what is missing, per term.

    None where a model cannot be fitted. The variance is (1 + 1/m) times that between draws.
    """
    parts = [values[:, list(estimand.columns)] for values in completed]
    try:
        analyses = [estimand.analyse(part[~np.isnan(part).any(axis=1)]) for part in parts]
        estimates, ends = intervals(analyses)
    except (InputError, np.linalg.LinAlgError):
        return None
    claimed = np.zeros_like(estimates)
    if len(analyses) > 1:
        between = np.var([one.estimates for one in analyses], axis=0, ddof=1)
        claimed = (1 + 1 / len(analyses)) * between
    table = np.column_stack([estimates, ends, claimed])
    return [[float(f"{x:.6g}") for x in row] for row in table]


def pairs_kept(sample: CodedTable, hidden: Any, completed: list[Array]) -> list[list[Any]]:
    """Return the association of columns hidden together: names, true, drawn (mean over draws)."""
    kinds = [column.kind for column in sample.columns]
    found: list[list[Any]] = []
    for second in range(len(kinds)):
        for first in range(second):
            rows = hidden[:, first] & hidden[:, second]
            two = (kinds[first], kinds[second])
            ordered = ColumnKind.NOMINAL not in two
            if rows.sum() < _FEWEST_PAIRS or (not ordered and ColumnKind.CONTINUOUS in two):
                continue
            true, *drawn = (
                association(values[rows, first], values[rows, second], ordered=ordered)
                for values in (sample.values, *completed)
            )
            found.append([first, second, ordered, round(true, 4), round(float(np.mean(drawn)), 4)])
    return found


def main() -> None:
    records, methods, first, last, *rest = sys.argv[1:]
    mechanisms = rest[0].split(",") if rest else MECHANISMS
    names = rest[1].split(",") if len(rest) > 1 else tuple(COLUMNS)
    surveys = Path(os.environ["TABSODA_SURVEYS"]) if "TABSODA_SURVEYS" in os.environ else None
    torch.set_num_threads(1)
    path = Path(records)
    lines = path.read_text().splitlines() if path.exists() else []
    keys = ("method", "population", "mechanism", "replication")
    done = {tuple(json.loads(line)[key] for key in keys) for line in lines}
    for number in range(int(first), int(last)):
        for name in names:
            for mechanism in mechanisms:
                for method in (*REFERENCES, *methods.split(";")):
                    if (method, name, mechanism, number) in done:
                        continue
                    record = replicate(population(name, surveys), mechanism, number, method)
                    with path.open("a") as file:
                        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
