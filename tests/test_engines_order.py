"""What the same seed must not depend on: row order, blocks, other rows, threads, global state."""

import random

import numpy as np
import pytest
import torch

from tabsoda.engine.presets import QUALITIES
from tabsoda.engines import fit_engine

BEST = pytest.param("best", marks=pytest.mark.slow)
BOTH = pytest.mark.parametrize("name", ["fast", "balanced", BEST, "small", "path"])
ONE_EACH = pytest.mark.parametrize("name", ["balanced", BEST, "small"])


def fit(table, settings, **options):
    return fit_engine(table, settings, **({"seed": 1, "device": "cpu"} | options))


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


@BOTH
def test_row_order_does_not_matter(name, mixed_table, settings_of, differing):
    table, settings = mixed_table(), settings_of(name)
    order = np.random.default_rng(5).permutation(table.shape[0])
    one, other = fit(table, settings), fit(table.rows(order), settings)
    assert differing(one, other) == set()
    drawn = by_cell(one.impute(table, n_draws=2))
    shuffled = by_cell(other.impute(table.rows(order), n_draws=2))
    assert len(drawn) == len(shuffled)
    for (row, position), values in shuffled.items():
        np.testing.assert_allclose(values, drawn[order[row], position], rtol=1e-4, atol=1e-3)


@ONE_EACH
def test_row_order_does_not_matter_with_weights_and_equal_rows(
    name, mixed_table, settings_of, differing
):
    table = mixed_table(40)
    table = table.rows(np.repeat(np.arange(40), 3))
    weights = np.random.default_rng(2).uniform(0.5, 2, 120)
    order = np.random.default_rng(5).permutation(120)
    one = fit(table, settings_of(name), row_weights=weights)
    other = fit(table.rows(order), settings_of(name), row_weights=weights[order])
    assert differing(one, other) == set()


@BOTH
def test_the_size_of_blocks_does_not_matter(name, mixed_table, settings_of):
    table = mixed_table(60)
    group = "draws" if name in QUALITIES else "sampler"
    wide = fit(table, settings_of(name))
    narrow = fit(table, settings_of(name, **{group: {"block_rows": 7}}))
    assert_close(wide.impute(table, 2), narrow.impute(table, 2), table)


@BOTH
def test_other_rows_do_not_matter_to_a_row(name, mixed_table, settings_of):
    table = mixed_table()
    engine = fit(table, settings_of(name))
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


@BOTH
def test_the_seed_matters_and_repeats(name, mixed_table, settings_of, differing, same_cells):
    table, settings = mixed_table(), settings_of(name)
    one, same, other = (fit(table, settings, seed=seed) for seed in (1, 1, 2))
    assert differing(one, same) == set()
    assert same_cells(one.impute(table, 2), same.impute(table, 2))
    network = "network." if name in QUALITIES else "denoiser."
    assert [part for part in differing(one, other) if part.startswith(network)]
    assert not np.array_equal(one.impute(table, 2).draws, other.impute(table, 2).draws)


@ONE_EACH
def test_draws_differ_and_do_not_depend_on_how_many_there_are(name, mixed_table, settings_of):
    table = mixed_table()
    engine = fit(table, settings_of(name))
    three, five = engine.impute(table, 3).draws, engine.impute(table, 5).draws
    assert np.array_equal(three, five[:3])
    assert len({tuple(draw) for draw in five}) == 5


@pytest.mark.parametrize(("name", "changes"), [("balanced", {}), ("small", {"em": {"rounds": 1}})])
def test_the_number_of_threads_does_not_matter(name, changes, mixed_table, settings_of, same_cells):
    table = mixed_table()
    # Two threads on busy cores wait for each other, so little is asked of them.
    settings = settings_of(name, training={"max_steps": 4}, **changes)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(fit(table, settings).impute(table, 1))
    finally:
        torch.set_num_threads(before)
    assert same_cells(*results)


@BOTH
def test_global_generators_are_left_alone_and_not_used(name, mixed_table, settings_of, differing):
    table = mixed_table()
    group = "network" if name in QUALITIES else "backbone"
    settings = settings_of(name, **{group: {"dropout": 0.2}})
    states = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())
    one = fit(table, settings)
    one.impute(table, 1)
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])
    assert states[2] == random.getstate()
    torch.rand(3)
    np.random.random(3)
    assert differing(one, fit(table, settings)) == set()
