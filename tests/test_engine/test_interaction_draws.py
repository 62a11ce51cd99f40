"""Draws keep interactions and curves, whichever of their questions is missing."""

import numpy as np
import pytest
from scipy.stats import norm

from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.engine.regressions.compatible_draws import draw_question, linear_predictors
from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.question_regression import LevelRegression, NumberRegression
from tabsoda.engine.regressions.relations import Factors, Relation, directed
from tabsoda.engine.regressions.terms import Terms
from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


def number(name):
    return Column(name, ColumnKind.CONTINUOUS)


def levels(name, n, kind=ColumnKind.NOMINAL):
    return Column(name, kind, tuple(range(n)))


ALL = frozenset(range(5))


def relation(response, sources, statistic):
    return Relation(response, sources, (), statistic)


def test_the_later_question_responds_unless_an_earlier_one_is_much_clearer():
    alike = [relation(0, (1, 2), 60.0), relation(1, (0, 2), 50.0), relation(2, (0, 1), 40.0)]
    assert [one.response for one in directed(alike, ALL)] == [2]
    clear = [relation(0, (1, 2), 300.0), relation(2, (0, 1), 40.0)]
    assert [one.response for one in directed(clear, ALL)] == [0]


def test_relations_of_incomplete_responses_come_first():
    """The spread of y differs by g if x:g affects y, so that g seems to depend on y squared."""
    shadow, product = relation(0, (2, 2), 90.0), relation(2, (0, 1), 30.0)
    assert directed([shadow, product], frozenset({2})) == [product]
    assert directed([shadow, product], ALL) == [shadow]


def test_no_two_questions_are_drawn_by_each_other():
    found = [relation(3, (1, 2), 90.0), relation(1, (3, 4), 50.0), relation(4, (1, 3), 12.0)]
    kept = directed(found, ALL)
    assert [one.questions for one in kept] == [(3, (1, 2)), (4, (1, 3))]


def test_a_shadow_of_a_stronger_relation_must_be_found_again():
    factors = Factors(incomplete=frozenset({0}))
    curve, shadow = relation(2, (0, 0), 500.0), relation(1, (0, 0), 30.0)
    assert factors.update([curve, shadow])
    assert factors.accepted == [curve]
    assert factors.drawn_by == {0: {2}, 1: {2}}
    # Gone once question 1 is drawn by question 2: it was a shadow.
    assert not Factors(accepted=[curve], drawn_by={0: {2}, 1: {2}}).update([curve])
    # Still there: it is a relation of its own.
    assert factors.update([curve, shadow])
    assert factors.accepted == [curve, shadow]


def test_complete_sources_are_not_drawn_by_anything():
    factors = Factors()
    assert factors.update([relation(2, (0, 1), 50.0), relation(3, (0, 0), 40.0)])
    assert len(factors.accepted) == 2
    assert not factors.drawn_by


def two_questions(kind):
    columns = (number("x") if kind == "number" else levels("x", 2), number("y"))
    values = np.array([[0.0, 0.0], [1.0, 1.0]])
    table = CodedTable.from_values(columns, values)
    design = Design.with_weights(
        Design.of(table, values).weights, np.zeros(2, dtype=bool), values, np.zeros((2, 2), bool)
    )
    # Predictors as they are: mean 0, spread 1.
    return Design(design.weights, design.has_skips, design.column_of, np.zeros(2), np.ones(2))


def test_a_binary_predictor_is_drawn_by_bayes_rule():
    design = two_questions("binary")
    # y is 2 x plus a standard normal error; x is 1 with probability .3 a priori.
    errors = norm.ppf((np.arange(1000) + 0.5) / 1000)
    response = NumberRegression(np.array([2.0, 0.0]), np.zeros(1000), errors)
    own = LevelRegression(np.array([0, 1]), np.zeros((0, 2)), np.log([0.7, 0.3]), 2)
    terms = {0: Terms.plain(np.array([], dtype=np.int64)), 1: Terms.plain(np.array([0]))}
    n = 20_000
    for y in (-0.5, 1.0, 2.5):
        filled = np.column_stack([np.zeros(n), np.full(n, y)])
        uniforms = (np.arange(n) + 0.5) / n
        drawn = draw_question(
            0, {0: own, 1: response}, design, terms, {0: (1,)}, filled.copy(), filled,
            np.zeros((n, 2), dtype=bool), np.arange(n), uniforms,
        )  # fmt: skip
        against, for_one = 0.7 * norm.pdf(y), 0.3 * norm.pdf(y - 2)
        assert drawn.mean() == pytest.approx(for_one / (against + for_one), abs=0.01)


