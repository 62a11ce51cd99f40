"""The six real surveys, as they are."""

import json

import numpy as np
import polars as pl
import pytest

from tabsoda.reading import read_survey

NAMES = (
    "nhanes2015_16",
    "nhts2022_person",
    "nlsy97_religion_panel",
    "nsduh2023_youth",
    "nsfg2006_2010_male",
    "nyts2019_products",
)


@pytest.mark.parametrize("name", NAMES)
def test_values_with_the_mask_file(surveys, name):
    folder = surveys / name
    survey = read_survey(
        folder / "values.parquet", folder / "schema.json", skip_mask=folder / "skip.parquet"
    )
    values = pl.read_parquet(folder / "values.parquet")
    skips = pl.read_parquet(folder / "skip.parquet").to_numpy()
    np.testing.assert_array_equal(survey.states.skipped, skips)
    np.testing.assert_array_equal(survey.states.answered, values.select(pl.all().is_not_null()))
    for position, column in enumerate(survey.table.columns):
        coded = survey.table.values[:, position]
        known = ~np.isnan(coded)
        answers = (
            np.array(column.levels)[coded[known].astype(int)] if column.levels else coded[known]
        )
        np.testing.assert_array_equal(answers, values[column.name].drop_nulls().to_numpy())


@pytest.mark.parametrize("name", NAMES)
def test_raw_codes_reproduce_the_mask(surveys, name):
    folder = surveys / name
    # nhanes declares none of its refused and don't-know codes.
    unlisted = "missing" if name.startswith("nhanes") else "error"
    survey = read_survey(folder / "raw.parquet", folder / "schema.json", unlisted=unlisted)
    entries = json.loads((folder / "schema.json").read_text())
    by_code = [number for number, entry in enumerate(entries) if entry["skip_codes"]]
    skips = pl.read_parquet(folder / "skip.parquet").to_numpy()
    np.testing.assert_array_equal(survey.states.skipped[:, by_code], skips[:, by_code])
    if name not in ("nhanes2015_16", "nyts2019_products"):
        values = pl.read_parquet(folder / "values.parquet")
        np.testing.assert_array_equal(survey.states.answered, values.select(pl.all().is_not_null()))


def test_nhanes_routing_mask_fits_its_raw_file(surveys):
    folder = surveys / "nhanes2015_16"
    survey = read_survey(
        folder / "raw.parquet",
        folder / "schema.json",
        skip_mask=folder / "skip.parquet",
        unlisted="missing",
    )
    skips = pl.read_parquet(folder / "skip.parquet").to_numpy()
    np.testing.assert_array_equal(survey.states.skipped, skips)


def _suspects(survey):
    return {
        e.column: dict(zip(e.counts["codes"], e.counts["answers"], strict=True))
        for e in survey.events
        if e.kind == "suspicious_codes"
    }


def test_undeclared_codes_of_nsduh_are_flagged(surveys):
    suspects = _suspects(read_survey(surveys / "nsduh2023_youth" / "raw.parquet"))
    assert suspects["IRALCFY"].items() >= {"991": 8157, "993": 539}.items()
    assert suspects["IRCIGFM"].items() >= {"91": 9796, "93": 619}.items()
    assert suspects["EDUSCHLGO"].items() >= {"85": 21, "94": 85, "97": 46, "98": 10}.items()


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_above_suspicion(surveys, name):
    folder = surveys / name
    survey = read_survey(folder / "values.parquet", folder / "schema.json")
    # One respondent with 95 cigarettes a day, the survey's "95 or more", stands far out.
    assert set(_suspects(survey)) == ({"SMD650"} if name.startswith("nhanes") else set())
