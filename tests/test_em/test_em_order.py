"""What the same seed must not depend on: row order, blocks, other rows, threads, global state."""

import random

import numpy as np
import pytest
import torch

from tabsoda.em.engine import Engine

PRESETS = pytest.mark.parametrize(
    "preset", ["fast", "balanced", pytest.param("best", marks=pytest.mark.slow)]
)


def by_cell(cells):
    """Return draws and both point estimates by row and column."""
    stacked = np.vstack([cells.draws, cells.mode, cells.median])
    places = zip(cells.rows.tolist(), cells.positions.tolist(), strict=True)
    return dict(zip(places, stacked.T, strict=True))


def close(one, other, table):
    """Categories must be equal; numbers may differ by rounding."""
    one, other = by_cell(one), by_cell(other)
    assert one.keys() == other.keys()
    for (row, position), values in one.items():
        if table.columns[position].is_categorical:
            assert np.array_equal(values, other[row, position])
        else:
            np.testing.assert_allclose(values, other[row, position], rtol=1e-4, atol=1e-3)
    return True


@PRESETS
def test_row_order_does_not_matter(preset, mixed_table, tiny_settings, differing):
    table, settings = mixed_table(), tiny_settings(preset)
    order = np.random.default_rng(5).permutation(table.shape[0])
    one = Engine.fit(table, settings, seed=1, device="cpu")
    other = Engine.fit(table.rows(order), settings, seed=1, device="cpu")
    assert differing(one, other) == set()
    drawn = by_cell(one.impute(table, n_draws=2))
    shuffled = by_cell(other.impute(table.rows(order), n_draws=2))
    assert len(drawn) == len(shuffled)
    for (row, position), values in shuffled.items():
        np.testing.assert_allclose(values, drawn[order[row], position], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("preset", ["balanced"])
def test_row_order_does_not_matter_with_weights_and_equal_rows(
    preset, mixed_table, tiny_settings, differing
):
    table = mixed_table(40)
    table = table.rows(np.repeat(np.arange(40), 3))
    weights = np.random.default_rng(2).uniform(0.5, 2, 120)
    order = np.random.default_rng(5).permutation(120)
    settings = tiny_settings(preset)
    one = Engine.fit(table, settings, seed=1, device="cpu", row_weights=weights)
    other = Engine.fit(
        table.rows(order), settings, seed=1, device="cpu", row_weights=weights[order]
    )
    assert differing(one, other) == set()


@PRESETS
def test_the_size_of_blocks_does_not_matter(preset, mixed_table, tiny_settings):
    table = mixed_table(60)
    wide = Engine.fit(table, tiny_settings(preset), seed=1, device="cpu")
    narrow = Engine.fit(
        table, tiny_settings(preset, sampler={"block_rows": 7}), seed=1, device="cpu"
    )
    assert close(wide.impute(table, 2), narrow.impute(table, 2), table)
    # The same model, sampled in other blocks: nothing but rounding in between.
    wide.model.settings = narrow.model.settings
    assert close(wide.impute(table, 2), narrow.impute(table, 2), table)


@PRESETS
def test_other_rows_do_not_matter_to_a_row(preset, mixed_table, tiny_settings):
    table = mixed_table()
    engine = Engine.fit(table, tiny_settings(preset), seed=1, device="cpu")
    alone = mixed_table(10, seed=9)
    both = alone.rows(np.arange(10))
    columns, states = both.columns, both.states
    stacked = type(both)(
        columns,
        np.vstack([both.values, table.values]),
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


@PRESETS
def test_the_seed_matters_and_repeats(preset, mixed_table, tiny_settings, differing, same_cells):
    table, settings = mixed_table(), tiny_settings(preset)
    one, same, other = (Engine.fit(table, settings, seed=s, device="cpu") for s in (1, 1, 2))
    assert differing(one, same) == set()
    assert same_cells(one.impute(table, 2), same.impute(table, 2))
    assert {name for name in differing(one, other) if name.startswith("denoiser.")}
    assert not np.array_equal(one.impute(table, 2).draws, other.impute(table, 2).draws)


@pytest.mark.parametrize("preset", ["balanced", pytest.param("best", marks=pytest.mark.slow)])
def test_draws_differ_and_do_not_depend_on_how_many_there_are(preset, mixed_table, tiny_settings):
    table = mixed_table()
    engine = Engine.fit(table, tiny_settings(preset), seed=1, device="cpu")
    three, five = engine.impute(table, 3).draws, engine.impute(table, 5).draws
    assert np.array_equal(three, five[:3])
    assert len({tuple(draw) for draw in five}) == 5


@pytest.mark.parametrize("preset", ["balanced"])
def test_the_number_of_threads_does_not_matter(preset, mixed_table, tiny_settings):
    table = mixed_table()
    # Two threads on busy cores wait for each other, so little is asked of them.
    settings = tiny_settings(preset, training={"max_steps": 4}, em={"rounds": 1})
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            engine = Engine.fit(table, settings, seed=1, device="cpu")
            results.append(engine.impute(table, 1))
    finally:
        torch.set_num_threads(before)
    one, other = results
    assert np.array_equal(one.draws, other.draws)
    assert np.array_equal(one.mode, other.mode)
    assert np.array_equal(one.median, other.median)


@PRESETS
def test_global_generators_are_left_alone_and_not_used(
    preset, mixed_table, tiny_settings, differing
):
    table = mixed_table()
    states = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())
    settings = tiny_settings(preset, backbone={"dropout": 0.2})
    one = Engine.fit(table, settings, seed=1, device="cpu")
    one.impute(table, 1)
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])
    assert states[2] == random.getstate()
    torch.rand(3)
    np.random.random(3)
    assert differing(one, Engine.fit(table, settings, seed=1, device="cpu")) == set()
