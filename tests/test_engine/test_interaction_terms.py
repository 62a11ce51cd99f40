"""Products of predictors: what they are, and score tests that find the needed ones."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.proportional_odds import ProportionalOdds, score_of
from tabsoda.engine.regressions.score_tests import (
    fit_scores,
    product_statistics,
    score_statistics,
)
from tabsoda.engine.regressions.screen import Screen
from tabsoda.engine.regressions.terms import MOST_DEVIATIONS, Terms, group_products, multiply
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

NUMBER = Column("y", ColumnKind.CONTINUOUS)
BINARY = Column("y", ColumnKind.NOMINAL, (0, 1))
ORDINAL = Column("y", ColumnKind.ORDINAL, tuple(range(4)))


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_products_are_bounded_and_of_two_or_three_columns():
    matrix = np.array([[2.0, 3.0, -0.5], [10.0, 1.0, 2.0]])
    products = np.array([[0, 1, -1], [0, 0, -1], [0, 1, 2]])
    bound = MOST_DEVIATIONS
    expected = [[6.0, 4.0, -3.0], [bound, bound**2, 2 * bound]]
    assert multiply(matrix, products).tolist() == expected
    terms = Terms(np.array([0, 2]), products)
    # The bound is on products alone.
    assert terms.of(matrix)[:, :2].tolist() == [[2.0, -0.5], [10.0, 2.0]]
    assert terms.of(matrix).shape == (2, terms.size)
    rows = np.array([1, 0, 1])
    np.testing.assert_array_equal(terms.of(matrix, rows), terms.of(matrix)[rows])


def test_products_of_a_group_are_all_products_and_those_of_each_two():
    blocks = {1: np.array([4, 5]), 2: np.array([6]), 3: np.array([7])}
    assert group_products(blocks, (1, 2)).tolist() == [[4, 6, -1], [5, 6, -1]]
    # A curve is a square and a cube.
    assert group_products(blocks, (2, 2)).tolist() == [[6, 6, -1], [6, 6, 6]]
    of_three = group_products(blocks, (1, 2, 3)).tolist()
    assert of_three == [
        [4, 6, -1], [4, 6, 7], [4, 7, -1], [5, 6, -1], [5, 6, 7], [5, 7, -1], [6, 7, -1]
    ]  # fmt: skip


def test_a_product_with_a_skipped_question_is_left_out_of_the_sum():
    columns = (Column("a", ColumnKind.CONTINUOUS), Column("b", ColumnKind.CONTINUOUS))
    values = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0], [8.0, 1.0]])
    skipped = np.array([[False, False], [False, True], [False, False], [False, False]])
    table = CodedTable.from_values(columns, values, skipped)
    design = Design.of(table, values)
    matrix = design.matrix(values, skipped)
    [a], [b, b_skipped] = design.places(0), design.places(1)
    product = multiply(matrix, np.array([[a, b, -1]]))[:, 0]
    assert product[1] == 0
    assert (product[[0, 2, 3]] != 0).all()
    # Its level is that of the indicator of the skip.
    assert matrix[1, b_skipped] > 0 > matrix[0, b_skipped]


def test_the_score_of_ordered_levels_is_the_derivative_of_the_log_likelihood(rng):
    model = ProportionalOdds(np.array([-1.0, 0.2, 1.5]), np.array([0.7, -0.4]))
    predictors, levels = rng.normal(size=(50, 2)), rng.integers(0, 4, 50)

    def log_likelihood(shift):
        moved = ProportionalOdds(model.cutpoints - shift, model.slopes)
        return np.log(moved.probabilities(predictors)[np.arange(50), levels])

    step = 1e-4
    first, second = score_of(model, predictors, levels)
    up, down, middle = log_likelihood(step), log_likelihood(-step), log_likelihood(0.0)
    np.testing.assert_allclose(first, (up - down) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(second, -(up - 2 * middle + down) / step**2, atol=1e-5)


@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0])
def test_statistics_of_numbers_are_those_of_a_robust_wald_test(effect, rng):
    x, z = rng.normal(size=(2, 800))
    # Errors that spread with x: the robust variance is the larger one.
    y = x + effect * x * z + (0.3 + np.abs(x * z)) * rng.normal(size=800)
    predictors, term = np.column_stack([x, z]), (x * z)[:, None]
    found = score_statistics(fit_scores(NUMBER, predictors, y), predictors, term)[0, 0]
    fit = sm.OLS(y, sm.add_constant(np.column_stack([predictors, term]))).fit(cov_type="HC0")
    assert found == pytest.approx(fit.tvalues[3] ** 2, rel=0.02)


def test_statistics_of_two_levels_are_near_those_of_logistic_regression(rng):
    x, z = rng.normal(size=(2, 3000))
    y = (rng.random(3000) < expit(0.5 * x + 0.4 * x * z)).astype(float)
    predictors, term = np.column_stack([x, z]), (x * z)[:, None]
    found = score_statistics(fit_scores(BINARY, predictors, y), predictors, term)[0, 0]
    fit = sm.Logit(y, sm.add_constant(np.column_stack([predictors, term]))).fit(disp=0)
    assert found == pytest.approx(fit.tvalues[3] ** 2, rel=0.15)


def test_a_term_is_tested_by_the_rows_in_which_it_is_known(rng):
    x, z = rng.normal(size=(2, 900))
    y = x + 0.2 * x * z + rng.normal(size=900)
    known = rng.random((900, 2)) < 0.6
    predictors = np.column_stack([x, z])
    terms = np.column_stack([x * z, x**2])
    found = score_statistics(fit_scores(NUMBER, predictors, y), predictors, terms, known)
    # What a term is in the other rows does not matter.
    other = np.where(known, terms, 1e3)
    again = score_statistics(fit_scores(NUMBER, predictors, y), predictors, other, known)
    np.testing.assert_array_equal(found, again)
    for place, rows in enumerate(known.T):
        design = sm.add_constant(np.column_stack([predictors, terms[:, place]])[rows])
        fit = sm.OLS(y[rows], design).fit(cov_type="HC0")
        assert found[place, 0] == pytest.approx(fit.tvalues[3] ** 2, rel=0.1, abs=0.1)


def test_a_term_that_is_already_there_is_not_tested(rng):
    x, z = rng.normal(size=(2, 900))
    predictors = np.column_stack([x, z, x * z])
    scores = fit_scores(NUMBER, predictors, x * z + rng.normal(size=900))
    known = rng.random((900, 1)) < 0.5
    assert score_statistics(scores, predictors, (x * z)[:, None], known)[0, 0] == 0


def test_products_drawn_without_an_interaction_do_not_hide_it(rng):
    """A third of x is drawn from a regression that knows nothing of the product."""
    matrix = rng.normal(size=(900, 4))
    answers = 0.25 * matrix[:, 0] * matrix[:, 1] + rng.normal(size=900)
    known = np.ones(matrix.shape, dtype=bool)
    known[:450, 0] = False
    matrix[:450, 0] = rng.normal(size=450)
    blocks = {q: np.array([q]) for q in range(4)}
    screen = Screen(NUMBER, answers, matrix, known, blocks, set(), set(blocks))
    assert [one.questions for one in screen.find(matrix)] == [(0, 1)]


def test_only_products_with_a_required_question_are_looked_for(rng):
    matrix = rng.normal(size=(1500, 4))
    answers = matrix[:, 0] * matrix[:, 1] + matrix[:, 2] * matrix[:, 3] + rng.normal(size=1500)
    blocks = {q: np.array([q]) for q in range(4)}
    known = np.ones(matrix.shape, dtype=bool)
    for required, expected in ((frozenset({3}), [(2, 3)]), (frozenset(), [])):
        screen = Screen(NUMBER, answers, matrix, known, blocks, set(), set(blocks), required)
        assert [one.questions for one in screen.find(matrix)] == expected


def test_a_product_of_few_respondents_is_not_tested(rng):
    y, rare = rng.normal(size=1000), np.zeros((1000, 1))
    rare[:8] = 1.0
    y[:8] += 50
    scores = fit_scores(NUMBER, np.zeros((1000, 0)), y)
    assert score_statistics(scores, np.zeros((1000, 0)), rare)[0, 0] == 0


def test_the_quick_statistics_rank_like_the_exact_ones(rng):
    matrix = rng.normal(size=(2000, 6))
    y = matrix[:, 0] * matrix[:, 1] + rng.normal(size=2000)
    quick = product_statistics(fit_scores(NUMBER, matrix, y), matrix, matrix)
    assert np.unravel_index(quick.argmax(), quick.shape) in {(0, 1), (1, 0)}
    np.testing.assert_allclose(quick, quick.T)


def screen_of(column, answers, matrix, curved=()):
    blocks = {q: np.array([q]) for q in range(matrix.shape[1])}
    known = np.ones(matrix.shape, dtype=bool)
    return Screen(column, answers, matrix, known, blocks, set(curved), set(blocks))


@pytest.mark.parametrize("column", [NUMBER, BINARY, ORDINAL], ids=["number", "binary", "ordinal"])
def test_a_planted_product_is_found_and_nothing_else(column, rng):
    matrix = rng.normal(size=(3000, 6))
    linear = 0.4 * matrix[:, 0] + 0.7 * matrix[:, 1] * matrix[:, 2]
    answers = linear + rng.logistic(size=3000)
    if column is BINARY:
        answers = (answers > 0).astype(float)
    if column is ORDINAL:
        answers = np.digitize(answers, [-1.5, 0, 1.5]).astype(float)
    found = screen_of(column, answers, matrix, range(6)).find(matrix)
    assert [one.questions for one in found] == [(1, 2)]
    assert found[0].products.tolist() == [[1, 2, -1]]


def test_curves_and_products_of_three_are_found(rng):
    matrix = rng.normal(size=(4000, 5))
    a, b, c, d, _ = matrix.T
    answers = 0.5 * d**2 + 0.5 * a * b + 0.5 * a * b * c + rng.normal(size=4000)
    found = screen_of(NUMBER, answers, matrix, range(5)).find(matrix)
    assert {one.questions for one in found} == {(0, 1), (3, 3), (0, 1, 2)}
    [three] = [one for one in found if len(one.questions) == 3]
    assert {tuple(one) for one in three.products.tolist()} == {
        (0, 1, 2), (0, 1, -1), (0, 2, -1), (1, 2, -1)
    }  # fmt: skip


def test_false_discoveries_are_rare(rng):
    wrong = 0
    for _ in range(60):
        matrix = rng.normal(size=(400, 8)) @ rng.normal(size=(8, 8)) / 3
        answers = matrix @ rng.normal(size=8) + 2 * rng.normal(size=400)
        wrong += bool(screen_of(NUMBER, answers, matrix, range(8)).find(matrix))
    # 2 % are expected; more than five of sixty would be a rare accident.
    assert wrong <= 5


def test_all_indicators_of_a_found_question_enter(rng):
    group = rng.integers(0, 3, 2000)
    matrix = np.column_stack([group == 1, group == 2, rng.normal(size=2000)]).astype(float)
    answers = 1.2 * (group == 2) * matrix[:, 2] + rng.normal(size=2000)
    blocks = {0: np.array([0, 1]), 1: np.array([2])}
    known = np.ones(matrix.shape, dtype=bool)
    screen = Screen(NUMBER, answers, matrix, known, blocks, {1}, {0, 1})
    [found] = screen.find(matrix)
    assert found.products.tolist() == [[0, 2, -1], [1, 2, -1]]
