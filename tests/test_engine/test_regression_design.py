"""Predictors of regressions: what is expected of them, at skips, and in tables not seen before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.engine.regressions.design import Design
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

COLUMNS = (
    Column("region", ColumnKind.NOMINAL, levels=(1, 2, 3, 4)),
    Column("likes", ColumnKind.ORDINAL, levels=tuple("abcde")),
    Column("income", ColumnKind.CONTINUOUS),
    Column("brand", ColumnKind.NOMINAL, levels=(1, 2, 3)),
)
N_ROWS = 200


def make_table(seed=0):
    """Return a complete table whose last question some skipped."""
    rng = np.random.default_rng(seed)
    values = np.column_stack(
        [
            rng.choice(4, N_ROWS, p=[0.2, 0.5, 0.2, 0.1]),
            rng.integers(0, 5, N_ROWS),
            rng.normal(3, 7, N_ROWS),
            rng.choice(3, N_ROWS, p=[0.3, 0.3, 0.4]),
        ]
    ).astype(float)
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:60, 3] = True
    values[skipped] = np.nan
    return CodedTable.from_values(COLUMNS, values, skipped)


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def design(table):
    return Design.of(table, table.values)


def test_predictors_are_standardised_by_hand(table, design):
    matrix = design.matrix(table.values, table.states.skipped)
    assert design.column_of.tolist() == [0, 0, 0, 1, 2, 3, 3, 3]
    region, likes, income, brand = table.values.T
    asked = ~np.isnan(brand)

    def standard(values, among):
        return (values - values[among].mean()) / values[among].std()

    everybody = np.ones(N_ROWS, dtype=bool)
    # Level 1 is the most frequent region, and so the one without an indicator.
    for place, level in enumerate((0, 2, 3)):
        expected = standard((region == level).astype(float), everybody)
        np.testing.assert_allclose(matrix[:, place], expected, atol=1e-12)
    np.testing.assert_allclose(matrix[:, 3], standard(likes, everybody), atol=1e-12)
    np.testing.assert_allclose(matrix[:, 4], standard(income, everybody), atol=1e-12)
    for place, level in ((5, 0), (6, 1)):
        expected = standard((brand == level).astype(float), asked)
        np.testing.assert_allclose(matrix[asked, place], expected[asked], atol=1e-12)
    assert (matrix[~asked, 5:7] == 0).all()
    np.testing.assert_allclose(matrix[:, 7], standard((~asked).astype(float), everybody))


@pytest.mark.parametrize("position", [0, 1, 3])
def test_certain_probabilities_are_the_same_as_levels(position, design):
    levels = np.arange(COLUMNS[position].n_levels, dtype=float)
    certain = np.eye(levels.size)
    np.testing.assert_array_equal(design.block(position, levels), design.block(position, certain))


@given(st.integers(0, 10_000))
def test_probabilities_give_the_expected_predictors(seed):
    design = Design.of(make_table(), make_table().values)
    shares = np.random.default_rng(seed).dirichlet(np.full(4, 0.5), size=3)
    by_level = design.block(0, np.arange(4.0))
    np.testing.assert_allclose(design.block(0, shares), shares @ by_level, atol=1e-9)


@pytest.mark.parametrize("position", range(4))
def test_what_is_not_known_is_the_mean(position, design):
    block = design.block(position, np.array([np.nan, 2.0]))
    width = design.weights[position].shape[1]
    assert (block[0, :width] == 0).all()
    assert (block[1, :width] != 0).any()


def test_what_stands_in_a_skipped_cell_is_not_read(design):
    skipped = np.array([True, False])
    said = design.block(3, np.array([1.0, 1.0]), skipped)
    assert (said[0, :-1] == 0).all()
    assert (said[1, :-1] != 0).all()
    assert said[0, -1] > 0 > said[1, -1]


def test_who_is_not_known_to_have_skipped_was_asked(design):
    indicator = design.block(3, np.array([0.0]))[0, -1]
    assert indicator == pytest.approx(-design.middle[-1] / design.spread[-1])


def test_a_row_has_the_predictors_it_had_in_the_fitted_table(table, design):
    whole = design.matrix(table.values, table.states.skipped)
    some = np.array([150, 3, 77])
    part = design.matrix(table.values[some], table.states.skipped[some])
    np.testing.assert_array_equal(part, whole[some])


def test_put_writes_one_question_into_some_rows(table, design):
    matrix = design.matrix(table.values, table.states.skipped)
    before = matrix.copy()
    rows = np.array([70, 90])
    new = (table.values[rows, 0] + 1) % 4
    design.put(matrix, rows, 0, new)
    changed = table.values.copy()
    changed[rows, 0] = new
    np.testing.assert_array_equal(matrix, design.matrix(changed, table.states.skipped))
    untouched = np.ones(matrix.shape, dtype=bool)
    untouched[np.ix_(rows, design.places(0))] = False
    np.testing.assert_array_equal(matrix[untouched], before[untouched])


@given(st.integers(0, 10_000), st.sampled_from([0, 1, 3]))
def test_variances_are_those_of_drawn_levels(seed, position):
    table = make_table()
    design = Design.of(table, table.values)
    n_levels = COLUMNS[position].n_levels
    shares = np.random.default_rng(seed).dirichlet(np.full(n_levels, 0.5), size=2)
    variances = np.zeros((5, design.column_of.size))
    design.put_variances(variances, np.array([1, 4]), position, shares)
    by_level = design.block(position, np.arange(float(n_levels)))
    expected = shares @ by_level**2 - (shares @ by_level) ** 2
    own = design.places(position)
    np.testing.assert_allclose(variances[np.ix_([1, 4], own)], expected, atol=1e-9)
    variances[np.ix_([1, 4], own)] = 0
    assert not variances.any()


def test_levels_that_nobody_chose_and_constants_stay_harmless():
    columns = (
        Column("constant", ColumnKind.NOMINAL, levels=(1, 2)),
        Column("two of four", ColumnKind.NOMINAL, levels=(1, 2, 3, 4)),
        Column("flat", ColumnKind.CONTINUOUS),
    )
    values = np.column_stack([np.zeros(20), np.tile([0.0, 3.0], 10), np.full(20, 7.0)])
    design = Design.of(CodedTable.from_values(columns, values), values)
    assert design.column_of.tolist() == [0, 1, 2]
    matrix = design.matrix(values, np.zeros(values.shape, dtype=bool))
    assert (matrix[:, [0, 2]] == 0).all()
    np.testing.assert_allclose(np.abs(matrix[:, 1]), 1.0)
    # Nothing was learned about other answers, so they tell nothing in another table either.
    elsewhere = design.matrix(np.array([[1.0, 0.0, 1e6]]), np.zeros((1, 3), dtype=bool))
    assert (elsewhere[:, [0, 2]] == 0).all()


def test_a_question_that_nobody_answered_has_a_predictor_that_says_nothing():
    columns = (
        Column("nobody", ColumnKind.NOMINAL, levels=(1, 2, 3)),
        Column("no number", ColumnKind.CONTINUOUS),
        Column("asked", ColumnKind.NOMINAL, levels=(1, 2)),
    )
    values = np.column_stack([np.full(20, np.nan), np.full(20, np.nan), np.arange(20) % 2])
    design = Design.of(CodedTable.from_values(columns, values), values)
    matrix = design.matrix(values, np.zeros(values.shape, dtype=bool))
    assert (matrix[:, :2] == 0).all()
    assert (design.spread > 0).all()
    np.testing.assert_allclose(np.abs(matrix[:, 2]), 1.0)


def test_rare_levels_share_the_indicators_place():
    """Of many levels the fifteen most frequent but one are told apart."""
    columns = (Column("many", ColumnKind.NOMINAL, levels=tuple(range(30))),)
    values = np.repeat(np.arange(30.0), np.arange(30, 0, -1))[:, None]
    design = Design.of(CodedTable.from_values(columns, values), values)
    assert design.column_of.size == 15
    shown = design.block(0, np.arange(30.0))
    assert np.unique(shown, axis=0).shape[0] == 16
    # The most frequent level and all rare ones look alike.
    np.testing.assert_array_equal(shown[16:], np.tile(shown[0], (14, 1)))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_question_of_one_level_keeps_a_predictor_that_says_nothing(place):
    columns = [Column("a", ColumnKind.CONTINUOUS), Column("b", ColumnKind.CONTINUOUS)]
    columns.insert(place, Column("one", ColumnKind.NOMINAL, (7,)))
    values = np.random.default_rng(0).normal(size=(50, 3))
    values[:, place] = 0.0
    design = Design.of(CodedTable.from_values(tuple(columns), values), values)
    assert design.column_of.tolist() == [0, 1, 2]
    assert (design.matrix(values, np.zeros(values.shape, dtype=bool))[:, place] == 0).all()


@pytest.mark.parametrize("unit", [1e-30, 1e-9, 1.0, 1e12])
def test_numbers_are_standardised_in_whatever_unit_they_are_given(unit):
    values = np.random.default_rng(0).normal(3, 2, size=(200, 1))
    table = CodedTable.from_values((Column("a", ColumnKind.CONTINUOUS),), values * unit)
    predictors = Design.of(table, table.values).block(0, table.values[:, 0])[:, 0]
    standard = (values[:, 0] - values.mean()) / values.std()
    np.testing.assert_allclose(predictors, standard, rtol=1e-9, atol=1e-9)


def test_numbers_that_differ_by_rounding_alone_say_nothing():
    values = np.full((200, 1), 1e6)
    values[0] = np.nextafter(1e6, 2e6)
    table = CodedTable.from_values((Column("a", ColumnKind.CONTINUOUS),), values)
    assert (Design.of(table, values).block(0, values[:, 0]) == 0).all()