def test_a_skipped_response_says_nothing():
    design = two_questions("binary")
    response = NumberRegression(np.array([50.0, 0.0]), np.zeros(10), np.linspace(-1, 1, 10))
    own = LevelRegression(np.array([0, 1]), np.zeros((0, 2)), np.log([0.7, 0.3]), 2)
    terms = {0: Terms.plain(np.array([], dtype=np.int64)), 1: Terms.plain(np.array([0]))}
    n = 1000
    filled = np.column_stack([np.zeros(n), np.full(n, np.nan)])
    skipped = np.column_stack([np.zeros(n, dtype=bool), np.ones(n, dtype=bool)])
    drawn = draw_question(
        0, {0: own, 1: response}, design, terms, {0: (1,)}, np.zeros((n, 2)), filled, skipped,
        np.arange(n), (np.arange(n) + 0.5) / n,
    )  # fmt: skip
    assert drawn.mean() == pytest.approx(0.3, abs=0.01)


def test_a_number_behind_a_curve_is_drawn_from_both_branches():
    """y = x^2 + e leaves x and -x equally probable; a regression of x on y could not say so."""
    design = two_questions("number")
    quantiles = norm.ppf((np.arange(2000) + 0.5) / 2000)
    own = NumberRegression(np.array([0.0]), np.zeros(2000), quantiles)
    response = NumberRegression(np.array([0.0, 1.0, 0.0]), np.zeros(2000), 0.3 * quantiles)
    terms = {
        0: Terms.plain(np.array([], dtype=np.int64)),
        1: Terms(np.array([0]), np.array([[0, 0, -1]])),
    }
    n, rng = 4000, np.random.default_rng(0)
    filled = np.column_stack([rng.choice(quantiles, n), np.full(n, 2.0)])
    matrix = filled.copy()
    for _ in range(30):
        filled[:, 0] = draw_question(
            0, {0: own, 1: response}, design, terms, {0: (1,)}, matrix, filled,
            np.zeros((n, 2), dtype=bool), np.arange(n), rng.random(n),
        )  # fmt: skip
        matrix[:, 0] = filled[:, 0]
    grid = np.linspace(-4, 4, 4001)
    density = norm.pdf(grid) * norm.pdf(2.0 - grid**2, scale=0.3)
    density /= density.sum()
    assert filled[:, 0].mean() == pytest.approx(0.0, abs=0.12)
    assert (filled[:, 0] ** 2).mean() == pytest.approx(density @ grid**2, abs=0.06)


def test_a_factor_of_a_product_is_drawn_from_its_closed_form():
    """With x standard normal and y = 1.5 x z + e, x given y and z is normal."""
    columns = (number("x"), number("z"), number("y"))
    values = np.zeros((2, 3))
    design = Design.of(CodedTable.from_values(columns, values), values)
    design = Design(design.weights, design.has_skips, design.column_of, np.zeros(3), np.ones(3))
    quantiles = norm.ppf((np.arange(2000) + 0.5) / 2000)
    own = NumberRegression(np.array([0.0]), np.zeros(2000), quantiles)
    response = NumberRegression(np.array([0.0, 0.0, 1.5, 0.0]), np.zeros(2000), quantiles)
    terms = {
        0: Terms.plain(np.array([], dtype=np.int64)),
        2: Terms(np.array([0, 1]), np.array([[0, 1, -1]])),
    }
    n, rng = 4000, np.random.default_rng(2)
    for z, y in ((1.0, 1.2), (-0.6, 1.0), (0.0, 3.0)):
        matrix = np.column_stack([rng.choice(quantiles, n), np.full(n, z), np.full(n, y)])
        for _ in range(15):
            matrix[:, 0] = draw_question(
                0, {0: own, 2: response}, design, terms, {0: (2,)}, matrix, matrix,
                np.zeros((n, 3), dtype=bool), np.arange(n), rng.random(n),
            )  # fmt: skip
        precision = 1 + (1.5 * z) ** 2
        assert matrix[:, 0].mean() == pytest.approx(1.5 * z * y / precision, abs=0.05)
        assert matrix[:, 0].std() == pytest.approx(1 / np.sqrt(precision), abs=0.05)


