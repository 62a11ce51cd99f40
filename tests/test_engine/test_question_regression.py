"""Regressions of one question: coefficients, their spread, and draws that follow them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.linear_model import LogisticRegression
from statsmodels.miscmodels.ordinal_model import OrderedModel

from tabsoda.engine.regressions.predictive_mean_matching import nearest_donors, tied_donors
from tabsoda.engine.regressions.question_regression import (
    LevelRegression,
    NumberRegression,
    fit_levels,
    fit_number,
)
from tabsoda.schema import Column, ColumnKind

NOMINAL_2 = Column("yes", ColumnKind.NOMINAL, levels=(1, 2))
NOMINAL_4 = Column("region", ColumnKind.NOMINAL, levels=(1, 2, 3, 4))
ORDINAL_4 = Column("likes", ColumnKind.ORDINAL, levels=(1, 2, 3, 4))
LEVELS = pytest.mark.parametrize("column", [NOMINAL_2, NOMINAL_4, ORDINAL_4], ids=lambda c: c.name)
SLOPES = np.array([1.0, -0.5, 0.0])


def standard_normals(n_rows, n_columns=3, seed=0):
    found = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return (found - found.mean(axis=0)) / found.std(axis=0)


def chosen_levels(column, predictors, seed=1):
    """Return answers that follow a known model of the column's kind."""
    rng = np.random.default_rng(seed)
    linear = predictors @ SLOPES
    if column.kind is ColumnKind.ORDINAL:
        return np.digitize(linear + rng.logistic(size=linear.size), [-1.5, 0.0, 1.0]).astype(float)
    utility = np.outer(linear, np.linspace(-1, 1, column.n_levels))
    return (utility + rng.gumbel(size=utility.shape)).argmax(axis=1).astype(float)


