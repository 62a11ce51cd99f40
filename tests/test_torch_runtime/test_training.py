"""The loop that trains any network: its steps, its best weights, and when it stops."""

import math

import pytest
import torch

from tabsoda.errors import TabSODAError
from tabsoda.events import EventLog
from tabsoda.torch_runtime.training import TrainingSchedule, train_network

CPU = torch.device("cpu")


def schedule(**changes):
    usual = {
        "batch_size": 8,
        "max_epochs": 5,
        "max_steps": None,
        "min_epoch_steps": 1,
        "learning_rate": 0.1,
    }
    return TrainingSchedule(**(usual | changes))


class Place(torch.nn.Module):
    """One number, which training moves towards a target."""

    def __init__(self):
        super().__init__()
        self.at = torch.nn.Parameter(torch.zeros(()))


def train(network, seen=None, loss=lambda network, rows: (network.at - 1) ** 2, **given):
    def loss_of(rows, keys):
        if seen is not None:
            seen.append((rows.tolist(), keys.tolist()))
        return loss(network, rows)

    usual = {
        "n_rows": 20,
        "seed": 3,
        "round_number": 1,
        "noise_uses": ("level", "noise"),
        "device": CPU,
        "events": EventLog(),
        "diverged": TabSODAError,
    }
    plan = given.pop("plan", schedule())
    return train_network(network, plan, loss_of, **(usual | given))


def test_every_pass_visits_rows_once_in_batches_of_one_size():
    seen = []
    history = train(Place(), seen)
    # 20 rows in batches of at most 8: three batches of 6 rows, two rows left out of each pass.
    assert [len(rows) for rows, _ in seen] == [6] * 15
    for epoch in range(5):
        visited = [row for rows, _ in seen[3 * epoch : 3 * epoch + 3] for row in rows]
        assert len(set(visited)) == 18
    assert (history["epochs"], history["steps"], len(history["losses"])) == (5, 15, 5)
    keys = [tuple(keys) for _, keys in seen]
    assert len(set(keys)) == 15
    assert all(len(set(one)) == 2 for one in keys)


def test_the_same_seed_gives_the_same_batches_and_another_round_others():
    runs = [[] for _ in range(3)]
    for seen, number in zip(runs, (1, 1, 2), strict=True):
        train(Place(), seen, round_number=number)
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_broken_last_pass_visits_no_row_twice_within_a_pass():
    seen = []
    history = train(Place(), seen, plan=schedule(min_epoch_steps=4, whole_passes=False))
    assert (history["epochs"], history["steps"]) == (5, 20)
    for epoch in range(5):
        steps = [rows for rows, _ in seen[4 * epoch : 4 * epoch + 4]]
        assert len({row for rows in steps[:3] for row in rows}) == 18
        assert len(set(steps[3])) == 6


def test_max_steps_shortens_the_epoch_or_their_number():
    assert schedule(min_epoch_steps=4).steps(20) == (6, 2, 6, 5)
    assert schedule(min_epoch_steps=4, max_steps=4).steps(20) == (6, 2, 4, 1)
    assert schedule(max_steps=7).steps(20) == (6, 1, 3, 2)


def test_the_network_ends_with_the_weights_of_the_best_epoch():
    network, judged = Place(), iter([3.0, 1.0, 2.0, 2.0, 2.0])
    weights = []

    def watch(parameters):
        weights.append([parameter.detach().clone() for parameter in parameters])
        return next(judged)

    history = train(network, watch=watch, plan=schedule(patience=2))
    assert (history["best_epoch"], history["epochs"], history["loss"]) == (2, 4, 1.0)
    assert torch.equal(network.at, weights[1][0])
    assert not network.training


def test_averaged_weights_are_watched_and_kept():
    network = Place()
    last = []
    train(
        network,
        watch=lambda weights: last.append(weights[0].clone()) or -float(len(last)),
        plan=schedule(average_decay=0.9, learning_rate=0.01),
    )
    plain = Place()
    train(plain, plan=schedule(learning_rate=0.01))
    assert torch.equal(network.at, last[-1])
    # The average is behind the weights that move towards 1.
    assert 0 < network.at.item() < plain.at.item()


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(TabSODAError, match=r"the loss became nan in round 1, epoch 1"):
        train(Place(), loss=lambda network, rows: network.at * math.nan, watch=lambda weights: 0.0)
