"""Weights are weights in the loss: what counts, what does not, and their scale."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsoda._internal.randomness import stream_key
from tabsoda.coding.row_order import canonical_order
from tabsoda.events import EventLog
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.em import initial_state
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.model import Model
from tabsoda.paper.standardizer import Standardizer
from tabsoda.paper.training_batch import NOISE_USES, RoundTargets, batch_loss
from tabsoda.paper.working_table import WorkingTable

PRESETS = pytest.mark.parametrize("preset", ["small", "path"])


def gradient(model, data, keys):
    completed = initial_state(model, data).completed
    standardized = model.standardizer.apply(completed, data.applicable)
    targets = RoundTargets(completed, standardized, torch.tensor(0.25))
    model.denoiser.zero_grad()
    model.denoiser.eval()
    batch_loss(model, data, targets, torch.arange(data.n_rows), keys).total.backward()
    return torch.cat([p.grad.ravel() for p in model.denoiser.parameters()])


@PRESETS
def test_a_row_of_weight_zero_gives_no_gradient(preset, mixed_table, tiny_settings):
    table = mixed_table()
    settings = tiny_settings(preset).resolve(8, 2)
    _, row_keys = canonical_order(table)
    codec = TableCodec.fit(table, table.states.answered, settings.encoding, EventLog())
    model = Model.start(codec, settings, 1, torch.device("cpu"))
    weights = np.ones(120)
    weights[:40] = 0
    data = WorkingTable.build(table, codec, row_keys, torch.device("cpu"), None, weights)
    keys = torch.tensor([stream_key(1, use) for use in NOISE_USES])
    model.standardizer = Standardizer.fit(data.encoded, data.visible)
    usual = gradient(model, data, keys)
    # Moments are those of all rows, as documented, so they are held fixed here.
    levels, encoded = data.levels.clone(), data.encoded.clone()
    levels[:40] = levels[:40].flip(0)
    encoded[:40] = encoded[:40].flip(0)
    spoilt = replace(data, levels=levels, encoded=encoded)
    torch.testing.assert_close(gradient(model, spoilt, keys), usual, rtol=1e-4, atol=1e-6)
    # With equal weights the same change matters.
    equal = torch.ones(120)
    felt = gradient(model, replace(spoilt, row_weights=equal), keys)
    unspoilt = gradient(model, replace(data, row_weights=equal), keys)
    assert not torch.allclose(felt, unspoilt, rtol=1e-2)


@PRESETS
def test_equal_weights_change_nothing_and_scale_does_not_matter(
    preset, mixed_table, tiny_settings, parts, differing
):
    table, settings = mixed_table(), tiny_settings(preset)

    def fit(weights):
        return PaperEngine.fit(table, settings, seed=1, device="cpu", row_weights=weights)

    rising = np.linspace(0.5, 2, 120)
    one, tenfold = fit(rising), fit(8 * rising)
    assert differing(one, tenfold) == set()
    plain, equal = parts(fit(None)), parts(fit(np.full(120, 3.0)))
    for name, value in plain.items():
        # Temperatures and shares are chosen on a grid or to a tolerance.
        if value.dtype.kind == "f" and name != "temperatures" and "blend" not in name:
            np.testing.assert_allclose(value, equal[name], rtol=1e-3, atol=1e-4)
    assert {name for name in differing(one, fit(None)) if name.startswith("denoiser.")}
