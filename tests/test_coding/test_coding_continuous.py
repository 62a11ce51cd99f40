"""Continuous answers: standard scores, normal scores, and what comes back."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from tabsoda.coding.continuous import MAX_KNOTS, ContinuousCoder

RNG = np.random.default_rng(5)


def all_visible(values: np.ndarray) -> np.ndarray:
    return np.ones(values.shape, dtype=bool)


def test_standard_uses_visible_moments_only() -> None:
    values = RNG.normal(1e9, 3.0, (500, 2))
    visible = RNG.random(values.shape) < 0.6
    coder = ContinuousCoder.fit(values, visible)
    garbage = np.where(visible, values, 1e300)
    assert ContinuousCoder.fit(garbage, visible).mean.tolist() == coder.mean.tolist()
    encoded = coder.encode(values)
    for j in range(2):
        seen = encoded[visible[:, j], j]
        assert seen.mean() == pytest.approx(0, abs=1e-6)
        assert seen.std() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(coder.decode(encoded), values, rtol=1e-14)


def test_huge_answers_do_not_overflow() -> None:
    values = np.array([[1e300], [2e300], [-1e300]])
    coder = ContinuousCoder.fit(values, all_visible(values))
    np.testing.assert_allclose(coder.decode(coder.encode(values)), values, rtol=1e-12)
    small = ContinuousCoder.fit(np.array([[0.0], [1.0]]), np.ones((2, 1), dtype=bool))
    assert np.isfinite(small.encode(np.array([[1e308]])).astype(np.float32)).all()


def test_normal_scores_are_quantiles_of_mid_ranks() -> None:
    values = RNG.integers(0, 12, (400, 1)).astype(float) ** 3
    coder = ContinuousCoder.fit(values, all_visible(values), "normal_score")
    expected = norm.ppf((rankdata(values[:, 0]) - 0.5) / 400)
    np.testing.assert_allclose(coder.encode(values)[:, 0], expected, atol=1e-12)


def test_normal_score_comes_back_and_stays_in_range() -> None:
    values = np.column_stack([np.exp(3 * RNG.normal(size=300)), RNG.integers(0, 5, 300)])
    visible = RNG.random(values.shape) < 0.7
    coder = ContinuousCoder.fit(values, visible, "normal_score")
    seen = np.where(visible, values, np.nan)
    np.testing.assert_allclose(coder.decode(coder.encode(seen)), seen, rtol=1e-9)
    wild = coder.decode(RNG.normal(0, 20, (1000, 2)))
    assert (wild >= np.nanmin(seen, axis=0)).all()
    assert (wild <= np.nanmax(seen, axis=0)).all()
    assert set(wild[:, 1]) <= set(range(5))


def test_normal_score_is_monotone_between_observed_values() -> None:
    values = np.array([[1.0], [2.0], [10.0], [11.0]])
    coder = ContinuousCoder.fit(values, all_visible(values), "normal_score")
    points = np.linspace(0, 12, 50)[:, None]
    encoded = coder.encode(points)
    assert (np.diff(encoded[:, 0]) >= 0).all()
    middle = coder.encode(np.array([[6.0]]))
    assert middle[0, 0] == pytest.approx((norm.ppf(0.375) + norm.ppf(0.625)) / 2)


def test_many_distinct_values_are_thinned_but_the_ends_stay() -> None:
    values = RNG.normal(size=(3 * MAX_KNOTS, 1))
    coder = ContinuousCoder.fit(values, all_visible(values), "normal_score")
    assert coder.knots.shape == (1, MAX_KNOTS)
    assert coder.decode(np.array([[99.0]])) == values.max()
    np.testing.assert_allclose(coder.decode(coder.encode(values)), values, atol=1e-9)


@pytest.mark.parametrize("option", ["standard", "normal_score"])
def test_whole_number_columns_are_rounded_unless_asked_not_to(option: str) -> None:
    values = np.column_stack([np.arange(9.0), np.arange(9.0) + 0.5])
    coder = ContinuousCoder.fit(values, all_visible(values), option)
    assert coder.whole.tolist() == [True, False]
    encoded = RNG.normal(size=(50, 2))
    rounded, exact = coder.decode(encoded), coder.decode(encoded, whole_numbers=False)
    assert (rounded[:, 0] == np.rint(exact[:, 0])).all()
    assert (rounded[:, 0] != exact[:, 0]).any()
    assert (rounded[:, 1] == exact[:, 1]).all()


def test_blank_stays_blank() -> None:
    values = np.array([[1.0], [2.0], [np.nan]])
    for option in ("standard", "normal_score"):
        coder = ContinuousCoder.fit(values, ~np.isnan(values), option)
        assert np.isnan(coder.encode(values)).ravel().tolist() == [False, False, True]
