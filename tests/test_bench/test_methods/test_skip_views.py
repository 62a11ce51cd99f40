import numpy as np

from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.skip_views import PredictorForm, as_shown, tree_values
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

COLUMNS = (
    Column("nominal", ColumnKind.NOMINAL, levels=("a", "b", "c")),
    Column("ordinal", ColumnKind.ORDINAL, levels=(1, 2, 3, 4)),
    Column("number", ColumnKind.CONTINUOUS),
)
NAN = np.nan
VALUES = np.array([[2, 3, 10.0], [0, 0, 30.0], [NAN, NAN, NAN], [NAN, NAN, NAN]])
SKIPPED = np.array([[False] * 3, [False] * 3, [True] * 3, [False] * 3])
TABLE = CodedTable.from_values(COLUMNS, VALUES, SKIPPED)


def test_blind_turns_skips_into_blanks_and_level_leaves_the_table():
    blind = as_shown(TABLE, SkipView.BLIND)
    assert not blind.states.skipped.any()
    assert np.array_equal(blind.states.missing, TABLE.states.missing | TABLE.states.skipped)
    assert as_shown(TABLE, SkipView.LEVEL) is TABLE


def test_trees_see_a_level_for_categories_and_a_constant_and_a_flag_for_numbers():
    values = tree_values(TABLE)
    assert values[2].tolist() == [3.0, -1.0, 20.0, 1.0]
    assert np.isnan(values[3, :3]).all()
    assert values[3, 3] == 0.0
    assert np.array_equal(values[:2], np.column_stack([VALUES[:2], np.zeros(2)]))
    blind = tree_values(as_shown(TABLE, SkipView.BLIND))
    assert blind.shape == (4, 3)
    assert np.isnan(blind[2]).all()


def test_linear_predictors_are_indicators_numbers_and_a_mark_of_the_skip():
    filled = np.where(np.isnan(VALUES), 1.0, VALUES)
    form = PredictorForm(TABLE, np.array([0.0, 1.5, 20.0]))
    predictors = form.of(filled)
    assert predictors.column_of.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert predictors.matrix[0].tolist() == [0, 1, 0, 3, 0, 10, 0]
    assert predictors.matrix[2].tolist() == [0, 0, 1, 1.5, 1, 20, 1]
    assert predictors.matrix[3].tolist() == [1, 0, 0, 1, 0, 1, 0]
    assert predictors.without(1).shape == (4, 5)
    blind = PredictorForm(as_shown(TABLE, SkipView.BLIND), np.zeros(3)).of(filled)
    assert blind.column_of.tolist() == [0, 0, 1, 2]


def test_nominals_with_many_levels_stay_one_number():
    wide = Column("wide", ColumnKind.NOMINAL, levels=tuple(range(40)))
    table = CodedTable.from_values((wide,), np.arange(40.0)[:, None])
    assert (
        PredictorForm(table, np.zeros(1), max_indicators=39).of(table.values).matrix.shape[1] == 1
    )
    assert (
        PredictorForm(table, np.zeros(1), max_indicators=40).of(table.values).matrix.shape[1] == 39
    )
