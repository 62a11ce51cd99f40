"""Sets of regressions: slopes stay, rows stay apart, what is barred stays out, states are safe."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.engine.regressions.question_regression import LevelRegression, NumberRegression
from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

PLAIN = {"n_sets": 2, "rounds": 1, "max_questions": 24, "seed": 1}


def fitted(table, filled, barred=None, **changes):
    n_columns = table.shape[1]
    barred = np.zeros((n_columns, n_columns), dtype=bool) if barred is None else barred
    return ChainedRegressions.fit(
        table, filled, list(range(n_columns)), barred, **{**PLAIN, **changes}
    )


def filled_at_random(table, seed=0):
    """Return the answers, with blanks filled from the same column's answers."""
    rng, filled = np.random.default_rng(seed), table.values.copy()
    for position in range(filled.shape[1]):
        blank, answered = table.states.missing[:, position], table.states.answered[:, position]
        filled[blank, position] = rng.choice(table.values[answered, position], blank.sum())
    return filled


def places_of(regressions):
    return {position: terms.places for position, terms in regressions.terms.items()}


def uniforms_of(n_sweeps, shape, seed=0):
    return list(np.random.default_rng(seed).random((n_sweeps, *shape)))


@pytest.fixture(scope="module")
def table(mixed_table):
    return mixed_table(250)


@pytest.fixture(scope="module")
def regressions(table):
    return fitted(table, filled_at_random(table))


def redrawn(regressions, table, number=1, rows=None, n_sweeps=3):
    rows = np.arange(table.shape[0]) if rows is None else rows
    return regressions.redraw(
        filled_at_random(table)[rows],
        table.states.missing[rows],
        table.states.skipped[rows],
        number,
        [one[rows] for one in uniforms_of(n_sweeps, table.shape)],
    )


def test_slopes_of_a_normal_survive_where_filling_in_bends_them():
    """Of three correlated numbers a third is missing at random; the slopes are known."""
    covariance = np.array([[1.0, 0.7, 0.5], [0.7, 1.0, 0.6], [0.5, 0.6, 1.0]])
    truth = np.linalg.solve(covariance[:2, :2], covariance[:2, 2])
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "abc")
    by_mean, by_draws = [], []
    for sample in range(20):
        rng = np.random.default_rng(sample)
        complete = rng.multivariate_normal(np.zeros(3), covariance, size=500)
        values = np.where(rng.random(complete.shape) < 0.33, np.nan, complete)
        table = CodedTable.from_values(columns, values)
        blank = table.states.missing
        filled = np.where(blank, np.nanmean(values, axis=0), values)
        by_mean.append(slopes_of(filled))
        found = fitted(table, filled, n_sets=4, rounds=3)
        no_skips = np.zeros(blank.shape, dtype=bool)
        draws = [
            found.redraw(filled, blank, no_skips, m, uniforms_of(5, blank.shape, 9 * m))
            for m in range(1, 5)
        ]
        by_draws.append(np.mean([slopes_of(one) for one in draws], axis=0))
    error = np.std(by_draws, axis=0, ddof=1) / np.sqrt(20)
    bias = np.mean(by_draws, axis=0) - truth
    assert (np.abs(bias) < 3 * error).all(), (bias, error)
    assert (error < 0.03).all()
    # The mean halves what goes together, so the test can tell.
    assert np.mean(by_mean, axis=0)[1] < truth[1] - 0.1


def slopes_of(values):
    centered = values - values.mean(axis=0)
    return np.linalg.lstsq(centered[:, :2], centered[:, 2], rcond=None)[0]


