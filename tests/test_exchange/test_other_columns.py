"""Columns that are not questions leave as they came: numbers, letters, labels and blanks."""

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tabsoda import read_survey
from tabsoda.exchange import export
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema import ColumnRole
from tabsoda.schema.files import load_schema, save_schema

N = 40
DESCRIPTION = [
    {"name": "zone", "role": "ignore"},
    {"name": "weight", "role": "weight"},
    {"name": "remark", "role": "ignore"},
    {"name": "q", "type": "nominal", "levels": [1, 2]},
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("others") / "study.dta"
    zone = np.arange(N).astype(float) % 3 + 1
    cells = zone.astype(object)
    cells[:4] = "z"
    frame = pd.DataFrame(
        {
            "zone": pd.Series(cells, dtype=object),
            "weight": np.where(np.arange(N) % 5 == 0, np.nan, 0.5 + zone / 7),
            "remark": [f"remark {row}" for row in range(N)],
            "q": np.where(np.arange(N) % 4 == 0, np.nan, zone % 2 + 1),
        }
    )
    pyreadstat.write_dta(
        frame,
        str(path),
        column_labels={"zone": "Zone of the interviewer"},
        variable_value_labels={"zone": {1: "North", 2: "South", 3: "East", "z": "Unknown zone"}},
        missing_user_values={"zone": ["z"]},
    )
    return path


@pytest.fixture(scope="module")
def result(source):
    survey = read_survey(source, DESCRIPTION)
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.ones((2, len(rows)))
    return Imputations(
        survey.table, ImputedCells(rows, positions, draws, draws[0], draws[0]), survey
    )


def test_ignored_columns_are_not_coded_and_not_imputed(result):
    assert result.table.names == ("q",)
    assert result.survey.schema["zone"].role is ColumnRole.IGNORE
    completed = result.complete(1)
    original = result.survey.frame
    for name in ("zone", "weight", "remark"):
        assert completed[name].to_list() == original[name].to_list()


def test_stata_keeps_numbers_letters_and_labels(source, result, tmp_path):
    export(result, "stata", tmp_path / "out")
    content, metadata = pyreadstat.read_dta(
        tmp_path / "out" / "imputations.dta", user_missing=True, output_format="dict"
    )
    before, known = pyreadstat.read_dta(source, user_missing=True, output_format="dict")
    for name in ("zone", "remark"):
        assert content[name] == before[name] * 3
    np.testing.assert_array_equal(
        np.array(content["weight"], dtype=float), np.array(before["weight"] * 3, dtype=float)
    )
    assert metadata.variable_value_labels["zone"] == known.variable_value_labels["zone"]
    assert metadata.column_names_to_labels["zone"] == "Zone of the interviewer"


def test_spss_keeps_numbers_and_labels(result, tmp_path):
    export(result, "spss", tmp_path / "out")
    content, metadata = pyreadstat.read_sav(
        tmp_path / "out" / "imputations.sav", output_format="dict"
    )
    numbers = pl.Series(content["zone"], strict=False).to_list()[N : 2 * N]
    assert numbers[4:] == result.survey.frame["zone"].to_list()[4:]
    assert metadata.variable_value_labels["zone"] == {1: "North", 2: "South", 3: "East"}


@pytest.mark.parametrize("name", ["survey.toml", "schema.json"])
def test_both_forms_of_a_description_know_the_role(result, name, tmp_path):
    save_schema(result.survey.schema, tmp_path / name)
    again = load_schema(tmp_path / name)
    assert [column.role.value for column in again] == ["ignore", "weight", "ignore", "question"]
