"""The adapters of other imputers, where those are installed."""

from pathlib import Path

import numpy as np
import pytest

from tabsoda.bench.methods import gcimpute_adapter, miceforest_adapter, r_mice
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.pooled_draws import pool_draws
from tabsoda.bench.methods.registry import METHODS, method
from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

MODULES = {"gcimpute": gcimpute_adapter, "miceforest": miceforest_adapter, "r-mice": r_mice}
OPTIONS = {
    "gcimpute": {"n_draws": 3, "max_rounds": 3},
    "miceforest": {"n_draws": 1, "rounds": 1},
    "r-mice": {"n_draws": 1, "rounds": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("view", list(SkipView))
@pytest.mark.parametrize("name", MODULES)
def test_a_peer_that_is_here_fills_every_cell_the_same_way_twice(name, view, small_survey):
    if not MODULES[name].available():
        pytest.skip(f"{name} is not here")
    table = small_survey.table
    first, second = (method(name, **OPTIONS[name]).impute(table, 1, view) for _ in range(2))
    missing = table.states.missing
    assert np.isfinite(first.mode[missing]).all()
    assert np.array_equal(first.mode[missing], second.mode[missing])
    for position, column in enumerate(table.columns):
        if column.is_categorical:
            filled = first.mode[missing[:, position], position]
            assert np.isin(filled, np.arange(column.n_levels)).all()


@pytest.mark.parametrize("name", MODULES)
def test_a_peer_that_is_not_installed_is_an_error(name, monkeypatch, small_survey):
    monkeypatch.setattr(MODULES[name], "available", lambda: False)
    with pytest.raises(InputError, match=r"not (here|installed).*[Ii]nstall"):
        method(name).impute(small_survey.table, 1, SkipView.BLIND)


def test_what_r_says_is_passed_on(monkeypatch, small_survey):
    class Failed:
        returncode, stderr = 1, "Error in polr : singular"

    monkeypatch.setattr(r_mice, "available", lambda: True)
    monkeypatch.setattr(r_mice.subprocess, "run", lambda *_, **__: Failed)
    with pytest.raises(InputError, match=r"R mice failed\. Found: Error in polr : singular"):
        method("r-mice").impute(small_survey.table, 1, SkipView.BLIND)


def test_r_gets_levels_from_one_up_and_its_draws_come_back_as_positions(monkeypatch):
    columns = (
        Column("a", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("b", ColumnKind.CONTINUOUS),
    )
    values = np.array([[2.0, 1.5], [np.nan, np.nan], [np.nan, np.nan]])
    skipped = np.array([[False, False], [True, True], [False, False]])
    table = CodedTable.from_values(columns, values, skipped)
    written = {}

    class Done:
        returncode, stderr = 0, ""

    def run(command, **_):
        folder = Path(command[3])
        written["values"] = (folder / "values.csv").read_text().split()
        written["columns"] = (folder / "columns.csv").read_text().split()
        (folder / "draw_1.csv").write_text("q0,q1,q2\n3,1.5,0\n0,7,1\n2,4.5,0\n")
        return Done

    monkeypatch.setattr(r_mice, "available", lambda: True)
    monkeypatch.setattr(r_mice.subprocess, "run", run)
    estimates = method("r-mice", n_draws=1).impute(table, 1, SkipView.LEVEL)
    assert written["values"] == ["q0,q1,q2", "3,1.5,0", "0,,1", ",,0"]
    assert written["columns"][1:] == ["q0,ordinal", "q1,continuous", "q2,indicator"]
    assert estimates.probabilities[0][2].tolist() == [0.0, 0.5, 0.5]
    assert estimates.mode[2, 1] == 1.5


def test_pooling_counts_levels_and_averages_numbers():
    columns = (
        Column("a", ColumnKind.NOMINAL, levels=(1, 2, 3)),
        Column("b", ColumnKind.CONTINUOUS),
    )
    table = CodedTable.from_values(columns, np.array([[0, 1.0], [0, 9.0], [np.nan, np.nan]]))
    draws = [np.array([[0, 1.0], [0, 9.0], row]) for row in ([1, 2.0], [1, 6.0], [np.nan, np.nan])]
    pooled = pool_draws(table, draws)
    assert pooled.probabilities[0][2] == pytest.approx([1 / 3, 2 / 3, 0])
    assert pooled.mode[2].tolist() == [1.0, pytest.approx((2 + 6 + 5) / 3)]


def test_the_registry_knows_the_peers():
    assert MODULES.keys() <= METHODS.keys()
