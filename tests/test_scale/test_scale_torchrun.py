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


def test_the_parts_of_a_batch_sum_to_its_loss_and_gradient(mixed_table, quick_settings):
    import torch

    from tabsoda.engine.network.data import TrainingData
    from tabsoda.engine.network.network import Network
    from tabsoda.engine.network.training import NOISE_USES, batch_loss
    from tabsoda.engine.training_table import TrainingTable
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

    settings, cpu = quick_settings("fast"), torch.device("cpu")
    weights = np.random.default_rng(0).gamma(1.0, size=150)
    training = TrainingTable.build(mixed_table(150), 0.05, 1, EventLog(), weights)
    network = Network.untrained(training.codec, settings, 1, cpu)
    data, member = TrainingData.of(training, cpu), network.members[0]
    noise = torch.arange(len(NOISE_USES))

    def loss_of(rows, processes=None):
        return batch_loss(member, network.heads, data, rows, noise, settings.loss, processes)

    def gradient_of(*losses):
        member.zero_grad()
        total = sum(losses)
        total.backward()
        grads = [p.grad.flatten() for p in member.parameters() if p.grad is not None]
        return float(total.detach()), torch.cat(grads)

    rows, shared = torch.arange(100), Shared()
    parts = [rows[:30], rows[30:]]
    whole = gradient_of(loss_of(rows))
    for part in parts:
        loss_of(part, shared)
    summed = gradient_of(*(loss_of(part, shared) for part in parts))
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
        *("--set", "trees.effort=none", "--set", "network.width=32"),
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
    [shared] = [e for e in imputers[1].events_ if e.kind == "batches_shared_between_processes"]
    assert shared.counts["processes"] == 2
