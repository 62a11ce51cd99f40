import numpy as np
import pytest

from tabsoda.bench.methods.chained_equations import ChainedEquations
from tabsoda.bench.methods.chained_models import UnorderedModel, draw_logistic
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.predictor_choice import choose_predictors
from tabsoda.bench.methods.skip_views import PredictorForm
from tabsoda.engine.regressions.predictive_mean_matching import draw_regression, match_donors
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


def test_donors_are_the_nearest_by_brute_force():
    rng = np.random.default_rng(1)
    predicted, donors = rng.normal(size=200), rng.normal(size=50)
    answers = np.arange(50.0)
    drawn = np.array([match_donors(predicted, donors, answers, rng, 3) for _ in range(60)])
    for recipient in range(200):
        nearest = np.argsort(np.abs(donors - predicted[recipient]))[:3]
        assert set(drawn[:, recipient]) == set(nearest.astype(float))


def test_fewer_donors_than_asked_for():
    drawn = match_donors(
        np.zeros(5), np.array([1.0, 2.0]), np.array([7.0, 8.0]), np.random.default_rng(0)
    )
    assert np.isin(drawn, [7.0, 8.0]).all()


def test_drawn_coefficients_scatter_as_least_squares_says():
    rng = np.random.default_rng(2)
    predictors = np.column_stack([rng.normal(size=400), np.ones(400)])
    answers = predictors @ [2.0, 1.0] + 0.5 * rng.normal(size=400)
    draws = np.array([draw_regression(predictors, answers, rng, ridge=0.0)[1] for _ in range(3000)])
    exact = np.linalg.lstsq(predictors, answers, rcond=None)[0]
    variance = 0.5**2 * np.linalg.inv(predictors.T @ predictors)
    assert draws.mean(axis=0) == pytest.approx(exact, abs=0.003)
    assert np.cov(draws.T) == pytest.approx(variance, rel=0.25, abs=2e-5)


def test_drawn_logistic_coefficients_scatter_as_the_information_says():
    rng = np.random.default_rng(3)
    predictors = np.column_stack([rng.normal(size=500), np.ones(500)])
    center = np.array([0.8, -0.2])
    draws = np.array([draw_logistic(predictors, center, 1.0, rng) for _ in range(4000)])
    share = 1 / (1 + np.exp(-predictors @ center))
    information = (predictors * (share * (1 - share))[:, None]).T @ predictors
    information[0, 0] += 1.0
    assert draws.mean(axis=0) == pytest.approx(center, abs=0.01)
    assert np.cov(draws.T) == pytest.approx(np.linalg.inv(information), rel=0.12, abs=5e-4)


@pytest.mark.parametrize("n_levels", [2, 3])
def test_levels_are_drawn_in_proportion_to_their_probabilities(n_levels):
    rng = np.random.default_rng(4)
    predictors = rng.normal(size=(3000, 1))
    latent = predictors[:, 0] + rng.logistic(size=3000)
    answers = np.digitize(latent, [0.0, 1.5][: n_levels - 1]).astype(float)
    drawn, probabilities = UnorderedModel(n_levels, 1.0).draw(predictors, answers, predictors, rng)
    shares = np.bincount(drawn.astype(int), minlength=n_levels) / 3000
    assert shares == pytest.approx(probabilities.mean(axis=0), abs=0.03)
    assert shares == pytest.approx(np.bincount(answers.astype(int)) / 3000, abs=0.03)


def test_draws_are_observed_values_and_chains_differ(small_survey):
    table = small_survey.table
    chains = ChainedEquations(n_draws=2, rounds=2).draws(table, 1, SkipView.LEVEL)
    for position in range(table.shape[1]):
        answers = table.values[table.states.answered[:, position], position]
        missing = table.states.missing[:, position]
        for chain in chains:
            assert np.isin(chain.values[missing, position], answers).all()
    assert not np.array_equal(chains[0].values, chains[1].values, equal_nan=True)
    answered = table.states.answered
    assert np.array_equal(chains[0].values[answered], table.values[answered])


def test_numbers_pool_to_the_mean_of_the_draws_and_workers_change_nothing(small_survey):
    table = small_survey.table
    position = next(
        p
        for p, c in enumerate(table.columns)
        if not c.is_categorical and table.states.missing[:, p].any()
    )
    model = ChainedEquations(n_draws=3, rounds=1)
    drawn = np.mean([c.values[:, position] for c in model.draws(table, 5, SkipView.BLIND)], axis=0)
    estimates = model.impute(table, 5, SkipView.BLIND)
    missing = table.states.missing[:, position]
    assert estimates.mode[missing, position] == pytest.approx(drawn[missing])
    other = ChainedEquations(n_draws=3, rounds=1, n_jobs=2).impute(table, 5, SkipView.BLIND)
    assert np.array_equal(other.mode, estimates.mode, equal_nan=True)


def test_a_linear_relation_is_found():
    rng = np.random.default_rng(6)
    x = rng.normal(size=600)
    values = np.column_stack([x, 2 * x + 0.3 * rng.normal(size=600)])
    hidden = rng.random(600) < 0.3
    truth = values[hidden, 1].copy()
    values[hidden, 1] = np.nan
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "ab")
    table = CodedTable.from_values(columns, values)
    filled = ChainedEquations(n_draws=10, rounds=1).impute(table, 1, SkipView.BLIND).mode[hidden, 1]
    # The mean of m draws around a conditional mean has the variance 1 + 1/m times the noise's.
    assert np.sqrt(np.mean((filled - truth) ** 2)) == pytest.approx(0.3 * np.sqrt(1.1), rel=0.2)


def test_predictors_are_those_that_correlate_and_the_strongest_of_them():
    rng = np.random.default_rng(7)
    common = rng.normal(size=500)
    strong, weak, none = (
        common + 0.2 * rng.normal(size=500),
        common + 3 * rng.normal(size=500),
        rng.normal(size=500),
    )
    target = np.digitize(common, [-0.5, 0.5]).astype(float)
    target[:100] = np.nan
    columns = (
        Column("target", ColumnKind.NOMINAL, levels=(1, 2, 3)),
        *(Column(name, ColumnKind.CONTINUOUS) for name in ("strong", "weak", "none")),
    )
    table = CodedTable.from_values(columns, np.column_stack([target, strong, weak, none]))
    form = PredictorForm(table, np.zeros(4))
    assert choose_predictors(form, 0.15, 9)[0].tolist() == [2, 3]
    assert choose_predictors(form, 0.15, 1)[0].tolist() == [2]
    assert choose_predictors(form, 0.999, 9)[0].tolist() == []
