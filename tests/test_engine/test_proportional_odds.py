import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from tabsoda.engine.regressions.proportional_odds import ProportionalOdds, fit_proportional_odds


def sample(n_rows, cutpoints, slopes, seed):
    rng = np.random.default_rng(seed)
    predictors = rng.normal(size=(n_rows, len(slopes)))
    latent = predictors @ np.asarray(slopes) + rng.logistic(size=n_rows)
    return predictors, np.searchsorted(cutpoints, latent)


def test_recovers_the_truth_of_a_large_sample():
    cutpoints, slopes = np.array([-1.0, 0.5, 2.0]), np.array([1.0, -0.5, 0.0])
    predictors, levels = sample(40_000, cutpoints, slopes, seed=1)
    model = fit_proportional_odds(predictors, levels, 4, ridge=1e-6)
    assert model.cutpoints == pytest.approx(cutpoints, abs=0.05)
    assert model.slopes == pytest.approx(slopes, abs=0.04)


def test_with_two_levels_it_is_logistic_regression():
    predictors, levels = sample(500, [0.3], [1.0, -2.0], seed=2)
    model = fit_proportional_odds(predictors, levels, 2, ridge=2.0, tolerance=1e-12)
    other = LogisticRegression(C=0.5, tol=1e-10).fit(predictors, levels)
    assert model.slopes == pytest.approx(other.coef_[0], abs=1e-5)
    assert model.cutpoints == pytest.approx(-other.intercept_, abs=1e-5)


def test_finds_what_a_general_optimiser_finds():
    predictors, levels = sample(300, [-0.5, 0.2, 1.0], [0.8, 0.4], seed=3)

    def loss(parameters):
        cutpoints = np.cumsum(np.r_[parameters[0], np.exp(parameters[1:3])])
        reached = expit(cutpoints[None, :] - (predictors @ parameters[3:])[:, None])
        edges = np.column_stack([np.zeros(300), reached, np.ones(300)])
        rows = np.arange(300)
        probability = edges[rows, levels + 1] - edges[rows, levels]
        return -np.log(probability).sum() + 0.5 * 3.0 * parameters[3:] @ parameters[3:]

    best = minimize(loss, np.zeros(5), tol=1e-10)
    model = fit_proportional_odds(predictors, levels, 4, ridge=3.0, tolerance=1e-12)
    assert model.slopes == pytest.approx(best.x[3:], abs=1e-3)
    assert model.cutpoints == pytest.approx(
        np.cumsum(np.r_[best.x[0], np.exp(best.x[1:3])]), abs=1e-3
    )


def test_separated_levels_give_finite_slopes():
    predictors = np.linspace(-1, 1, 60)[:, None]
    levels = np.repeat([0, 1, 2], 20)
    model = fit_proportional_odds(predictors, levels, 3)
    assert np.isfinite(model.slopes).all()
    assert np.isfinite(model.cutpoints).all()
    assert (model.probabilities(predictors).argmax(axis=1) == levels).mean() > 0.8


def test_a_start_at_the_solution_stays_there():
    predictors, levels = sample(200, [-1.0, 1.0], [0.7], seed=4)
    found = fit_proportional_odds(predictors, levels, 3, tolerance=1e-12)
    again = fit_proportional_odds(predictors, levels, 3, start=found, max_steps=1)
    assert again.slopes == pytest.approx(found.slopes, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.01, 3), min_size=1, max_size=6),
    st.floats(-3, 3),
    st.lists(st.floats(-5, 5), min_size=2, max_size=2),
)
def test_probabilities_are_probabilities(gaps, first, slopes):
    model = ProportionalOdds(first + np.cumsum([0.0, *gaps]), np.array(slopes))
    rows = model.probabilities(np.random.default_rng(0).normal(size=(20, 2)))
    assert rows.shape == (20, len(gaps) + 2)
    assert (rows >= 0).all()
    assert np.allclose(rows.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_levels", [2, 5])
def test_a_start_from_other_rows_ends_at_the_same_maximum(n_levels):
    """The curvature at the start is reused; that must not change where the steps end."""
    cutpoints = [-1.0, 0.0, 1.5, 3.0][: n_levels - 1]
    predictors, levels = sample(600, cutpoints, [1.5, -1.0, 0.5], seed=8)
    nearby = fit_proportional_odds(predictors[:200], levels[:200], n_levels)
    far = ProportionalOdds(np.array(cutpoints) - 4, np.array([-3.0, 3.0, 3.0]))
    options = {"ridge": 1.0, "tolerance": 1e-12, "max_steps": 100}
    cold = fit_proportional_odds(predictors, levels, n_levels, **options)
    for start in (nearby, far):
        warm = fit_proportional_odds(predictors, levels, n_levels, start=start, **options)
        np.testing.assert_allclose(warm.slopes, cold.slopes, atol=1e-4)
        np.testing.assert_allclose(warm.cutpoints, cold.cutpoints, atol=1e-4)


def test_a_start_from_other_rows_ends_at_the_same_solution():
    # Rare levels: the curvature at the start is far from that at the solution.
    def reached(model, predictors, levels):
        chosen = model.probabilities(predictors)[np.arange(levels.size), levels]
        return np.log(chosen).sum() - 0.5 * model.slopes @ model.slopes

    short = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        predictors = rng.normal(size=(5000, 3))
        latent = predictors @ rng.normal(size=3) + rng.logistic(size=5000)
        levels = np.searchsorted(np.quantile(latent, np.linspace(0.99, 0.999, 4)), latent)
        rows = rng.integers(0, 5000, 5000)
        if np.unique(levels[rows]).size < 5:
            continue
        start = fit_proportional_odds(predictors[rows], levels[rows], 5, ridge=1.0)
        warm = fit_proportional_odds(predictors, levels, 5, ridge=1.0, start=start, tolerance=1e-4)
        exact = fit_proportional_odds(predictors, levels, 5, ridge=1.0, tolerance=1e-12)
        best = reached(exact, predictors, levels)
        short.append(best - reached(warm, predictors, levels))
    assert len(short) > 20
    assert max(short) < 0.5
