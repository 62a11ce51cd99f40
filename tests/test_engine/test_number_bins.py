"""Bins of numbers: every answer in its bin, every draw an answer of that bin, ranges kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tabsoda.engine.number_bins import MAX_BINS, POOL_SIZE, NumberBins

WIDE = st.floats(-1e9, 1e9, allow_nan=False, width=32)
COUNTS = st.integers(0, 40).map(float)
ANSWERS = st.one_of(
    npst.arrays(np.float64, st.integers(2, 300), elements=WIDE),
    npst.arrays(np.float64, st.integers(2, 300), elements=COUNTS),
)


def fit(answers):
    column = np.asarray(answers, dtype=float)[:, None]
    return NumberBins.fit(column, np.ones(column.shape, dtype=bool))


def varied(answers):
    return np.unique(answers).size > 1


@given(ANSWERS.filter(varied))
def test_bins_are_ordered_not_empty_and_few(answers):
    bins = fit(answers)
    n_bins = int(bins.counts[0])
    assert 2 <= n_bins <= min(MAX_BINS, np.unique(answers).size)
    known = bins.edges[0, : n_bins - 1]
    assert (np.diff(known) > 0).all()
    assert np.isposinf(bins.edges[0, n_bins - 1 :]).all()
    placed = bins.place(answers[:, None])[:, 0]
    assert (np.bincount(placed, minlength=n_bins) > 0).all()
    # A larger answer never lies in a lower bin, and equal answers never lie apart.
    order = np.argsort(answers, kind="stable")
    assert (np.diff(placed[order]) >= 0).all()
    for value in np.unique(answers):
        assert np.unique(placed[answers == value]).size == 1


@given(ANSWERS.filter(varied), st.integers(0, 2**32 - 1))
def test_a_draw_is_an_answer_of_its_bin(answers, seed):
    bins = fit(answers)
    wanted = np.repeat(np.arange(bins.counts[0]), 5)
    uniforms = np.random.default_rng(seed).random(wanted.size)
    uniforms[:2] = 0.0, np.nextafter(1.0, 0.0)
    drawn = bins.draw(0, wanted, uniforms)
    assert np.isin(drawn, answers).all()
    assert np.array_equal(bins.place(drawn[:, None])[:, 0], wanted)
    assert np.isfinite(bins.draw(0, wanted, np.ones(wanted.size))).all()


@given(ANSWERS.filter(varied))
def test_the_means_of_bins_are_the_means_of_their_answers(answers):
    bins = fit(answers)
    placed = bins.place(answers[:, None])[:, 0]
    scale = answers.std() or 1.0
    for number in range(int(bins.counts[0])):
        expected = (answers[placed == number].mean() - answers.mean()) / scale
        assert bins.bin_means[0, number] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert (bins.bin_means[0, bins.counts[0] :] == 0).all()


@given(ANSWERS.filter(varied))
def test_restoring_undoes_standardising_within_ten_deviations(answers):
    bins = fit(answers)
    column = answers[:, None]
    standardized = bins.standardize(column)
    assert (np.abs(standardized) <= 10).all()
    near = np.abs((column - answers.mean()) / (answers.std() or 1.0)) < 10
    restored = bins.restore(standardized, np.array([False]))
    np.testing.assert_allclose(restored[near], column[near], rtol=1e-5, atol=1e-5 * np.ptp(answers))


@given(ANSWERS.filter(varied), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_what_is_restored_stays_in_the_observed_range_and_whole_where_asked(answers, said):
    answers = np.rint(answers)
    if np.unique(answers).size < 2:
        return
    bins = fit(answers)
    restored = bins.restore(np.array(said)[:, None], np.array([True]))
    assert ((restored >= answers.min()) & (restored <= answers.max())).all()
    assert np.array_equal(restored, np.rint(restored))
    assert not np.signbit(restored[restored == 0]).any()


def test_few_distinct_answers_get_a_bin_each():
    answers = np.repeat([0.0, 1.0, 2.0, 5.0, 40.0], [60, 20, 10, 9, 1])
    bins = fit(answers)
    assert bins.counts.tolist() == [5]
    assert bins.place(np.array([[0.0], [1.0], [2.0], [5.0], [40.0]])).ravel().tolist() == [
        *range(5)
    ]
    # Between two answers a value belongs to the lower one's bin.
    assert bins.place(np.array([[-3.0], [0.5], [4.9], [39.0], [1e9]])).ravel().tolist() == [
        *(0, 0, 2, 3, 4)
    ]
    for number, value in enumerate((0.0, 1.0, 2.0, 5.0, 40.0)):
        assert (bins.draw(0, np.full(POOL_SIZE, number), np.linspace(0, 0.99, 16)) == value).all()


def test_many_distinct_answers_are_shared_out_evenly():
    answers = np.random.default_rng(0).permutation(np.arange(2000.0))
    bins = fit(answers)
    assert bins.counts.tolist() == [MAX_BINS]
    assert np.bincount(bins.place(answers[:, None])[:, 0]).tolist() == [100] * MAX_BINS


def test_zeros_have_a_bin_of_their_own_in_front_of_a_heavy_tail():
    rng = np.random.default_rng(0)
    income = np.concatenate([np.zeros(600), np.exp(4 * rng.normal(size=400)) + 1])
    bins = fit(income)
    placed = bins.place(income[:, None])[:, 0]
    assert (placed[income == 0] == 0).all()
    assert (placed[income > 0] > 0).all()
    # No bin of the rest holds more than its share of the ranks, however far the tail goes.
    assert np.bincount(placed)[1:].max() <= 2 * 1000 / MAX_BINS
    assert bins.draw(0, np.zeros(8, dtype=int), np.linspace(0, 0.99, 8)).tolist() == [0.0] * 8


def test_a_draw_takes_the_pool_evenly_and_reaches_both_ends():
    bins = fit(np.arange(2000.0))
    uniforms = (np.arange(1600) + 0.5) / 1600
    drawn = bins.draw(0, np.full(1600, 3), uniforms)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.size == POOL_SIZE
    assert set(counts) == {100}
    assert (values[0], values[-1]) == (300.0, 399.0)


def test_a_constant_has_one_bin_and_can_be_standardised():
    bins = fit(np.full(9, 4.0))
    assert bins.counts.tolist() == [1]
    assert bins.place(np.array([[4.0], [-1.0], [9.0]])).ravel().tolist() == [0, 0, 0]
    assert bins.standardize(np.array([[4.0]])).tolist() == [[0.0]]
    assert bins.restore(np.array([[3.0]]), np.array([False])).tolist() == [[4.0]]
    assert bins.draw(0, np.array([0]), np.array([0.5])).tolist() == [4.0]


def test_only_visible_answers_count_and_columns_do_not_mix():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=200), rng.integers(0, 3, 200)])
    visible = rng.random(values.shape) < 0.7
    spoilt = np.where(visible, values, 1e30)
    both = NumberBins.fit(spoilt, visible)
    for column in (0, 1):
        alone = fit(values[visible[:, column], column])
        for name in ("edges", "counts", "mean", "scale", "bin_means", "pool", "lowest", "highest"):
            np.testing.assert_array_equal(getattr(both, name)[column], getattr(alone, name)[0])
