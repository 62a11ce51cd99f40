"""Count products that regressions get in populations without any.

    python benchmarks/coverage/linear_populations.py benchmarks/coverage/linear_populations.json

Tables of factor models: numbers, ordinals, a mix with binaries, and the mix with questions that
some are not asked. 15 or 20 % of the answers are missing. A regression counts if it got a product
or a curve.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

KINDS = {
    "numbers": ("number",),
    "ordinals": ("ordinal",),
    "mixed": ("number", "ordinal", "binary"),
    "mixed, with skips": ("number", "ordinal", "binary"),
}
ROWS = (300, 1000, 3000)
TABLES = 20
# Gate and followers, which are asked of half of the respondents.
ROUTES = ((2, (3, 4)), (5, (6, 7)), (8, (9, 10)))


def make(kind: str, n: int, rng: np.random.Generator) -> CodedTable:
    """Return a table of twelve questions that depend on two factors."""
    latent = rng.normal(size=(n, 2)) @ (0.6 * rng.normal(size=(2, 12))) + rng.normal(size=(n, 12))
    columns, values = [], np.empty((n, 12))
    for place in range(12):
        one = KINDS[kind][place % len(KINDS[kind])]
        name = f"q{place}"
        if one == "number":
            columns.append(Column(name, ColumnKind.CONTINUOUS))
            values[:, place] = latent[:, place]
        elif one == "ordinal":
            columns.append(Column(name, ColumnKind.ORDINAL, tuple(range(5))))
            values[:, place] = np.digitize(latent[:, place], (-1.2, -0.4, 0.4, 1.2))
        else:
            columns.append(Column(name, ColumnKind.NOMINAL, (0, 1)))
            values[:, place] = latent[:, place] > 0
    skipped = np.zeros(values.shape, dtype=bool)
    if kind.endswith("skips"):
        for gate, followers in ROUTES:
            skipped[:, list(followers)] = (values[:, gate] == 0)[:, None]
    hidden = rng.random(values.shape) < (0.15 if skipped.any() else 0.2)
    return CodedTable.from_values(
        tuple(columns), np.where(hidden | skipped, np.nan, values), skipped
    )


def count(kind: str, n: int, number: int) -> int:
    """Count the regressions of one table that got a product."""
    rng = np.random.default_rng([number, n, len(kind)])
    table = make(kind, n, rng)
    filled = table.values.copy()
    for place in range(12):
        missing, answered = table.states.missing[:, place], table.states.answered[:, place]
        filled[missing, place] = rng.choice(table.values[answered, place], missing.sum())
    chained = ChainedRegressions.fit(
        table, filled, list(range(12)), np.zeros((12, 12), dtype=bool), n_sets=1, rounds=1,
        max_questions=24, seed=number, row_share=0.6, interactions=True,
    )  # fmt: skip
    return len({one.response for one in chained.relations})


def main() -> None:
    found = []
    for kind in KINDS:
        for n in ROWS:
            with_product = sum(count(kind, n, number) for number in range(TABLES))
            found.append(
                {
                    "population": kind,
                    "rows": n,
                    "regressions": 12 * TABLES,
                    "with_product": with_product,
                    "share": round(with_product / (12 * TABLES), 4),
                }
            )
            print(found[-1], flush=True)
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
