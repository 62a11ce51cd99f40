"""Makes a survey of any length as Parquet, some rows at a time, with its description."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tabsoda.datasets import make_survey
from tabsoda.schema.column import Reason
from tabsoda.schema.files import save_schema

BLOCK_ROWS = 50_000
NONRESPONSE = 0.12


def write_survey(folder: Path, n_rows: int, n_columns: int, seed: int = 1) -> tuple[Path, Path]:
    """Write survey.parquet and survey.toml: other people in every block, one questionnaire.

    A tenth of the applicable cells is missing; skips have a code of their own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data, description = folder / "survey.parquet", folder / "survey.toml"
    blocks = []
    for number, start in enumerate(range(0, n_rows, BLOCK_ROWS)):
        survey = make_survey(
            min(BLOCK_ROWS, n_rows - start),
            n_columns,
            seed=1000 * seed + number,
            nonresponse=NONRESPONSE,
            spelled_out=(Reason.SKIP,),
            questionnaire_seed=seed,
        )
        frame = survey.to_frame()
        ids = pl.Series("CASEID", np.arange(start + 1, start + 1 + frame.height))
        blocks.append(frame.with_columns(ids))
    save_schema(survey.schema(), description)
    pl.concat(blocks).write_parquet(data, row_group_size=BLOCK_ROWS)
    return data, description
