"""What every classical method must do, whatever it is."""

import numpy as np
import pytest

from tabsoda.bench.methods import r_mice
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.registry import method
from tabsoda.schema import Column, ColumnKind
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

# Few trees leave some rows in every bag; the defaults do not.
pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
needs_r = pytest.mark.skipif(not r_mice.available(), reason="R mice is not here")
METHODS = [
    pytest.param("mode", {}, id="mode"),
    pytest.param("mode", {"number": "median"}, id="median"),
    pytest.param("boosting", {"max_rounds": 6}, id="boosting"),
    pytest.param("mice", {"n_draws": 2, "rounds": 2}, id="mice"),
    pytest.param("missforest", {"n_trees": 5, "max_rounds": 2}, id="missforest"),
    pytest.param(
        "r-mice", {"n_draws": 2, "rounds": 1}, id="r-mice", marks=[needs_r, pytest.mark.slow]
    ),
]
VIEWS = list(SkipView)


def the_same(first, second):
    assert np.array_equal(first.mode, second.mode, equal_nan=True)
    assert np.array_equal(first.median, second.median, equal_nan=True)
    assert first.probabilities.keys() == second.probabilities.keys()
    for position, rows in first.probabilities.items():
        assert np.array_equal(rows, second.probabilities[position])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("name", "options"), METHODS)
def test_fills_missing_cells_with_possible_answers_and_keeps_the_others(
    name, options, view, small_survey
):
    table = small_survey.table
    estimates = method(name, **options).impute(table, 1, view)
    missing, answered = table.states.missing, table.states.answered
    for decoded in (estimates.mode, estimates.median):
        assert np.array_equal(decoded[answered], table.values[answered])
        for position, column in enumerate(table.columns):
            filled = decoded[missing[:, position], position]
            if column.is_categorical:
                assert np.isin(filled, np.arange(column.n_levels)).all()
            else:
                answers = table.values[answered[:, position], position]
                assert ((filled >= answers.min()) & (filled <= answers.max())).all()
    for position, rows in estimates.probabilities.items():
        column, cells = table.columns[position], missing[:, position]
        assert rows.shape == (table.shape[0], column.n_levels)
        assert np.allclose(rows[cells].sum(axis=1), 1.0)
        assert (rows[cells] >= 0).all()
        assert np.array_equal(rows[cells].argmax(axis=1), estimates.mode[cells, position])
    levels = {p for p, c in enumerate(table.columns) if c.is_categorical and missing[:, p].any()}
    assert levels <= estimates.probabilities.keys()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("name", "options"), METHODS)
def test_same_seed_same_result_and_unanswered_cells_are_not_read(name, options, view, small_survey):
    table = small_survey.table
    first = method(name, **options).impute(table, 7, view)
    garbage = np.where(table.states.answered, table.values, 999.0)
    dirty = CodedTable(table.columns, garbage, table.states)
    the_same(first, method(name, **options).impute(dirty, 7, view))


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_degenerate_columns_are_filled(name, options):
    rng = np.random.default_rng(0)
    columns = (
        Column("nobody", ColumnKind.NOMINAL, levels=(1, 2, 3)),
        Column("empty", ColumnKind.CONTINUOUS),
        Column("one", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("constant", ColumnKind.CONTINUOUS),
        Column("rare", ColumnKind.NOMINAL, levels=(1, 2, 3, 4)),
        Column("usual", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("number", ColumnKind.CONTINUOUS),
    )
    values = np.column_stack(
        [
            np.full(60, np.nan),
            np.full(60, np.nan),
            np.full(60, 1.0),
            np.full(60, 4.5),
            np.r_[3.0, rng.integers(0, 2, 59)],
            rng.integers(0, 3, 60),
            rng.normal(size=60),
        ]
    )
    values[rng.random(values.shape) < 0.2] = np.nan
    values[0, 4] = 3.0
    table = CodedTable.from_values(columns, values)
    estimates = method(name, **options).impute(table, 1, SkipView.LEVEL)
    assert np.isfinite(estimates.mode).all()
    assert np.isfinite(estimates.median).all()
    assert (estimates.mode[:, 2] == 1.0).all()
    assert np.allclose(estimates.mode[:, 3], 4.5)
    assert np.isin(estimates.mode[:, 0], [0, 1, 2]).all()


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_a_complete_table_comes_back(name, options):
    table = CodedTable.from_values(
        (Column("a", ColumnKind.CONTINUOUS), Column("b", ColumnKind.NOMINAL, levels=(1, 2))),
        np.column_stack([np.arange(30.0), np.arange(30) % 2]),
    )
    estimates = method(name, **options).impute(table, 1, SkipView.BLIND)
    assert np.array_equal(estimates.mode, table.values)


@pytest.mark.parametrize(
    ("name", "options"), [p for p in METHODS if p.id not in ("mode", "median", "r-mice")]
)
def test_one_question_alone_gets_its_usual_answer(name, options):
    column = Column("a", ColumnKind.NOMINAL, levels=(1, 2))
    values = np.array([[0.0]] * 30 + [[1.0]] * 60 + [[np.nan]] * 9)
    table = CodedTable.from_values((column,), values)
    estimates = method(name, **options).impute(table, 1, SkipView.BLIND)
    assert (estimates.mode[-9:] == 1.0).all()
    assert np.allclose(estimates.probabilities[0][-9:], [1 / 3, 2 / 3])


BETTER = [
    pytest.param("boosting", {"max_rounds": 40}, id="boosting"),
    pytest.param("mice", {"n_draws": 4, "rounds": 3}, id="mice"),
    pytest.param("missforest", {"n_trees": 12, "max_rounds": 1}, id="missforest"),
    pytest.param(
        "r-mice", {"n_draws": 3, "rounds": 2}, id="r-mice", marks=[needs_r, pytest.mark.slow]
    ),
]


@pytest.mark.parametrize(("name", "options"), BETTER)
def test_beats_mode_and_mean_and_gains_by_seeing_skips(name, options, hidden_survey):
    plain = method("mode").impute(hidden_survey.table, 1, SkipView.BLIND)
    blind, level = (
        method(name, **options).impute(hidden_survey.table, 1, view)
        for view in (SkipView.BLIND, SkipView.LEVEL)
    )
    for estimates in (blind, level):
        assert hidden_survey.accuracy(estimates) > hidden_survey.accuracy(plain) + 0.05
        assert hidden_survey.rmse(estimates) < hidden_survey.rmse(plain) - 0.1
        assert hidden_survey.distance(estimates.median) <= hidden_survey.distance(estimates.mode)
        assert hidden_survey.distance(estimates.median) < hidden_survey.distance(plain.median)
    assert hidden_survey.accuracy(level) > hidden_survey.accuracy(blind)
    gains = hidden_survey.rmse(level) < hidden_survey.rmse(blind)
    if name == "r-mice" and not gains:
        pytest.xfail("R's mice does not find numbers better by seeing skips; why is not known")
    assert gains


def test_blind_methods_see_no_skip(small_survey):
    table = small_survey.table
    names, nothing = table.names, np.zeros(table.shape, dtype=bool)
    blanked = table.with_states(CellStates.from_masks(table.states.answered, nothing, names))
    boosting = method("boosting", max_rounds=15)
    informed = boosting.impute(table, 3, SkipView.BLIND)
    uninformed = boosting.impute(blanked, 3, SkipView.BLIND)
    missing = table.states.missing
    assert np.array_equal(informed.mode[missing], uninformed.mode[missing])
