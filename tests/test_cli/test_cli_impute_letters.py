"""Stata files with lettered missings, from ``tabsoda impute`` to every export."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest
from impute_runs import TINY, assert_complete

from tabsoda import read_survey
from tabsoda.cli.main import main
from tabsoda.exchange.exporting import TARGETS
from tabsoda.results.result_folder import load_result

N = 120


def write_lettered(path, *, letter_first):
    """Write a file whose every column has letters; the first cell is a letter, or an answer."""
    generator = np.random.default_rng(11)
    health = generator.integers(1, 5, N)
    columns = {
        "smokes": generator.integers(1, 3, N),
        "health": health,
        "hours": health * 7 + generator.integers(0, 4, N),
    }
    frame = pd.DataFrame({name: values.astype(object) for name, values in columns.items()})
    for place, name in enumerate(columns):
        rows = generator.choice(np.arange(1, N), 24, replace=False)
        for letter, some in zip("abc", np.split(rows, 3), strict=True):
            frame.loc[some, name] = letter
        if letter_first:
            frame.loc[0, name] = "abc"[place]
    labels = {"a": "Refused", "b": "Don't know", "c": "Not applicable"}
    pyreadstat.write_dta(
        frame,
        str(path),
        variable_value_labels=dict.fromkeys(columns, labels),
        missing_user_values={name: list("abc") for name in columns},
    )


@pytest.mark.parametrize("letter_first", [False, True], ids=["answer first", "letter first"])
def test_letters_survive_the_result_and_every_export(letter_first, tmp_path):
    data, out = tmp_path / "in" / "study.dta", tmp_path / "out"
    data.parent.mkdir()
    write_lettered(data, letter_first=letter_first)
    source = read_survey(data)
    assert sorted(source.tags) == ["health", "hours", "smokes"]
    assert all((tags[0] is not None) == letter_first for tags in source.tags.values())
    options = ["-m", "2", "--device", "cpu", "--no-report", *TINY]
    main(["impute", str(data), "-o", str(out), *options])
    assert_complete(out)

    result = load_result(out)
    assert result.survey.tags.keys() == source.tags.keys()
    for name, tags in source.tags.items():
        assert result.survey.tags[name].tolist() == tags.tolist()
    assert result.survey.frame.equals(source.frame)
    assert result.complete(2).equals(pl.read_parquet(out / "imputations" / "002.parquet"))
    skipped = np.column_stack([source.tags[name] == ".c" for name in source.table.names])
    for to in TARGETS:
        files = result.export(to, tmp_path / to)
        assert json.loads((tmp_path / to / "export.json").read_text())["imputations"] == 2
        assert len(files) > 1
    stata, _ = pyreadstat.read_dta(str(tmp_path / "stata" / "imputations.dta"), user_missing=True)
    for position, name in enumerate(source.table.names):
        for number in range(3):
            letters = stata.loc[stata["_mi_m"] == number, name].astype(str).to_numpy()
            assert np.array_equal(letters == "c", skipped[:, position])
