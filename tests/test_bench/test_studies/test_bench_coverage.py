"""Coverage: every estimand's variance against its closed form or many samples, and the counting."""

import numpy as np
import pytest
from scipy import stats

from tabsoda.analysis.pooling import Analysis
from tabsoda.bench.metrics.coverage import (
    Estimand,
    association,
    count_coverage,
    intervals,
    linear_analysis,
    logistic_analysis,
    mean_analysis,
    quantile_analysis,
    share_analysis,
)


@pytest.fixture(scope="module")
def samples():
    """Return 800 samples of 400 rows: y depends on x and z, with spread that grows with x."""
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 800, 400))
    y = 1 + 0.5 * x - 0.3 * z + np.exp(0.3 * x) * rng.normal(size=x.shape)
    return np.stack([y, x, z], axis=2)


def test_a_share_has_the_binomial_variance():
    values = np.repeat([0.0, 1.0], [30, 70])[:, None]
    found = share_analysis(values, 1.0)
    assert found.estimates[0] == pytest.approx(0.7)
    assert found.covariance[0, 0] == pytest.approx(0.7 * 0.3 / 99)
    assert found.complete_df == 99


@pytest.mark.parametrize("probability", [0.25, 0.5, 0.75])
def test_quantiles_are_unbiased_and_as_sure_as_they_say(samples, probability):
    found = [quantile_analysis(sample[:, 1:2], probability) for sample in samples]
    estimates = np.array([one.estimates[0] for one in found])
    variances = np.array([one.covariance[0, 0] for one in found])
    # 800 means of 400: a standard error of about 0.0025, and 5 % of the variance.
    assert estimates.mean() == pytest.approx(stats.norm.ppf(probability), abs=0.008)
    assert variances.mean() == pytest.approx(estimates.var(), rel=0.2)


def test_quantiles_of_heaped_answers_lie_between_answers():
    ages = np.repeat([20.0, 30.0, 40.0], [10, 20, 10])[:, None]
    assert quantile_analysis(ages, 0.5).estimates[0] == pytest.approx(30)
    # A quarter lies between the middles of the first two answers, 0.125 and 0.5.
    assert quantile_analysis(ages, 0.25).estimates[0] == pytest.approx(20 + 10 / 3)


def test_slopes_are_as_sure_as_they_say_where_spread_varies(samples):
    found = [linear_analysis(sample) for sample in samples]
    estimates = np.array([one.estimates for one in found])
    variances = np.array([np.diag(one.covariance) for one in found])
    assert estimates.mean(axis=0) == pytest.approx([0.5, -0.3], abs=0.01)
    assert variances.mean(axis=0) == pytest.approx(estimates.var(axis=0), rel=0.2)
    assert found[0].complete_df == 397


def test_a_logistic_slope_is_the_log_odds_ratio():
    outcome = np.repeat([0.0, 1.0, 0.0, 1.0], [40, 10, 20, 30])
    group = np.repeat([0.0, 1.0], 50)
    found = logistic_analysis(np.column_stack([outcome, group]))
    assert found.estimates == pytest.approx([np.log((30 / 20) / (10 / 40))])
    assert found.covariance[0, 0] == pytest.approx(1 / 40 + 1 / 10 + 1 / 20 + 1 / 30)


def test_one_analysis_has_the_interval_of_a_t_test():
    values = np.random.default_rng(0).normal(size=(30, 1))
    _, ends = intervals([mean_analysis(values)])
    expected = stats.t.interval(0.95, 29, values.mean(), stats.sem(values[:, 0]))
    assert ends[0] == pytest.approx(expected)


def test_several_analyses_are_pooled():
    three = [Analysis(np.array([x]), np.array([[0.1]]), None, 99.0) for x in (1.0, 1.2, 1.4)]
    estimates, ends = intervals(three)
    assert estimates == pytest.approx([1.2])
    # The standard error of the pooling's own example, wider than that of one analysis alone.
    assert 0.3916 * 1.96 < (ends[0, 1] - ends[0, 0]) / 2 < 0.3916 * 2.3


def test_coverage_counts_and_measures_against_complete_tables():
    complete = np.array([[-1.0, 1.0], [-1.0, 1.0]])
    ends = np.array([[-2.0, 2.0], [0.5, 4.5]])
    found = count_coverage(0.0, ends.mean(axis=1), ends, complete)
    assert (found.coverage, found.width, found.replications) == (0.5, 2.0, 2)
    # Off by 0 and 2.5, where a complete table's standard error is 1 / 1.96.
    assert found.bias == pytest.approx(1.25 * 1.96)


def test_complete_tables_are_covered_as_often_as_promised(samples):
    several = [intervals([linear_analysis(sample)]) for sample in samples]
    ends = np.array([one[1][0] for one in several])
    found = count_coverage(0.5, ends.mean(axis=1), ends, ends)
    # Three standard errors of a share of 800.
    assert found.coverage == pytest.approx(0.95, abs=0.023)
    assert (found.bias, found.width) == (0.0, 1.0)


def test_estimands_read_their_own_columns():
    estimand = Estimand("mean", ("b",), (1,), mean_analysis)
    values = np.array([[9.0, 1.0], [9.0, 3.0]])
    assert estimand.of(values).estimates.tolist() == [2.0]


def test_association_of_levels_is_cramers_v():
    first = np.repeat([0.0, 1.0], [50, 50])
    second = np.repeat([0.0, 1.0, 0.0, 1.0], [40, 10, 10, 40])
    assert association(first, second, ordered=False) == pytest.approx(0.6)
    assert association(first, -second, ordered=True) == pytest.approx(-0.6)
    assert association(first, np.zeros(100), ordered=True) == 0.0
