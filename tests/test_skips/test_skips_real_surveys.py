"""The miner's accuracy on real surveys, cell by cell against their codebooks' skips."""

import polars as pl
import pytest

from tabsoda.bench.metrics.skip_metrics import skip_metrics
from tabsoda.datasets import make_survey
from tabsoda.reading import read_survey
from tabsoda.skips.miner import SkipMiner

# Precision and recall that the default screen must reach, one setting for all.
FLOORS = [
    ("nyts2019_products", 0.995, 0.97),
    ("nhanes2015_16", 0.995, 0.97),
    pytest.param("nhts2022_person", 0.995, 0.97, marks=pytest.mark.slow),
    pytest.param("nsfg2006_2010_male", 0.995, 0.96, marks=pytest.mark.slow),
    ("nsduh2023_youth", 0.995, 0.94),
    ("nlsy97_religion_panel", 0.97, 0.85),
]


@pytest.mark.parametrize(("name", "precision", "recall"), FLOORS)
def test_floors(surveys, name, precision, recall):
    folder = surveys / name
    table = read_survey(folder / "values.parquet", folder / "schema.json").table
    reference = pl.read_parquet(folder / "skip.parquet").select(table.names).to_numpy()
    mined = SkipMiner().mine(table).states.skipped
    found = skip_metrics(mined, reference, ~table.states.answered)["all_cells"]
    assert found["precision"] >= precision
    assert found["recall"] >= recall


@pytest.mark.parametrize("seed", [0, 1])
def test_floors_on_the_embedded_survey(seed):
    survey = make_survey(4000, seed=seed)
    table, truth = survey.table, survey.true_table.states.skipped
    mined = SkipMiner().mine(table).states.skipped
    found = skip_metrics(mined, truth & ~table.states.answered, ~table.states.answered)["all_cells"]
    assert found["precision"] >= 0.995
    assert found["recall"] >= 0.94