def test_the_likelihood_of_a_response_is_that_of_its_probabilities():
    """Of all levels, also one that nobody gave; and whatever part of the terms is recomputed."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(30, 4))
    terms = Terms(np.array([0, 1, 3]), np.array([[0, 1, -1], [1, 1, 1], [1, 3, -1]]))
    asked, levels = terms.of(matrix), rng.integers(0, 4, 30)
    ordered = LevelRegression(
        np.array([0, 2, 3]), rng.normal(size=(6, 1)), np.array([-0.5, 0.7]), 4
    )
    nominal = LevelRegression(np.array([0, 2, 3]), rng.normal(size=(6, 3)), rng.normal(size=3), 4)
    for model in (ordered, nominal):
        expected = np.log(np.maximum(model.expect(asked)[np.arange(30), levels], 1e-12))
        linear = linear_predictors(
            model, terms, matrix, np.arange(30), np.array([1]), matrix[:, [1]]
        )
        np.testing.assert_allclose(model.log_likelihood(linear, levels.astype(float)), expected)


def test_the_plateau_of_a_curve_is_not_bent_down():
    """Schooling ends in youth; most who leave out the question are beyond."""
    rng = np.random.default_rng(11)
    n = 2000
    age, other = rng.uniform(15, 45, n), rng.normal(size=n)
    years = np.minimum(age, 24) - 12 + 1.5 * rng.normal(size=n)
    values = np.column_stack([age, other, years])
    hidden = np.zeros(values.shape, dtype=bool)
    hidden[:, 2] = rng.random(n) < 0.8 * (age - 15) / 30
    columns = (number("age"), number("other"), number("years"))
    chained, drawn = completed(columns, values, hidden, rng, draws=3, interactions=True)
    assert (2, (0, 0)) in {one.questions for one in chained.relations}
    eldest = age > 40
    found = np.mean([one[eldest, 2].mean() for one in drawn])
    assert found == pytest.approx(years[eldest].mean(), abs=0.4)


def test_a_product_of_three_is_kept_although_its_groups_differ_in_spread():
    rng = np.random.default_rng(12)
    n = 1500
    g, s, x = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=n)
    y = 0.3 * x + 0.5 * x * g + 0.5 * x * s + 0.8 * x * g * s + rng.normal(size=n)
    values = np.column_stack([g, s, x, y]).astype(float)
    hidden = np.zeros(values.shape, dtype=bool)
    hidden[:, 3] = rng.random(n) < 0.3
    columns = (levels("g", 2), levels("s", 2), number("x"), number("y"))
    chained, _ = completed(columns, values, hidden, rng, draws=1, interactions=True)
    assert (3, (0, 1, 2)) in {one.questions for one in chained.relations}
    # Without missing cells, a question is regressed on products only where it draws another.
    assert {one.response for one in chained.relations} == {3}


def curved(n, rng):
    g = rng.integers(0, 2, n)
    u = rng.normal(size=n)
    x = 0.4 * u + 0.9 * rng.normal(size=n)
    y = 0.3 * x + 0.3 * g + 0.6 * x * g + 0.4 * u + rng.normal(size=n)
    z = 0.5 * x**2 + rng.normal(size=n)
    columns = (levels("g", 2), number("u"), number("x"), number("y"), number("z"))
    return columns, np.column_stack([g, u, x, y, z]).astype(float)


def slopes(values):
    g, u, x, y, z = values.T
    ones = np.ones(len(x))
    of_y = np.linalg.lstsq(np.column_stack([ones, x, g, x * g, u]), y, rcond=None)[0]
    of_z = np.linalg.lstsq(np.column_stack([ones, x, x**2]), z, rcond=None)[0]
    return {"x:g": of_y[3], "x": of_y[1], "u": of_y[4], "x^2": of_z[2]}


def completed(columns, values, hidden, rng, draws=5, **options):
    seen = np.where(hidden, np.nan, values)
    table = CodedTable.from_values(columns, seen)
    filled = seen.copy()
    for column in range(values.shape[1]):
        own = np.isnan(filled[:, column])
        filled[own, column] = rng.choice(filled[~own, column], own.sum())
    d = len(columns)
    chained = ChainedRegressions.fit(
        table, filled, list(range(d)), np.zeros((d, d), dtype=bool), n_sets=draws, rounds=2,
        max_questions=10, seed=1, first_rounds=3, row_share=0.6, **options,
    )  # fmt: skip
    skipped = np.zeros(hidden.shape, dtype=bool)
    drawn = [
        chained.redraw(filled, hidden, skipped, k + 1, [rng.random(hidden.shape) for _ in range(5)])
        for k in range(draws)
    ]
    return chained, drawn


@pytest.mark.parametrize("incomplete", [(3, 4), (2, 3, 4)], ids=["outcomes", "predictor too"])
def test_planted_effects_are_kept(incomplete):
    rng = np.random.default_rng(5)
    columns, values = curved(3000, rng)
    hidden = np.zeros(values.shape, dtype=bool)
    hidden[:, list(incomplete)] = rng.random((3000, len(incomplete))) < 0.3
    chained, drawn = completed(columns, values, hidden, rng, interactions=True)
    assert {one.questions for one in chained.relations} >= {(3, (0, 2)), (4, (2, 2))}
    truth, found = slopes(values), [slopes(one) for one in drawn]
    for name, whole in truth.items():
        # Half of the rows lack x or y, hence the tolerance.
        assert np.mean([one[name] for one in found]) == pytest.approx(whole, abs=0.1), name
    # Straight lines lose a third of it.
    _, plain = completed(columns, values, hidden, rng, interactions=False)
    assert np.mean([slopes(one)["x:g"] for one in plain]) < 0.85 * truth["x:g"]
    assert np.mean([slopes(one)["x^2"] for one in plain]) < 0.85 * truth["x^2"]


def test_straight_lines_stay_straight():
    rng = np.random.default_rng(6)
    values = rng.multivariate_normal(np.zeros(6), 0.5 * np.eye(6) + 0.5, 1500)
    hidden = rng.random(values.shape) < 0.2
    columns = tuple(number(f"q{place}") for place in range(6))
    chained, _ = completed(columns, values, hidden, rng, draws=1, interactions=True)
    assert chained.relations == ()
    assert all(not len(terms.products) for terms in chained.terms.values())


def test_forced_products_are_in_every_other_regression():
    rng = np.random.default_rng(7)
    values = rng.normal(size=(400, 4))
    hidden = rng.random(values.shape) < 0.2
    columns = tuple(number(f"q{place}") for place in range(4))
    for interactions in (True, False):
        chained, _ = completed(
            columns, values, hidden, rng, draws=1, interactions=interactions, forced=((0, 1),)
        )
        assert chained.terms[2].products.tolist() == [[0, 1, -1]]
        assert chained.terms[3].products.tolist() == [[0, 1, -1]]
        assert not len(chained.terms[0].products)


def test_forced_products_leave_out_barred_predictors():
    rng = np.random.default_rng(7)
    columns = tuple(number(f"q{place}") for place in range(4))
    table = CodedTable.from_values(columns, rng.normal(size=(300, 4)))
    barred = np.zeros((4, 4), dtype=bool)
    barred[2, 1] = True
    chained = ChainedRegressions.fit(
        table, table.values, [0, 1, 2, 3], barred, n_sets=1, rounds=1, max_questions=4, seed=1,
        forced=((0, 1),),
    )  # fmt: skip
    assert not len(chained.terms[2].products)
    assert 1 not in chained.terms[2].places
    assert chained.terms[3].products.tolist() == [[0, 1, -1]]


def test_saved_regressions_draw_the_same_and_damaged_ones_are_refused():
    rng = np.random.default_rng(8)
    columns, values = curved(1500, rng)
    hidden = rng.random(values.shape) < 0.2
    chained, _ = completed(columns, values, hidden, rng, draws=1, interactions=True)
    assert chained.relations
    arrays, content = chained.to_state()
    again = ChainedRegressions.from_state(arrays, content)
    assert again.relations == chained.relations
    assert again.responses == {p: own for p, own in chained.responses.items() if own}
    filled, skipped = values.copy(), np.zeros(hidden.shape, dtype=bool)
    noise = [rng.random(hidden.shape)]
    np.testing.assert_array_equal(
        again.redraw(filled, hidden, skipped, 1, noise),
        chained.redraw(filled, hidden, skipped, 1, noise),
    )
    name = next(name for name in arrays if name.startswith("products."))
    for damaged in (arrays[name] + 1000, arrays[name][:0]):
        with pytest.raises(InputError, match="damaged"):
            ChainedRegressions.from_state(arrays | {name: damaged}, content)


def test_odd_partners_do_no_harm():
    rng = np.random.default_rng(9)
    n = 1200
    columns = (
        levels("many", 1000), number("constant"), levels("same", 3), number("x"), number("y"),
    )  # fmt: skip
    x = rng.normal(size=n)
    values = np.column_stack(
        [
            rng.integers(0, 1000, n),
            np.full(n, 7.0),
            np.full(n, 2.0),
            x,
            0.5 * x**2 + rng.normal(size=n),
        ]
    )
    hidden = np.zeros(values.shape, dtype=bool)
    hidden[:, 3:] = rng.random((n, 2)) < 0.2
    table = CodedTable.from_values(columns, np.where(hidden, np.nan, values))
    filled = np.where(hidden, 0.0, values)
    chained = ChainedRegressions.fit(
        table, filled, [3, 4], np.zeros((5, 5), dtype=bool), n_sets=1, rounds=1, max_questions=4,
        seed=1, row_share=0.6, interactions=True,
    )  # fmt: skip
    assert [one.questions for one in chained.relations] == [(4, (3, 3))]
    drawn = chained.redraw(
        filled, hidden, np.zeros(hidden.shape, dtype=bool), 1, [rng.random(hidden.shape)]
    )
    assert np.isfinite(drawn).all()
