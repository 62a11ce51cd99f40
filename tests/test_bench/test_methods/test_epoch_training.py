"""The training loop of the deep baselines, against what can be computed by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tabsoda.bench.methods.epoch_training import AveragedWeights, EpochPlan, train
from tabsoda.bench.methods.registry import METHODS
from tabsoda.errors import TabSODAError


class Slope(nn.Module):
    """One weight; its loss is its value, so that Adam moves it by the learning rate."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([start]))


def plan(**changes) -> EpochPlan:
    return EpochPlan(**{"epochs": 4, "batch_size": 10, "learning_rate": 0.01, **changes})


def falling(network):
    return lambda rows, progress: (network.weight.sum(), network.weight.sum())


@pytest.mark.parametrize(("n_rows", "steps"), [(7, 4), (10, 4), (25, 12), (100, 40)])
def test_steps_grow_with_the_rows(n_rows, steps):
    network, seen = Slope(), []

    def loss_of(rows, progress):
        seen.append((rows, progress))
        return network.weight.sum(), network.weight.sum()

    assert train(network, plan(), loss_of, n_rows, 1) == steps == plan().steps(n_rows)
    assert len(seen) == steps
    per_epoch = steps // 4
    # Every epoch passes over all rows once, and progress is the share of epochs done.
    for epoch in range(4):
        batches = seen[epoch * per_epoch : (epoch + 1) * per_epoch]
        rows = torch.cat([rows for rows, _ in batches])
        assert sorted(rows.tolist()) == list(range(n_rows))
        assert {progress for _, progress in batches} == {epoch / 4}


def test_a_cap_on_steps_shortens_training():
    network = Slope()
    assert train(network, plan(max_steps=5), falling(network), 25, 1) == 5


@pytest.mark.parametrize("name", ["tabcsdi", "tabsyn", "tabdiff"])
def test_released_budgets_are_epochs_without_a_cap(name):
    settings = METHODS[name].load()(device="cpu").settings
    assert settings.max_steps is None
    epochs = {"tabcsdi": 250, "tabdiff": 8000}.get(name)
    assert (settings.epochs if epochs else settings.vae_epochs) == (epochs or 4000)


def test_the_average_of_weights_by_hand():
    network = Slope(1.0)
    average = AveragedWeights(network, 0.9)
    for value in (2.0, 5.0):
        network.weight.data.fill_(value)
        average.update()
    # 0.9 (0.9 * 1 + 0.1 * 2) + 0.1 * 5
    assert average.values[0].item() == pytest.approx(1.49)
    average.restore()
    assert network.weight.item() == pytest.approx(1.49)


def test_training_ends_with_the_average_over_epochs():
    # Adam's steps on a constant slope are the learning rate: the weight is -0.01 per step.
    network = Slope()
    train(network, plan(average_decay=0.5), falling(network), 20, 1)
    after_epochs = [-0.02, -0.04, -0.06, -0.08]
    expected = 0.0
    for weight in after_epochs:
        expected = 0.5 * expected + 0.5 * weight
    assert network.weight.item() == pytest.approx(expected, rel=1e-4)


def test_milestones_lower_the_rate_to_a_tenth():
    network = Slope()
    train(network, plan(milestones=(0.5, 0.75)), falling(network), 10, 1)
    assert network.weight.item() == pytest.approx(-(0.01 * 2 + 0.001 + 0.0001), rel=1e-3)


def test_a_plateau_of_the_watched_loss_lowers_the_rate():
    network = Slope()

    def flat(rows, progress):
        return network.weight.sum(), torch.tensor(1.0)

    train(network, plan(plateau=(0.5, 0)), flat, 10, 1)
    # The first epoch sets the mark; each later one does not improve on it.
    assert network.weight.item() == pytest.approx(-(0.01 + 0.01 + 0.005 + 0.0025), rel=1e-3)


def test_patience_stops_training_and_keeps_the_best_weights():
    network, watched = Slope(), iter([3.0, 1.0, 2.0, 2.0, 2.0, 0.0])

    def loss_of(rows, progress):
        return network.weight.sum(), torch.tensor(next(watched))

    assert train(network, plan(epochs=6, patience=3), loss_of, 10, 1) == 5
    # The weights after the epoch with the lowest watched loss, the second.
    assert network.weight.item() == pytest.approx(-0.02, rel=1e-3)


def test_a_loss_that_is_not_finite_is_an_error():
    network = Slope()

    def broken(rows, progress):
        return network.weight.sum(), torch.tensor(float("nan"))

    with pytest.raises(TabSODAError, match="learning_rate"):
        train(network, plan(), broken, 10, 1)
