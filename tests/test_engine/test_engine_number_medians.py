"""Medians of numbers: closed forms, observed answers, and zero where zero is likely."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.engine import ensemble
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.number_bins import MAX_BINS, NumberBins
from tabsoda.engine.number_medians import number_medians, tilted
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

shares = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=8)


@given(shares, st.floats(-1.5, 1.5))
def test_a_tilt_has_the_mean_and_the_form_it_should_have(weights, tilt):
    own = np.array(weights) / sum(weights)
    values = np.linspace(-1.0, 1.0, own.size)
    expected = own * np.exp(tilt * values)
    expected /= expected.sum()
    found = tilted(own[None], values, np.array([expected @ values]))[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_mean_out_of_reach_is_approached():
    own, values = np.array([[0.5, 0.5, 0.0]]), np.array([-1.0, 0.0, 1.0])
    moved = tilted(np.repeat(own, 2, axis=0), values, np.array([-9.0, 9.0]))
    assert moved[0, 0] > 0.99
    assert moved[1, 1:].sum() > 0.99
    np.testing.assert_allclose(moved.sum(axis=1), 1.0)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.9))
def test_medians_are_observed_answers_of_their_column(seed, zeros):
    generator = np.random.default_rng(seed)
    answers = np.where(generator.random((80, 2)) < zeros, 0.0, generator.gamma(0.5, 9.0, (80, 2)))
    answers[:, 1] = np.rint(answers[:, 1])
    answers[:2] = [[0.0, 0.0], [1.5, 2.0]]
    bins = NumberBins.fit(answers, np.ones(answers.shape, dtype=bool))
    likely = generator.gamma(0.3, size=(40, 2, MAX_BINS)) * (
        np.arange(MAX_BINS) < bins.counts[:, None]
    )
    likely /= np.maximum(likely.sum(axis=2, keepdims=True), 1e-9)
    asked = generator.random((40, 2)) < 0.7
    medians = number_medians(bins, likely, generator.normal(size=(40, 2)), asked)
    assert np.array_equal(np.isnan(medians), ~asked)
    for column in range(2):
        assert np.isin(medians[asked[:, column], column], answers[:, column]).all()


def test_few_distinct_answers_give_the_weighted_median():
    answers = np.repeat(np.arange(5.0), 4)[:, None]
    bins = NumberBins.fit(answers, np.ones(answers.shape, dtype=bool))
    generator = np.random.default_rng(0)
    likely = generator.dirichlet(np.full(5, 0.5), 300)
    expected = [np.flatnonzero(row.cumsum() >= 0.5)[0] for row in likely]
    assert bins.medians(0, likely).tolist() == expected
    # Where the network's own mean is the point estimate, nothing is tilted.
    means = (likely * bins.bin_means[0, :5]).sum(axis=1)
    padded = np.zeros((300, 1, MAX_BINS))
    padded[:, 0, :5] = likely
    found = number_medians(bins, padded, means[:, None], np.ones((300, 1), dtype=bool))
    assert found.ravel().tolist() == expected


@pytest.mark.parametrize("sum_of_shares", [1 - 2e-16, 1.0, 1 + 2e-16])
def test_rounding_does_not_move_the_middle_of_a_sure_bin(sum_of_shares):
    answers = np.arange(400.0)[:, None]
    bins = NumberBins.fit(answers, np.ones(answers.shape, dtype=bool))
    likely = np.zeros((1, MAX_BINS))
    likely[0, 3] = sum_of_shares
    assert bins.medians(0, likely)[0] == bins.pool[0, 3, 8]


@pytest.fixture(scope="module")
def smokers():
    """Return 600 rows: who smokes, age, cigarettes per day (70 % of them 0, a fifth missing)."""
    generator = np.random.default_rng(7)
    smokes = (generator.random(600) < 0.33).astype(float)
    age = generator.integers(18, 80, 600).astype(float)
    some = generator.random(600) < np.where(smokes == 1, 0.85, 0.06)
    cigarettes = np.where(some, generator.integers(5, 41, 600), 0).astype(float)
    hidden = generator.random(600) < 0.2
    columns = (
        Column("smokes", ColumnKind.NOMINAL, (0, 1)),
        Column("age", ColumnKind.CONTINUOUS),
        Column("cigarettes", ColumnKind.CONTINUOUS),
    )
    values = np.column_stack([smokes, age, np.where(hidden, np.nan, cigarettes)])
    return CodedTable.from_values(columns, values), smokes, cigarettes


@pytest.fixture(scope="module")
def fitted(smokers, quick_settings):
    settings = quick_settings("fast", training={"max_steps": 60}, trees={"effort": "none"})
    return DefaultEngine.fit(smokers[0], settings, seed=2, device="cpu")


def test_who_most_likely_smokes_none_gets_none(smokers, fitted):
    table, smokes, cigarettes = smokers
    cells = fitted.impute(table)
    part = table.rows(np.flatnonzero(table.states.missing.any(axis=1)))
    answers = fitted.ensemble.answers(part, part.states.missing)
    bins = fitted.codec.bins
    place = fitted.codec.numbers.tolist().index(2)
    n_bins = bins.counts[place]
    predictive = tilted(
        answers.bins[:, place, :n_bins], bins.bin_means[place, :n_bins], answers.numbers[:, place]
    )
    # The first bin holds the zeros, and perhaps some of the smallest numbers.
    first = table.values[:, 2] < bins.edges[place, 0]
    none = predictive[:, 0] * (table.values[first, 2] == 0).mean() > 0.53
    assert 0.4 < none.mean() < 0.9
    assert (cells.median[none] == 0).all()
    assert np.isin(cells.median, table.values[:, 2]).all()
    who = smokes[cells.rows] == 0
    assert (cells.median[who] == 0).mean() > 0.9
    # The means give them cigarettes, and are farther from the truth on average.
    assert (cells.mode[who] > 0).mean() > 0.5
    truth = cigarettes[cells.rows]
    assert np.abs(cells.median - truth).mean() < np.abs(cells.mode - truth).mean()


def test_medians_change_neither_means_nor_draws(smokers, fitted, monkeypatch):
    with_medians = fitted.impute(smokers[0], n_draws=2)
    monkeypatch.setattr(
        ensemble, "number_medians", lambda bins, likely, means, asked: np.full(means.shape, -1.0)
    )
    without = fitted.impute(smokers[0], n_draws=2)
    assert np.array_equal(with_medians.mode, without.mode)
    assert np.array_equal(with_medians.draws, without.draws)
    assert (without.median == -1).all()
