"""What the same seed must not depend on: row order, blocks, other rows, threads, global state."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsoda.engine.engine import DefaultEngine

QUALITIES = pytest.mark.parametrize(
    "quality", ["fast", "balanced", pytest.param("best", marks=pytest.mark.slow)]
)


def by_cell(cells):
    """Return draws and both point estimates by row and column."""
    stacked = np.vstack([cells.draws, cells.mode, cells.median])
    places = zip(cells.rows.tolist(), cells.positions.tolist(), strict=True)
    return dict(zip(places, stacked.T, strict=True))


def assert_close(one, other, table):
    """Categories must be equal; numbers may differ by rounding."""
    one, other = by_cell(one), by_cell(other)
    assert one.keys() == other.keys()
    for (row, position), values in one.items():
        if table.columns[position].is_categorical:
            assert np.array_equal(values, other[row, position])
        else:
            np.testing.assert_allclose(values, other[row, position], rtol=1e-4, atol=1e-3)


@QUALITIES
def test_row_order_does_not_matter(quality, mixed_table, quick_settings, differing):
    table, settings = mixed_table(), quick_settings(quality)
    order = np.random.default_rng(5).permutation(table.shape[0])
    one = DefaultEngine.fit(table, settings, seed=1, device="cpu")
    other = DefaultEngine.fit(table.rows(order), settings, seed=1, device="cpu")
    assert differing(one, other) == set()
    drawn = by_cell(one.impute(table, n_draws=2))
    shuffled = by_cell(other.impute(table.rows(order), n_draws=2))
    assert len(drawn) == len(shuffled)
    for (row, position), values in shuffled.items():
        np.testing.assert_allclose(values, drawn[order[row], position], rtol=1e-4, atol=1e-3)


def test_row_order_does_not_matter_with_weights_and_equal_rows(
    mixed_table, quick_settings, differing
):
    table = mixed_table(40)
    table = table.rows(np.repeat(np.arange(40), 3))
    weights = np.random.default_rng(2).uniform(0.5, 2, 120)
    order = np.random.default_rng(5).permutation(120)
    settings = quick_settings()
    one = DefaultEngine.fit(table, settings, seed=1, device="cpu", row_weights=weights)
    other = DefaultEngine.fit(
        table.rows(order), settings, seed=1, device="cpu", row_weights=weights[order]
    )
    assert differing(one, other) == set()


@QUALITIES
def test_the_size_of_blocks_does_not_matter(quality, mixed_table, quick_settings):
    table = mixed_table(60)
    narrow_settings = quick_settings(quality, draws={"block_rows": 7})
    wide = DefaultEngine.fit(table, quick_settings(quality), seed=1, device="cpu")
    narrow = DefaultEngine.fit(table, narrow_settings, seed=1, device="cpu")
    assert_close(wide.impute(table, 2), narrow.impute(table, 2), table)
    # The same model, imputing in other blocks: nothing but rounding in between.
    drawer = replace(wide.drawer, settings=narrow_settings)
    same = replace(wide, settings=narrow_settings, drawer=drawer)
    assert_close(wide.impute(table, 2), same.impute(table, 2), table)


@QUALITIES
def test_other_rows_do_not_matter_to_a_row(quality, mixed_table, quick_settings):
    table = mixed_table()
    engine = DefaultEngine.fit(table, quick_settings(quality), seed=1, device="cpu")
    alone = mixed_table(10, seed=9)
    states = alone.states
    stacked = type(alone)(
        alone.columns,
        np.vstack([alone.values, table.values]),
        type(states)(
            np.vstack([states.states, table.states.states]),
            np.vstack([states.reasons, table.states.reasons]),
            states.names,
        ),
    )
    few, many = by_cell(engine.impute(alone, 2)), by_cell(engine.impute(stacked, 2))
    assert few
    for (row, position), values in few.items():
        np.testing.assert_allclose(values, many[row, position], rtol=1e-4, atol=1e-3)


@QUALITIES
def test_the_seed_matters_and_repeats(quality, mixed_table, quick_settings, differing, same_cells):
    table, settings = mixed_table(), quick_settings(quality)
    one, same, other = (DefaultEngine.fit(table, settings, seed=s, device="cpu") for s in (1, 1, 2))
    assert differing(one, same) == set()
    assert same_cells(one.impute(table, 2), same.impute(table, 2))
    assert [name for name in differing(one, other) if name.startswith("network.")]
    assert not np.array_equal(one.impute(table, 2).draws, other.impute(table, 2).draws)


@pytest.mark.parametrize("quality", ["balanced", pytest.param("best", marks=pytest.mark.slow)])
def test_draws_differ_and_do_not_depend_on_how_many_there_are(quality, mixed_table, quick_settings):
    table = mixed_table()
    engine = DefaultEngine.fit(table, quick_settings(quality), seed=1, device="cpu")
    three, five = engine.impute(table, 3).draws, engine.impute(table, 5).draws
    assert np.array_equal(three, five[:3])
    assert len({tuple(draw) for draw in five}) == 5


def test_the_number_of_threads_does_not_matter(mixed_table, quick_settings):
    table = mixed_table()
    # Two threads on busy cores wait for each other, so little is asked of them.
    settings = quick_settings(training={"max_steps": 4})
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            engine = DefaultEngine.fit(table, settings, seed=1, device="cpu")
            results.append(engine.impute(table, 1))
    finally:
        torch.set_num_threads(before)
    one, other = results
    assert np.array_equal(one.draws, other.draws)
    assert np.array_equal(one.mode, other.mode)
    assert np.array_equal(one.median, other.median)


@QUALITIES
def test_global_generators_are_left_alone_and_not_used(
    quality, mixed_table, quick_settings, differing
):
    table, settings = mixed_table(), quick_settings(quality)
    assert settings.network.dropout > 0
    states = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())
    one = DefaultEngine.fit(table, settings, seed=1, device="cpu")
    one.impute(table, 1)
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])
    assert states[2] == random.getstate()
    torch.rand(3)
    np.random.random(3)
    assert differing(one, DefaultEngine.fit(table, settings, seed=1, device="cpu")) == set()
