"""Survey folders, and smaller tables drawn from surveys."""

import numpy as np
import pytest

from tabsoda.datasets import make_survey
from tabsoda.datasets.survey_folder import load_survey_folder, sample_table, surveys_folder
from tabsoda.errors import InputError
from tabsoda.followers import find_followers
from tabsoda.schema import ColumnKind


@pytest.fixture(scope="module")
def table():
    return make_survey(n_rows=1500, seed=2).true_table


def test_samples_are_parts_of_the_table(table):
    small = sample_table(table, rows=700, columns=15, seed=3)
    assert small.shape == (700, 15)
    positions = [table.names.index(name) for name in small.names]
    assert positions == sorted(positions)
    whole = table.select(small.names)
    rows = {row.tobytes() for row in np.nan_to_num(whole.values, nan=-9e9)}
    assert all(row.tobytes() in rows for row in np.nan_to_num(small.values, nan=-9e9))


def test_the_seed_decides(table):
    names = [sample_table(table, columns=15, seed=seed).names for seed in (1, 1, 2)]
    assert names[0] == names[1] != names[2]


def test_every_kind_is_there_and_routing_survives(table):
    for seed in range(5):
        small = sample_table(table, columns=15, seed=seed)
        assert {column.kind for column in small.columns} == set(ColumnKind)
        assert find_followers(small).any()


def test_questions_that_measure_nothing_are_left_out(table):
    constant = table.names[0]
    values = table.values.copy()
    values[table.states.answered[:, 0], 0] = 0.0
    from tabsoda.table import CodedTable

    changed = CodedTable(table.columns, values, table.states)
    assert constant not in sample_table(changed).names
    assert constant in sample_table(table).names


def test_a_table_that_is_too_small_is_refused(table):
    with pytest.raises(InputError, match="Too few questions"):
        sample_table(table.select(table.names[:1]))


def test_folders_that_do_not_exist_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("TABSODA_SURVEYS", raising=False)
    with pytest.raises(InputError, match="TABSODA_SURVEYS"):
        surveys_folder()
    monkeypatch.setenv("TABSODA_SURVEYS", str(tmp_path))
    assert surveys_folder() == tmp_path
    with pytest.raises(InputError, match=r"no values\.parquet, schema\.json, skip\.parquet"):
        load_survey_folder(tmp_path)


def test_a_real_survey(surveys):
    survey = load_survey_folder(surveys / "nsduh2023_youth")
    assert survey.table.shape == (10561, 73)
    assert survey.states.skipped.mean() == pytest.approx(0.129, abs=0.001)
