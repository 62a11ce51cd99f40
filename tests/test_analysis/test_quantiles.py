"""Medians and quantiles: Woodruff's interval by hand, heaps, weights, groups, and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tabsoda import CodedTable, Column, ColumnKind, Imputations, InputError
from tabsoda.analysis import (
    ReplicateWeights,
    pooled_by,
    pooled_median,
    pooled_proportions,
    pooled_quantile,
)
from tabsoda.analysis.quantile_rules import RULES, quantile_by_rule
from tabsoda.analysis.quantiles import weighted_quantiles
from tabsoda.results import ImputedCells


def made(values, draws, column=None):
    """Return a result of one question whose missing cells have the given draws, shape (m, k)."""
    column = column or Column("y", ColumnKind.CONTINUOUS)
    table = CodedTable.from_values((column,), values[:, None])
    rows = np.flatnonzero(np.isnan(values))
    point = np.zeros(rows.size)
    cells = ImputedCells(rows, np.zeros_like(rows), draws, point, point.copy())
    return Imputations(table, cells)


def complete(values, m=5, column=None):
    return made(np.asarray(values, dtype=float), np.zeros((m, 0)), column)


def test_a_median_without_missing_answers_is_woodruffs_by_hand():
    pooled = pooled_median(complete(np.arange(1.0, 101.0)), "y")
    t = stats.t.ppf(0.975, 99)
    # On the logit scale: 0.5 has the logit 0, and a standard error of se / (0.5 * 0.5).
    upper = 1 / (1 + np.exp(-t * np.sqrt(0.25 / 99) / 0.25))
    assert 0.59 < upper < 0.60
    # The smallest answers with at least these shares at or below them are 41 and 60.
    assert pooled.estimates.tolist() == [50.5]
    assert pooled.std_errors[0] == pytest.approx((60 - 41) / (2 * t))
    assert pooled.df.tolist() == [99]
    assert pooled.missing_information.tolist() == [0]
    assert pooled.kind == "median"


def test_the_standard_error_is_that_of_the_normal_distribution():
    n = 20_000
    values = stats.norm.ppf((np.arange(n) + 0.5) / n)
    shares = np.array([0.1, 0.5, 0.9])
    pooled = pooled_quantile(complete(values), "y", shares)
    points = stats.norm.ppf(shares)
    density = stats.norm.pdf(points)
    np.testing.assert_allclose(pooled.estimates, points, atol=1e-3)
    expected = (np.minimum.outer(shares, shares) - np.outer(shares, shares)) / n
    expected /= np.outer(density, density)
    np.testing.assert_allclose(pooled.within, expected, rtol=0.02)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
    st.floats(0.01, 0.99),
    st.integers(0, 2**32 - 1),
)
def test_whole_weights_are_repeated_answers(values, share, seed):
    counts = np.random.default_rng(seed).integers(1, 4, len(values))
    order = np.argsort(values)
    ordered = np.array(values, dtype=float)[order]
    found = weighted_quantiles(ordered, counts[order].astype(float), np.array([share]))
    repeated = np.repeat(ordered, counts[order])
    expected = np.quantile(repeated, share, method="averaged_inverted_cdf")
    # Shares within rounding of a step may fall on either side of it.
    if abs(share * repeated.size - round(share * repeated.size)) > 1e-6:
        assert found[0] == expected
    assert weighted_quantiles(repeated, np.ones(repeated.size), np.array([0.5])) == np.median(
        repeated
    )


def test_a_heap_has_no_width_and_says_so():
    values = np.r_[np.zeros(70), np.arange(1.0, 31.0)]
    pooled = pooled_quantile(complete(values), "y", [0.5, 0.9])
    assert pooled.estimates.tolist() == [0, 20.5]
    assert pooled.intervals()[0].tolist() == [0, 0]
    assert pooled.std_errors[1] > 0
    assert pooled.notes[-1].startswith("Many respondents gave the answer at the 0.5 quantile of y")


@pytest.mark.parametrize("rule", RULES)
def test_one_answer_is_every_quantile(rule):
    pooled = pooled_median(complete(np.full(9, 4.0)), "y", rule=rule)
    assert (pooled.estimates.tolist(), pooled.std_errors.tolist()) == ([4.0], [0.0])
    assert quantile_by_rule(np.array([4.0]), np.ones(1), 0.3, rule) == 4.0
    assert quantile_by_rule(np.array([1.0, 2.0]), np.ones(2), 1.0, rule) == 2.0
    with pytest.raises(InputError, match="too few respondents"):
        pooled_median(complete(np.arange(3.0)), "y", where="y == 1", rule=rule)


def test_draws_that_move_a_heap_keep_a_finite_interval():
    # The middle answer is 3 in some draws and 4 in others, each on a heap of its own.
    values = np.r_[np.full(45, 3.0), np.full(45, 4.0), np.full(30, np.nan)]
    draws = np.array([np.full(30, level) for level in (3.0, 4.0, 3.0, 4.0, 4.0)])
    pooled = pooled_median(made(values, draws), "y")
    assert pooled.estimates[0] == 4
    assert np.isfinite(pooled.intervals()).all()
    assert pooled.std_errors[0] > 0
    assert pooled.missing_information[0] > 0.5


def test_weights_subsets_and_replicates():
    generator = np.random.default_rng(3)
    values, weights = generator.normal(size=300), generator.uniform(0.2, 3, 300)
    result = complete(values)
    inside = np.arange(300) % 3 > 0
    pooled = pooled_median(result, "y", weights=weights, where=inside)
    order = np.argsort(values[inside])
    expected = weighted_quantiles(values[inside][order], weights[inside][order], np.array([0.5]))
    assert pooled.estimates[0] == expected[0]
    share = np.where(inside, weights, 0) / weights[inside].sum()
    pulls = share * ((values <= expected[0]) - (share @ (values <= expected[0])))
    variance = 300 / 299 * (pulls**2).sum()
    t = stats.t.ppf(0.975, 199)
    edges = 1 / (1 + np.exp(np.array([1, -1]) * t * np.sqrt(variance) / 0.25))
    ends = weighted_quantiles(values[inside][order], weights[inside][order], edges)
    assert pooled.std_errors[0] == pytest.approx((ends[1] - ends[0]) / (2 * t))
    # A jackknife of the quantile itself would be wrong; of the share it is right.
    groups = np.arange(300) % 50
    replicates = np.column_stack([weights * (groups != g) * 50 / 49 for g in range(50)])
    jackknife = ReplicateWeights.jackknife(weights, replicates)
    whole = pooled_median(result, "y", weights=weights)
    again = pooled_median(result, "y", weights=jackknife)
    assert again.estimates == whole.estimates
    assert again.std_errors[0] == pytest.approx(whole.std_errors[0], rel=0.35)
    assert again.df.tolist() == [49]


def test_medians_by_group():
    columns = (Column("sex", ColumnKind.NOMINAL, (1, 2)), Column("age", ColumnKind.CONTINUOUS))
    ages = np.r_[np.arange(20.0, 60.0), np.arange(50.0, 91.0), 3.0]
    sex = np.r_[np.zeros(40), np.ones(42)]
    none = np.zeros(0, dtype=np.int64)
    cells = ImputedCells(none, none, np.zeros((3, 0)), np.zeros(0), np.zeros(0))
    result = Imputations(CodedTable.from_values(columns, np.column_stack([sex, ages])), cells)
    groups = pooled_by(result, "sex", pooled_quantile, "age", [0.25, 0.5])
    assert {level: one.estimates.tolist() for level, one in groups.items()} == {
        1: [29.5, 39.5],
        2: [59.0, 69.5],
    }
    assert str(groups).count("quantile by sex") == 2


def test_what_has_no_quantile(result):
    with pytest.raises(InputError, match=r"'smokes' is nominal.*shares"):
        pooled_median(result, "smokes")
    for share in (0.0, 1.0, float("nan"), []):
        with pytest.raises(InputError, match=r"quantile is invalid.*between 0 and 1"):
            pooled_quantile(result, "age", share)
    with pytest.raises(InputError, match=r"'age' has too few answers.*0.99 quantile.*80"):
        pooled_quantile(result, "age", 0.99)
    ordinal = pooled_median(result, "health")
    shares = pooled_proportions(result, "health").estimates
    assert shares[: int(ordinal.estimates[0]) - 1].sum() < 0.5
    assert shares[: int(ordinal.estimates[0])].sum() >= 0.5


@pytest.mark.parametrize(("share", "skewed"), [(0.5, False), (0.9, True)])
def test_intervals_cover_the_true_quantile(share, skewed):
    """Draw samples with a third missing at random, impute them properly, count the hits."""
    generator = np.random.default_rng(11)
    n, m, samples, hits, true = 150, 8, 300, 0, stats.norm.ppf(share, scale=np.sqrt(2))
    for _ in range(samples):
        x = generator.normal(size=n)
        y = x + generator.normal(size=n)
        missing = generator.random(n) < stats.norm.cdf(x - 0.45)
        draws = np.array([impute(x, y, missing, generator) for _ in range(m)])
        answers = np.where(missing, np.nan, y)
        if skewed:
            answers, draws = np.exp(answers), np.exp(draws)
        pooled = pooled_quantile(made(answers, draws), "y", share)
        low, high = pooled.intervals()[0]
        hits += low <= (np.exp(true) if skewed else true) <= high
    # Chance alone keeps a coverage of 95 % between 91.2 % and 98 %, with 99.8 % probability.
    assert 0.91 <= hits / samples <= 0.985


def impute(x, y, missing, generator):
    """Draw the missing y from the posterior predictive of a normal regression on x."""
    design = np.column_stack([np.ones(x.size), x])
    seen = design[~missing]
    inverse = np.linalg.inv(seen.T @ seen)
    beta = inverse @ seen.T @ y[~missing]
    residual = y[~missing] - seen @ beta
    df = residual.size - 2
    sigma = np.sqrt(residual @ residual / generator.chisquare(df))
    beta = beta + sigma * np.linalg.cholesky(inverse) @ generator.normal(size=2)
    return design[missing] @ beta + sigma * generator.normal(size=int(missing.sum()))