def test_sets_differ_by_what_could_have_been_learned():
    """The slope's spread over sets is its standard error; a fifth missing adds little to it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    values = np.column_stack([x, 0.5 * x + rng.normal(size=400)])
    values[::5, 1] = np.nan
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "xy")
    table = CodedTable.from_values(columns, values)
    found = fitted(table, filled_at_random(table), n_sets=200)
    slopes = np.array([models[1].slopes[0] for models in found.sets]) / x.std()
    answered = table.states.answered[:, 1]
    expected = np.polyfit(x[answered], values[answered, 1], 1)
    residual = values[answered, 1] - np.polyval(expected, x[answered])
    error = residual.std(ddof=2) / (x[answered].std() * np.sqrt(answered.sum()))
    assert slopes.std() == pytest.approx(error, rel=0.2)
    assert slopes.mean() == pytest.approx(expected[0], abs=4 * error / np.sqrt(200) + 0.002)


def test_only_missing_cells_are_drawn_and_draws_are_answers(table, regressions):
    found = redrawn(regressions, table)
    known = table.states.answered
    assert np.array_equal(found[known], table.values[known])
    for position, column in enumerate(table.columns):
        blank = table.states.missing[:, position]
        given_answers = table.values[known[:, position], position]
        assert np.isin(found[blank, position], given_answers).all(), column.name
    assert np.isnan(found[table.states.skipped]).all()


@settings(max_examples=30)
@given(st.lists(st.integers(0, 249), min_size=1, max_size=40, unique=True), st.integers(1, 3))
def test_a_row_is_drawn_from_itself_alone(table, regressions, rows, number):
    whole = redrawn(regressions, table, number)
    part = redrawn(regressions, table, number, np.array(rows))
    assert np.array_equal(part, whole[rows], equal_nan=True)


def test_sets_take_turns(table, regressions):
    first, second, third = (redrawn(regressions, table, number) for number in (1, 2, 3))
    assert np.array_equal(first, third, equal_nan=True)
    assert not np.array_equal(first, second, equal_nan=True)


def test_weights_decide_whom_regressions_follow():
    """Two halves that contradict each other, one of which weighs next to nothing."""
    rng = np.random.default_rng(0)
    half = np.arange(600) < 300
    x = rng.integers(0, 2, 600).astype(float)
    y = np.where(half, x, 1 - x)
    number = np.where(half, 10 * x, -10 * x) + rng.normal(size=600)
    columns = (
        Column("x", ColumnKind.NOMINAL, (1, 2)),
        Column("y", ColumnKind.NOMINAL, (1, 2)),
        Column("number", ColumnKind.CONTINUOUS),
    )
    values = np.column_stack([x, y, number])
    table = CodedTable.from_values(columns, values)
    alone = np.array([[False, False, False], [False, False, True], [False, True, False]])
    for weights, sign in ((np.where(half, 1.0, 1e-6), 1), (np.where(half, 1e-6, 1.0), -1)):
        found = fitted(table, values, alone, row_weights=weights)
        matrix = found.design.matrix(
            np.array([[0.0, 0, 0], [1.0, 0, 0]]), np.zeros((2, 3), dtype=bool)
        )
        assert np.sign(np.diff(found.expect(matrix, 2)))[0] == sign
        assert np.sign(np.diff(found.expect(matrix, 1)[:, 1]))[0] == sign


def test_expected_answers_are_the_mean_of_the_sets(table, regressions):
    matrix = regressions.design.matrix(filled_at_random(table), table.states.skipped)[:7]
    for position in (1, 2, 3):
        asked = regressions.terms[position].of(matrix)
        one, other = (models[position].expect(asked) for models in regressions.sets)
        np.testing.assert_allclose(regressions.expect(matrix, position), (one + other) / 2)
        assert not np.array_equal(one, other)


def test_what_is_barred_is_never_a_predictor(table):
    barred = np.random.default_rng(0).random((8, 8)) < 0.4
    found = fitted(table, filled_at_random(table), barred)
    for position, places in places_of(found).items():
        used = set(found.design.column_of[places].tolist())
        allowed = set(np.flatnonzero(~barred[position]).tolist()) - {position}
        assert used == allowed


def test_where_all_is_barred_a_question_is_drawn_by_its_shares(table):
    found = fitted(table, filled_at_random(table), np.ones((8, 8), dtype=bool))
    matrix = found.design.matrix(filled_at_random(table), table.states.skipped)
    for position in (0, 2, 6):
        answered = table.values[table.states.answered[:, position], position].astype(int)
        shares = np.bincount(answered) / answered.size
        said = found.expect(matrix, position)
        assert (said == said[0]).all()
        np.testing.assert_allclose(said[0], shares, atol=0.1)


@pytest.mark.parametrize("most", [1, 3])
def test_at_most_so_many_questions_are_used_and_the_nearest_first(table, most):
    found = fitted(table, filled_at_random(table), max_questions=most)
    used = {p: np.unique(found.design.column_of[places]) for p, places in places_of(found).items()}
    assert {questions.size for questions in used.values()} == {most}
    # Age, likes, income and what is agreed to come from the same taste; region does not.
    assert set(used[3].tolist()) <= {1, 5, 6}


def test_questions_with_few_answers_are_left_out(table):
    values = table.values.copy()
    values[19:, 1] = np.nan
    few = CodedTable.from_values(table.columns, values, table.states.skipped)
    n_answers = few.states.answered[:, 1].sum()
    assert n_answers < 20
    found = fitted(few, filled_at_random(few))
    assert 1 not in found.terms
    drawn = redrawn(found, few)
    assert np.array_equal(drawn[:, 1], filled_at_random(few)[:, 1])


def test_progress_is_told_by_sets(table):
    told = []
    fitted(table, filled_at_random(table), progress=lambda *one: told.append(one))
    assert told == [(1, 2), (2, 2)]


def test_the_same_seed_gives_the_same_and_another_does_not(table, regressions):
    same = fitted(table, filled_at_random(table))
    other = fitted(table, filled_at_random(table), seed=2)
    assert np.array_equal(redrawn(regressions, table), redrawn(same, table), equal_nan=True)
    assert not np.array_equal(redrawn(regressions, table), redrawn(other, table), equal_nan=True)


def saved(regressions):
    arrays, content = regressions.to_state()
    return {name: array.copy() for name, array in arrays.items()}, json.loads(json.dumps(content))


def test_what_was_saved_draws_bit_for_bit_the_same(table, regressions):
    loaded = ChainedRegressions.from_state(*saved(regressions))
    for number in (1, 2):
        one, other = redrawn(regressions, table, number), redrawn(loaded, table, number)
        assert np.array_equal(one, other, equal_nan=True)
    matrix = regressions.design.matrix(filled_at_random(table), table.states.skipped)
    for position in regressions.terms:
        assert np.array_equal(regressions.expect(matrix, position), loaded.expect(matrix, position))
    kinds = {type(model) for model in loaded.sets[0].values()}
    assert kinds == {NumberRegression, LevelRegression}


def test_every_array_that_is_missing_or_too_short_is_noticed(regressions):
    arrays, content = saved(regressions)
    for name in arrays:
        with pytest.raises(InputError, match="damaged"):
            ChainedRegressions.from_state({k: v for k, v in arrays.items() if k != name}, content)
        if not arrays[name].size:
            continue
        with pytest.raises(InputError, match="damaged"):
            ChainedRegressions.from_state({**arrays, name: arrays[name][:-1]}, content)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("format", 1),
        ("format", None),
        ("n_questions", 7),
        ("n_questions", "many"),
        ("orders", [[99]]),
        ("orders", [["a"]]),
        ("orders", []),
        ("orders", 5),
        ("orders", [[0, 1], [0]]),
        ("n_levels", {}),
        ("n_levels", None),
        ("n_levels", {"0": 1}),
        ("responses", None),
        ("responses", [[0, [99]]]),
        ("relations", [{"response": 0}]),
    ],
)
def test_damaged_descriptions_are_noticed(regressions, part, value):
    arrays, content = saved(regressions)
    with pytest.raises(InputError):
        ChainedRegressions.from_state(arrays, {**content, part: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("predictors.0", 10_000), ("predictors.0", -1), ("spread", 0.0), ("spread", np.nan)],
)
def test_values_that_cannot_be_are_noticed(regressions, name, value):
    arrays, content = saved(regressions)
    arrays[name][0] = value
    with pytest.raises(InputError, match="damaged"):
        ChainedRegressions.from_state(arrays, content)


def test_a_level_that_is_not_there_is_noticed(regressions):
    arrays, content = saved(regressions)
    for level in (-1, 2):
        arrays["0.0.occurring"][-1] = level
        with pytest.raises(InputError, match="question 1"):
            ChainedRegressions.from_state(arrays, content)