class EveryRowOnce(np.random.Generator):
    """Draws the sample itself in place of one with replacement."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def choice(self, a, size=None, p=None):
        return np.arange(a)


def test_slopes_of_a_number_are_recovered():
    predictors = standard_normals(20_000)
    noise = np.random.default_rng(1).normal(size=20_000)
    answers = 40 + 10 * predictors @ SLOPES + 5 * noise
    found = fit_number(predictors, answers, None, np.random.default_rng(2)).slopes
    np.testing.assert_allclose(found, [10, -5, 0, 40], atol=0.2)


def test_drawn_slopes_have_the_spread_of_the_posterior():
    """Normal with variance RSS / chi-square, times the inverse cross-products."""
    predictors = standard_normals(60)
    predictors[:, 1] = 0.8 * predictors[:, 0] + 0.6 * predictors[:, 1]
    answers = 5 + predictors @ SLOPES + np.random.default_rng(1).normal(size=60)
    drawn = np.array(
        [
            fit_number(predictors, answers, None, np.random.default_rng(s)).slopes
            for s in range(4000)
        ]
    )
    terms = np.column_stack([predictors, np.ones(60)])
    standard = (answers - answers.mean()) / answers.std()
    inverse = np.linalg.inv(terms.T @ terms + 1e-3 * 60 * np.eye(4))
    middle = inverse @ terms.T @ standard
    residual = standard - terms @ middle
    covariance = answers.var() * inverse * (residual @ residual) / (60 - 4 - 2)
    deviations = np.sqrt(np.diag(covariance))
    expected = answers.std() * middle + answers.mean() * np.eye(4)[3]
    np.testing.assert_allclose(
        (drawn.mean(axis=0) - expected) / deviations, 0, atol=4 / np.sqrt(4000)
    )
    np.testing.assert_allclose(drawn.std(axis=0) / deviations, 1, atol=0.06)
    correlation = np.corrcoef(drawn.T)
    np.testing.assert_allclose(
        correlation, covariance / np.outer(deviations, deviations), atol=0.06
    )


def test_fewer_rows_to_go_by_widen_the_posterior_alone():
    """With a quarter of the rows every draw is twice as far from the fit, in the same direction."""
    predictors = standard_normals(60)
    answers = predictors @ SLOPES + np.random.default_rng(1).normal(size=60)
    usual, wide = (
        np.array(
            [
                fit_number(predictors, answers, None, np.random.default_rng(s), share).slopes
                for s in range(10)
            ]
        )
        for share in (1.0, 0.25)
    )
    fitted = 2 * usual - wide
    np.testing.assert_allclose(fitted, np.tile(fitted[0], (10, 1)), atol=1e-9)
    assert usual.std(axis=0).min() > 0.05


def test_weights_of_a_number_count():
    """Two halves with opposite slopes: the one that weighs more prevails, by its share."""
    predictors = standard_normals(4000, 1)
    half = np.arange(4000) < 2000
    answers = np.where(half, 1.0, -1.0) * predictors[:, 0]

    def slope(weights):
        models = (
            fit_number(predictors, answers, weights, np.random.default_rng(s)) for s in range(20)
        )
        return np.mean([one.slopes[0] for one in models])

    assert slope(None) == pytest.approx(0, abs=0.05)
    assert slope(np.where(half, 3.0, 1.0)) == pytest.approx(0.5, abs=0.05)
    # Only relations matter: the posterior does not narrow because weights are large.
    assert slope(np.where(half, 3e6, 1e6)) == pytest.approx(slope(np.where(half, 3.0, 1.0)))


@given(st.integers(0, 1000), st.integers(1, 60))
def test_draws_of_a_number_are_answers_that_somebody_gave(seed, n_rows):
    rng = np.random.default_rng(seed)
    answers = np.round(rng.lognormal(size=n_rows), 3)
    model = fit_number(rng.normal(size=(n_rows, 2)), answers, None, rng)
    asked = 3 * rng.normal(size=(50, 2))
    # The last one is what a uniform in single precision may become.
    uniforms = np.r_[rng.random(47), 0.0, np.nextafter(1.0, 0.0), 1.0]
    assert np.isin(model.draw(asked, uniforms), answers).all()


def test_donors_are_the_five_nearest_and_each_as_likely():
    donors = np.arange(20.0)
    model = NumberRegression(np.array([1.0, 0.0]), donors, 100 + donors)
    uniforms = (np.arange(1000) + 0.5) / 1000
    drawn = model.draw(np.full((1000, 1), 7.2), uniforms)
    found, counts = np.unique(drawn, return_counts=True)
    assert found.tolist() == [105, 106, 107, 108, 109]
    assert (counts == 200).all()


@given(
    st.lists(st.integers(-8, 8), min_size=1, max_size=25),
    st.lists(st.floats(-9, 9), min_size=1, max_size=10),
    st.integers(1, 30),
)
def test_no_other_donor_is_nearer(donors, predicted, n_donors):
    """Many donors are equal, and some recipients lie beyond all of them."""
    ranked, asked = np.sort(np.array(donors, dtype=float)), np.array(predicted)
    found = nearest_donors(asked, ranked, n_donors)
    distance = np.abs(ranked - asked[:, None])
    expected = np.sort(distance, axis=1)[:, :n_donors]
    assert (np.diff(found, axis=1) > 0).all()
    np.testing.assert_array_equal(
        np.sort(np.take_along_axis(distance, found, axis=1), axis=1), expected
    )
    first, last = tied_donors(asked, ranked)
    for row, (start, stop) in enumerate(zip(first, last, strict=True)):
        equal = np.flatnonzero(ranked == ranked[start])
        assert (start, stop) == (equal[0], equal[-1] + 1)
        assert distance[row, start] == expected[row, 0]


@pytest.mark.parametrize("unit", [1e-20, 1e-11, 1e-3, 1e15])
def test_the_unit_of_a_number_does_not_change_who_donates(unit):
    predictors = standard_normals(300)
    answers = predictors @ [1.0, -0.5, 0.2] + standard_normals(300, 1, seed=5)[:, 0]
    uniforms = np.random.default_rng(2).random(300)
    drawn = [
        fit_number(predictors, answers * one, None, np.random.default_rng(1)).draw(
            predictors, uniforms
        )
        / one
        for one in (1.0, unit)
    ]
    np.testing.assert_allclose(drawn[1], drawn[0], rtol=1e-12)


def test_many_donors_are_thinned_evenly():
    predictors = standard_normals(9000, 1)
    answers = 3 * predictors[:, 0] + 0.01 * standard_normals(9000, 1, seed=4)[:, 0]
    model = fit_number(predictors, answers, None, np.random.default_rng(0))
    assert model.donors_answers.size == 2000
    assert (np.diff(model.donors_predicted) >= 0).all()
    quantiles = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(
        np.quantile(model.donors_answers, quantiles), np.quantile(answers, quantiles), atol=0.06
    )


def test_donors_count_by_their_weight():
    rng = np.random.default_rng(0)
    predictors, answers = np.zeros((400, 1)), rng.normal(size=400)
    weights = np.where(answers > 0, 3.0, 1.0)
    plain, weighted = (
        fit_number(predictors, answers, one, np.random.default_rng(0)).donors_answers
        for one in (None, weights)
    )
    assert np.array_equal(np.sort(plain), np.sort(answers))
    share = weights[answers > 0].sum() / weights.sum()
    assert (weighted > 0).mean() == pytest.approx(share, abs=0.01)


def reference_probabilities(column, predictors, levels, asked):
    """Return what reference libraries fit; the ridge of 1 is nothing against so many rows."""
    if column.kind is ColumnKind.ORDINAL:
        found = OrderedModel(levels, predictors, distr="logit").fit(method="bfgs", disp=False)
        return found.model.predict(found.params, exog=asked)
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=2000).fit(predictors, levels)
    return model.predict_proba(asked)


@LEVELS
def test_levels_are_regressed_as_by_reference_libraries(column):
    predictors, asked = standard_normals(4000), standard_normals(100, seed=5)
    levels = chosen_levels(column, predictors)
    model = fit_levels(column, predictors, levels, None, EveryRowOnce())
    expected = reference_probabilities(column, predictors, levels, asked)
    found = model.expect(asked)
    np.testing.assert_allclose(found, expected, atol=0.006)
    assert expected.std(axis=0).max() > 0.1


def divergence(true, said):
    return (true * np.log(true / said)).sum(axis=1).mean()


@LEVELS
def test_uncertain_predictors_give_the_average_over_them(column):
    """What the model says on average of predictors that are drawn from their distribution."""
    predictors = standard_normals(4000)
    model = fit_levels(column, predictors, chosen_levels(column, predictors), None, EveryRowOnce())
    asked = standard_normals(30, seed=5)
    variances = np.random.default_rng(6).choice([0.0, 0.5, 2.0], size=asked.shape)
    noise = standard_normals(20_000, seed=7)
    average = np.array(
        [
            model.expect(row + noise * np.sqrt(own)).mean(axis=0)
            for row, own in zip(asked, variances, strict=True)
        ]
    )
    found, plain = model.expect(asked, variances), model.expect(asked)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(plain - average).max() > 0.1
    if column is NOMINAL_4:
        # One factor cannot tell which of several levels come apart; it is nearer all the same.
        assert divergence(average, found) < 0.65 * divergence(average, plain)
    else:
        np.testing.assert_allclose(found, average, atol=0.015)


@LEVELS
def test_certain_predictors_change_nothing(column):
    predictors = standard_normals(500)
    levels = chosen_levels(column, predictors)
    model = fit_levels(column, predictors, levels, None, EveryRowOnce())
    found = model.expect(predictors, np.zeros_like(predictors))
    np.testing.assert_array_equal(found, model.expect(predictors))


@LEVELS
def test_rows_of_levels_are_drawn_by_their_weight(column):
    """Weighted resamples say on average what the weighted sample says."""
    predictors, asked = standard_normals(1500), standard_normals(40, seed=5)
    levels = chosen_levels(column, predictors)
    times = np.where(predictors[:, 0] + levels > 1, 3, 1)
    repeated = np.repeat(np.arange(1500), times)
    expected = reference_probabilities(column, predictors[repeated], levels[repeated], asked)
    plain = reference_probabilities(column, predictors, levels, asked)
    found = np.mean(
        [
            fit_levels(column, predictors, levels, times / 7.0, np.random.default_rng(s)).expect(
                asked
            )
            for s in range(30)
        ],
        axis=0,
    )
    assert np.abs(found - expected).max() < 0.035
    assert np.abs(plain - expected).max() > 0.07


@LEVELS
def test_resampling_varies_the_coefficients_as_their_standard_errors(column):
    predictors = standard_normals(800)
    levels = chosen_levels(column, predictors)
    drawn = np.array(
        [
            fit_levels(column, predictors, levels, None, np.random.default_rng(s)).expect(
                np.array([[1.0, 0, 0]])
            )[0]
            for s in range(80)
        ]
    )
    # The same over samples from the model itself.
    samples = np.array(
        [
            fit_levels(
                column,
                standard_normals(800, seed=100 + s),
                chosen_levels(column, standard_normals(800, seed=100 + s), seed=200 + s),
                None,
                EveryRowOnce(),
            ).expect(np.array([[1.0, 0, 0]]))[0]
            for s in range(80)
        ]
    )
    # A ratio of two standard deviations from 80 each: its standard error is about 0.11.
    ratio = drawn.std(axis=0) / samples.std(axis=0)
    assert 0.75 < ratio.mean() < 1.35, ratio


@LEVELS
def test_a_nearby_start_leads_to_the_same_solution(column):
    predictors, asked = standard_normals(1500), standard_normals(50, seed=5)
    levels = chosen_levels(column, predictors)
    elsewhere = fit_levels(column, predictors[:300], levels[:300], None, np.random.default_rng(3))
    cold = fit_levels(column, predictors, levels, None, np.random.default_rng(7))
    warm = fit_levels(column, predictors, levels, None, np.random.default_rng(7), elsewhere)
    np.testing.assert_allclose(warm.expect(asked), cold.expect(asked), atol=0.01)
    assert np.abs(elsewhere.expect(asked) - cold.expect(asked)).max() > 0.03


@pytest.mark.parametrize("kind", [ColumnKind.NOMINAL, ColumnKind.ORDINAL])
@pytest.mark.parametrize("occurring", [(1, 4), (0, 2, 4), (3,)])
def test_levels_that_do_not_occur_are_impossible(kind, occurring):
    column = Column("a", kind, levels=tuple(range(5)))
    predictors = standard_normals(90)
    levels = np.array(occurring, dtype=float)[np.arange(90) % len(occurring)]
    model = fit_levels(column, predictors, levels, None, EveryRowOnce())
    shares = model.expect(predictors)
    others = np.setdiff1d(np.arange(5), occurring)
    assert (shares[:, others] == 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0), 1.0):
        assert np.isin(model.draw(predictors, np.full(90, uniform)), occurring).all()


def test_a_start_with_other_levels_is_not_used():
    predictors = standard_normals(300)
    levels = chosen_levels(NOMINAL_4, predictors)
    other = fit_levels(NOMINAL_4, predictors, levels % 2, None, EveryRowOnce())
    one = fit_levels(NOMINAL_4, predictors, levels, None, EveryRowOnce(), other)
    cold = fit_levels(NOMINAL_4, predictors, levels, None, EveryRowOnce())
    np.testing.assert_array_equal(one.expect(predictors), cold.expect(predictors))


@LEVELS
def test_without_predictors_levels_have_their_shares(column):
    levels = np.repeat(np.arange(column.n_levels), np.arange(column.n_levels) + 1).astype(float)
    model = fit_levels(column, np.empty((levels.size, 0)), levels, None, EveryRowOnce())
    expected = np.bincount(levels.astype(int)) / levels.size
    np.testing.assert_allclose(model.expect(np.empty((1, 0)))[0], expected, atol=1e-6)


@LEVELS
def test_draws_of_levels_follow_their_probabilities(column):
    predictors = standard_normals(600)
    model = fit_levels(
        column, predictors, chosen_levels(column, predictors), None, np.random.default_rng(0)
    )
    asked = np.tile([[0.4, -0.3, 0.1]], (20_000, 1))
    drawn = model.draw(asked, np.random.default_rng(1).random(20_000)).astype(int)
    counts = np.bincount(drawn, minlength=column.n_levels)
    assert chisquare(counts, 20_000 * model.expect(asked[:1])[0]).pvalue > 0.001


def test_edges_between_levels_lie_at_the_cumulated_probabilities():
    model = LevelRegression(
        np.array([0, 2, 3]), np.zeros((1, 3)), np.log([0.25, 0.25, 0.5]), n_levels=4
    )
    uniforms = np.array([0.0, 0.249, 0.251, 0.499, 0.501, 0.999])
    assert model.draw(np.zeros((6, 1)), uniforms).tolist() == [0, 0, 2, 2, 3, 3]


@pytest.mark.parametrize("kind", [ColumnKind.NOMINAL, ColumnKind.ORDINAL])
def test_fewer_rows_let_slopes_of_levels_vary_more(kind):
    rng = np.random.default_rng(0)
    predictors = rng.normal(size=(800, 2))
    column = Column("a", kind, (1, 2, 3) if kind is ColumnKind.ORDINAL else (1, 2))
    latent = predictors[:, 0] + rng.logistic(size=800)
    answers = np.digitize(latent, [-0.5, 0.5] if column.n_levels == 3 else [0.0]).astype(float)

    def spread(row_share):
        fits = [
            fit_levels(
                column, predictors, answers, None, np.random.default_rng(seed), row_share=row_share
            ).slopes[0, -1]
            for seed in range(150)
        ]
        return np.std(fits)

    # A quarter of the rows doubles the standard deviation.
    assert spread(0.25) / spread(1.0) == pytest.approx(2.0, rel=0.25)


def test_equal_predictions_are_matched_to_all_donors_alike():
    """Without predictors all predictions are equal, and every donor is as good as another."""
    answers = np.arange(200.0)
    model = fit_number(np.zeros((200, 0)), answers, None, np.random.default_rng(0))
    drawn = model.draw(np.zeros((20_000, 0)), (np.arange(20_000) + 0.5) / 20_000)
    assert np.unique(drawn).size == 200
    assert drawn.mean() == pytest.approx(99.5, abs=0.5)
    shifts = (np.arange(500) + 0.5) / 500
    values, probabilities = model.candidates(np.zeros((500, 0)), shifts)
    assert (np.ptp(values, axis=1) > 150).all()
    # Whichever are taken, all donors are as probable; the drawn intercept moves them a little.
    assert np.unique(values).size > 180
    assert values.mean() == pytest.approx(model.expect(np.zeros((1, 0)))[0], abs=1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
