"""Training in two processes against training in one, both started as a user would."""

import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from tabsoda.datasets import make_survey
from tabsoda.imputer import TabSODAImputer
from tabsoda.torch_runtime.layers import SeededDropout, seed_dropout


def test_dropout_of_a_part_is_that_of_the_whole_batch():
    import torch

    from tabsoda.torch_runtime.keyed_noise import torch_generator

    layer, x = SeededDropout(0.4).train(), torch.ones(10, 7, 3)
    seed_dropout(layer, torch_generator(1, "dropout"))
    whole = layer(x)
    parts = []
    for first, last in ((0, 3), (3, 10)):
        seed_dropout(layer, torch_generator(1, "dropout"), (first, last, 10))
        parts.append(layer(x[first:last]))
    assert torch.equal(torch.cat(parts), whole)
    assert 0 < int((whole == 0).sum()) < whole.numel()


def test_the_parts_of_a_batch_sum_to_its_loss_and_gradient(mixed_table, tiny_settings):
    import torch

    from tabsoda.coding.row_order import canonical_order
    from tabsoda.em.engine import Engine
    from tabsoda.em.loop import _round_targets, initial_state
    from tabsoda.em.training_batch import NOISE_USES, batch_loss
    from tabsoda.em.working_table import WorkingTable
    from tabsoda.events import EventLog

    class Shared:
        """Sums what the parts said in a first pass, as the processes do at once."""

        def __init__(self):
            self.said = []

        def total(self, own):
            if len(self.said) < 2:
                self.said.append(own)
                return own
            return sum(self.said)

    table = mixed_table(150)
    settings = tiny_settings("fast", experts={"trees": "none"})
    engine = Engine.fit(table, settings, seed=1, device="cpu")
    model = engine.model
    order, keys = canonical_order(table)
    weights = np.random.default_rng(0).gamma(1.0, size=150)
    data = WorkingTable.build(
        table.rows(order), model.codec, keys, model.device, None, weights, model.answer_codec.bins
    )
    targets = _round_targets(model, data, initial_state(model, data), 1, EventLog())
    noise = torch.arange(len(NOISE_USES))
    model.denoiser.eval()

    def gradient_of(*losses):
        model.denoiser.zero_grad()
        total = sum(losses)
        total.backward()
        grads = [p.grad.flatten() for p in model.denoiser.parameters() if p.grad is not None]
        return float(total.detach()), torch.cat(grads)

    rows, shared = torch.arange(100), Shared()
    parts = [rows[:30], rows[30:]]
    whole = gradient_of(batch_loss(model, data, targets, rows, noise).total)
    for part in parts:
        batch_loss(model, data, targets, part, noise, shared)
    losses = [batch_loss(model, data, targets, part, noise, shared).total for part in parts]
    summed = gradient_of(*losses)
    assert summed[0] == pytest.approx(whole[0], rel=1e-5)
    torch.testing.assert_close(summed[1], whole[1], rtol=1e-3, atol=1e-6)


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path):
    make_survey(301, 10, seed=6, nonresponse=0.1).write(tmp_path, ("parquet",))
    arguments = [
        *("-m", "tabsoda.cli.torchrun", str(tmp_path / "survey.parquet")),
        *("--survey", str(tmp_path / "survey.toml"), "--quality", "fast", "--device", "cpu"),
        # An odd batch, so that shares differ; dropout and weighted cells are at work.
        *("--set", "training.max_steps=30", "--set", "training.batch_size=77"),
        *("--set", "experts.trees=none", "--set", "backbone.width=32"),
    ]
    alone = [sys.executable, *arguments, "-o", str(tmp_path / "one")]
    subprocess.run(alone, check=True)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    both = [*launcher, "--nproc-per-node", "2", *arguments, "-o", str(tmp_path / "two")]
    subprocess.run(both, check=True)
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    moved = 0.0
    for name, values in one.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(two[name], values, rtol=2e-3, atol=2e-4, err_msg=name)
            known = np.isfinite(values)
            moved = max(moved, float(np.abs(two[name][known] - values[known]).max(initial=0.0)))
    # Sums over two parts round otherwise than over one: equal to the last bit would mean that
    # the processes had not shared anything.
    assert moved > 0
    imputers = [TabSODAImputer.load(tmp_path / name, "cpu") for name in ("one", "two")]
    losses = [imputer.history_[0]["losses"] for imputer in imputers]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)
    told = [event.decision for event in imputers[1].events_]
    assert "batches shared between processes" in told
