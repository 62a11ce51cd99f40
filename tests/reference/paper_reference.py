"""Imputations of a small table by the paper's presets, stored to be compared seed for seed.

``python tests/reference/paper_reference.py`` makes ``paper_reference.json`` again. Write it again
only when a preset is meant to give other imputations, as when the chains got fresh noise in every
round.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl

from tabsoda import TabSODAImputer

STORED = Path(__file__).with_name("paper_reference.json")
PRESETS = ("path", "nsduh", "small")
N_DRAWS = 3
COLUMNS = (
    {"name": "sex", "type": "nominal", "levels": [1, 2]},
    {"name": "region", "type": "nominal", "levels": [1, 2, 3, 4, 5]},
    {"name": "age", "type": "continuous"},
    {"name": "income", "type": "continuous"},
    {"name": "agrees", "type": "ordinal", "levels": [1, 2, 3, 4, 5]},
    # Nearly everybody gives one answer, so that it is encoded as bits.
    {"name": "rarely", "type": "ordinal", "levels": [1, 2, 3]},
    {"name": "wave", "type": "continuous"},
    # Asked of one sex only.
    {"name": "pregnant", "type": "nominal", "levels": [0, 1]},
    {"name": "health", "type": "ordinal", "levels": [1, 2, 3, 4]},
)
SIZES = {
    "backbone": {"width": 32},
    "training": {
        "batch_size": 32,
        "max_steps": 30,
        "min_epoch_steps": 5,
        "whole_passes": True,
        "calibration_steps": 20,
    },
    "sampler": {"steps": 5, "chains": 3, "block_rows": 50},
    "em": {"rounds": 2},
}


def generated_table(n_rows: int = 90) -> dict[str, list]:
    """Return the answers, None where there is none, the skips and the weights."""
    rng = np.random.default_rng(20)
    taste = rng.normal(size=n_rows)
    sex = rng.integers(1, 3, n_rows)
    values = np.column_stack(
        [
            sex,
            rng.integers(1, 6, n_rows),
            np.round(45 + 12 * taste + 4 * rng.normal(size=n_rows)),
            np.round(np.exp(taste + rng.normal(size=n_rows)), 3),
            1 + np.digitize(taste + 0.5 * rng.normal(size=n_rows), [-1, -0.3, 0.3, 1]),
            rng.choice([1, 2, 3], n_rows, p=[0.85, 0.1, 0.05]),
            np.full(n_rows, 3.0),
            rng.integers(0, 2, n_rows),
            1 + np.digitize(taste + 0.8 * rng.normal(size=n_rows), [-0.8, 0, 0.8]),
        ]
    )
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 7] = sex == 1
    empty = skipped | (rng.random(values.shape) < 0.15)
    return {
        "values": np.where(empty, None, values).tolist(),
        "skipped_rows": np.flatnonzero(skipped[:, 7]).tolist(),
        "weights": rng.integers(1, 4, n_rows).tolist(),
    }


def imputed(table: dict[str, list], preset: str) -> dict[str, list]:
    """Fit a preset to the table and return every imputed cell."""
    values = np.array(table["values"], dtype=float)
    frame = pl.DataFrame(
        {
            column["name"]: pl.Series(answers, dtype=pl.Float64, nan_to_null=True).cast(
                pl.Float64 if column["type"] == "continuous" else pl.Int64
            )
            for column, answers in zip(COLUMNS, values.T, strict=True)
        }
    )
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[table["skipped_rows"], 7] = True
    imputer = TabSODAImputer(
        preset=preset, settings=SIZES, description=list(COLUMNS), random_state=7, device="cpu"
    )
    imputer.fit(frame, skip_mask=skipped, sample_weight=np.array(table["weights"], dtype=float))
    cells = imputer.impute(frame, N_DRAWS, skip_mask=skipped).cells
    names = ("rows", "positions", "mode", "median", "draws")
    return {name: getattr(cells, name).tolist() for name in names}


def main() -> None:
    """Write the reference."""
    table = generated_table()
    content = {"table": table} | {preset: imputed(table, preset) for preset in PRESETS}
    lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in content.items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
