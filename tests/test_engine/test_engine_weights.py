"""Weights are weights in the loss: what counts, what does not, and their scale."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsoda._internal.randomness import stream_key
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.files import engine_state
from tabsoda.engine.network.data import NetworkInput, TrainingData
from tabsoda.engine.network.network import Network
from tabsoda.engine.network.training import NOISE_USES, batch_loss
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog

CPU = torch.device("cpu")
QUALITIES = pytest.mark.parametrize(
    "quality", ["balanced", pytest.param("best", marks=pytest.mark.slow)]
)


def gradient(network, data, keys, settings):
    member = network.members[0]
    member.zero_grad()
    rows = torch.arange(data.n_rows)
    batch_loss(member, network.heads, data, rows, keys, settings.loss).backward()
    return torch.cat([p.grad.ravel() for p in member.parameters()])


def spoilt(data, n_rows):
    """Return the data with the answers of the first rows in the reverse order."""

    def reverse(values):
        return torch.cat([values[:n_rows].flip(0), values[n_rows:]])

    inputs = NetworkInput(
        reverse(data.inputs.levels),
        reverse(data.inputs.scores),
        data.inputs.visible,
        data.inputs.skipped,
    )
    return replace(data, inputs=inputs, numbers=reverse(data.numbers), bins=reverse(data.bins))


@QUALITIES
def test_a_row_of_weight_zero_gives_no_gradient(quality, mixed_table, quick_settings):
    settings = quick_settings(quality)
    training = TrainingTable.build(mixed_table(), 0.05, 1, EventLog())
    network = Network.untrained(training.codec, settings, 1, CPU)
    weights = torch.ones(120)
    weights[:40] = 0
    data = replace(TrainingData.of(training, CPU), row_weights=weights)
    keys = torch.tensor([stream_key(1, use) for use in NOISE_USES])
    usual = gradient(network, data, keys, settings)
    changed = spoilt(data, 40)
    torch.testing.assert_close(
        gradient(network, changed, keys, settings), usual, rtol=1e-4, atol=1e-6
    )
    # With equal weights the same change matters.
    equal = torch.ones(120)
    felt = gradient(network, replace(changed, row_weights=equal), keys, settings)
    unspoilt = gradient(network, replace(data, row_weights=equal), keys, settings)
    assert not torch.allclose(felt, unspoilt, rtol=1e-2)


@QUALITIES
def test_equal_weights_change_nothing_and_scale_does_not_matter(
    quality, mixed_table, quick_settings, differing
):
    table, settings = mixed_table(), quick_settings(quality)

    def fit(weights):
        return DefaultEngine.fit(table, settings, seed=1, device="cpu", row_weights=weights)

    rising = np.linspace(0.5, 2, 120)
    one, eightfold = fit(rising), fit(8 * rising)
    assert differing(one, eightfold) == set()
    plain, equal = fit(None), fit(np.full(120, 3.0))
    parts = [engine_state(engine)[0] for engine in (plain, equal)]
    for name, value in parts[0].items():
        # Temperatures and shares are chosen on a grid or to a tolerance.
        if value.dtype.kind == "f" and not name.startswith("blend."):
            np.testing.assert_allclose(value, parts[1][name], rtol=1e-3, atol=1e-4)
    assert [name for name in differing(one, plain) if name.startswith("network.")]
