"""The estimate counts what the engine really does."""

import pytest
import torch

from tabsoda.diffusion.denoiser import Denoiser
from tabsoda.em import cost
from tabsoda.em.cost import estimate_cost
from tabsoda.em.engine import Engine
from tabsoda.em.operations import count_operations, network_weights, passes_per_chain
from tabsoda.settings import Settings


@pytest.fixture
def passes(monkeypatch):
    """Count the rows that go through the denoiser, with and without gradients."""
    counted = {"training": 0, "sampling": 0}
    inner = Denoiser.forward

    def watched(self, state, *arguments):
        counted["training" if torch.is_grad_enabled() else "sampling"] += state.shape[0]
        return inner(self, state, *arguments)

    monkeypatch.setattr(Denoiser, "forward", watched)
    return counted


@pytest.mark.parametrize("preset", ["small", "path"])
def test_the_passes_counted_are_those_made(preset, mixed_table, tiny_settings, passes):
    settings = tiny_settings(
        preset,
        training={"calibration_steps": 0, "patience": 100, "batch_size": 60},
        temperature={"held_out_share": 0.0},
    )
    table = mixed_table()
    engine = Engine.fit(table, settings, device="cpu")
    n_coordinates = engine.model.codec.layout.n_coordinates
    weights = network_weights(n_coordinates, settings)
    incomplete = int(table.states.missing.any(axis=1).sum())
    trained, sampled = count_operations(settings, 120, incomplete, n_coordinates, 3)
    assert passes["training"] == trained / (6 * weights)
    engine.impute(table, 3)
    # The temperatures take one pass more, which the estimate leaves out.
    assert passes["sampling"] == pytest.approx(sampled / (2 * weights), rel=0.01)


def test_the_weights_counted_are_the_matrices_of_the_network(mixed_table, tiny_settings):
    settings = tiny_settings("path")
    engine = Engine.fit(mixed_table(), settings, device="cpu")
    matrices = [p.numel() for p in engine.model.denoiser.parameters() if p.ndim == 2]
    # The noise embedding is computed once per level, but counted per row: a bound from above.
    counted = network_weights(engine.model.codec.layout.n_coordinates, settings)
    assert counted <= sum(matrices) <= counted * 1.3


def test_time_and_memory_grow_as_expected():
    settings = Settings.preset("path")
    cpu = torch.device("cpu")
    small = estimate_cost(settings, 1000, 30, 500, 60, 5, cpu)
    large = estimate_cost(settings, 8000, 30, 4000, 60, 5, cpu)
    assert large.sampling_operations == pytest.approx(8 * small.sampling_operations)
    assert large.memory_bytes > small.memory_bytes
    more = settings.replace(sampler={"chains": 40})
    assert estimate_cost(more, 1000, 30, 500, 60, 5, cpu).memory_bytes == small.memory_bytes
    assert passes_per_chain(settings.replace(sampler={"refresh_cycles": 1, "steps": 2})) == 3


def test_regressions_cost_by_sets_columns_and_the_rows_they_are_fitted_to(monkeypatch):
    monkeypatch.setattr(cost, "matrix_rate", lambda *_: 1e12)
    cpu = torch.device("cpu")

    def seconds(n_rows=2000, n_columns=30, fits=True, **regressions):
        settings = Settings.preset("balanced").replace(
            sampler={"draws": "sequential"},
            regressions={"sets": 0, "point_sets": 0, "rounds": 1} | regressions,
        )
        found = estimate_cost(settings, n_rows, n_columns, 500, 60, 5, cpu, fits=fits)
        return found.seconds

    def added(fits=True, **changes):
        shape = {name: changes.pop(name) for name in ("n_rows", "n_columns") if name in changes}
        return seconds(fits=fits, **shape, **changes) - seconds(fits=fits, **shape)

    once = added(sets=1)
    assert 0.01 < once < 10
    assert added(sets=10) == pytest.approx(10 * once)
    assert added(sets=10, rounds=3) == pytest.approx(30 * once)
    assert added(point_sets=4) == pytest.approx(4 * once)
    assert added(sets=1, n_columns=60) == pytest.approx(2 * once)
    most = {"sets": 1, "max_rows": 5000}
    assert added(n_rows=5000, **most) > once
    assert added(n_rows=50_000, **most) == pytest.approx(added(n_rows=5000, **most))
    assert added(sets=10, fits=False) == 0
