"""The passes through the network that are counted are those that are made."""

import math

import pytest
import torch

from tabsoda.paper.denoiser import Denoiser
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.m_step import training_schedule
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.work import network_weights, passes_per_chain, training_steps


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
        em={"rounds": 1},
    )
    table = mixed_table()
    engine = PaperEngine.fit(table, settings, device="cpu")
    steps = training_steps(settings, table.shape[0])
    assert passes["training"] == 60 * steps * (2 if settings.training.low_noise_pass else 1)
    passes["sampling"] = 0
    engine.draw(table, 1)
    incomplete = int(table.states.missing.any(axis=1).sum())
    assert passes["sampling"] == passes_per_chain(settings) * incomplete


def test_the_weights_counted_are_the_matrices_of_the_network(mixed_table, tiny_settings):
    settings = tiny_settings("path")
    model = PaperEngine.fit(mixed_table(), settings, device="cpu").model
    matrices = [p.numel() for p in model.denoiser.parameters() if p.ndim == 2]
    # The noise embedding is computed once per level, but counted per row: a bound from above.
    counted = network_weights(model.codec.layout.n_coordinates, settings)
    assert counted <= sum(matrices) <= counted * 1.3


@pytest.mark.parametrize(
    ("preset", "n_rows", "steps"),
    [
        ("path", 500, 8_000),
        ("path", 4_000, 8_000),
        # Seven batches: an eighth begins the next pass.
        ("path", 28_000, 8_000),
        ("path", 32_320, 8_000),
        # More rows than the paper's: 1,000 passes, as in the paper.
        ("path", 58_034, 15_000),
        ("nsduh", 500, 15_000),
        ("nsduh", 32_320, 15_000),
        ("nsduh", 58_034, 15_000),
    ],
)
def test_a_round_has_the_paper_s_steps_whatever_the_rows(preset, n_rows, steps):
    settings = PaperSettings.preset(preset)
    assert training_steps(settings, n_rows) == steps
    batch, _, per_epoch, epochs = training_schedule(settings.training).steps(n_rows)
    assert per_epoch * epochs == steps
    assert batch == n_rows // math.ceil(n_rows / 4096)


def test_steps_without_a_limit_are_those_of_all_epochs():
    changes = {"max_epochs": 3, "min_epoch_steps": 4}
    settings = PaperSettings.preset("path").replace(training=changes)
    assert training_steps(settings, 10_000) == 3 * 4
    whole = settings.replace(training={"whole_passes": True})
    assert training_steps(whole, 10_000) == 3 * 6
