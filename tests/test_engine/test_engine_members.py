"""Several networks: their answers are averaged, and draws take turns with them."""

import numpy as np
import pytest
import torch

from tabsoda._internal.randomness import row_keys
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.network.data import NetworkInput
from tabsoda.engine.network.draws import draw_answers
from tabsoda.engine.network.network import member_seed

NETWORK_ONLY = {
    "trees": {"effort": "none"},
    "regressions": {"sets": 0, "point_sets": 0},
    "draws": {"method": "sequential"},
}


@pytest.fixture(scope="module")
def three(quick_settings):
    return quick_settings(network={"members": 3}, **NETWORK_ONLY)


@pytest.fixture(scope="module")
def engine(mixed_table, three):
    return DefaultEngine.fit(mixed_table(), three, seed=1, device="cpu")


@pytest.fixture(scope="module")
def network(engine):
    return engine.ensemble.predictors[0]


def test_answers_are_the_average_of_the_networks(network, mixed_table):
    inputs = NetworkInput.of(mixed_table(), network.codec, network.device)
    assert len(network.members) == 3
    with torch.no_grad():
        said = [network.heads(member(inputs)) for member in network.members]
    mean = network.mean_answers(inputs)
    for part, is_log in zip(range(3), (True, False, True), strict=True):
        each = torch.stack([s[part].double().exp() if is_log else s[part].double() for s in said])
        found = mean[part].double().exp() if is_log else mean[part].double()
        torch.testing.assert_close(found, each.mean(dim=0), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(said[0].log_probabilities, said[1].log_probabilities, atol=1e-3)


def test_members_start_from_other_weights_and_leave_the_first_alone(engine, network, mixed_table):
    alone = DefaultEngine.fit(
        mixed_table(), engine.settings.replace(network={"members": 1}), seed=1, device="cpu"
    )
    first, second, third = (member.read_out.weight for member in network.members)
    assert torch.equal(first, alone.ensemble.predictors[0].members[0].read_out.weight)
    assert not torch.equal(second, third)
    assert not torch.equal(first, second)
    assert member_seed(1, 1) == 1
    assert len({member_seed(seed, number) for seed in (1, 2) for number in (1, 2, 3)}) == 6


def test_draws_take_turns_with_the_networks(engine, network, mixed_table):
    table = mixed_table()
    keys = row_keys(table.values, table.states.states)

    def fifth(members):
        usual, network.members = network.members, members
        try:
            return draw_answers(network, table, keys, 5, engine.settings.draws, 1)
        finally:
            network.members = usual

    first, second, third = network.members
    usual = fifth([first, second, third])
    # The fifth draw is the second network's.
    assert np.array_equal(fifth([third, second, first]), usual, equal_nan=True)
    assert not np.array_equal(fifth([second, first, second]), usual, equal_nan=True)


def test_each_training_has_an_entry_in_the_history(engine):
    assert [entry["network"] for entry in engine.history] == [1, 2, 3]
    for entry in engine.history:
        assert entry["steps"] == 12
        assert entry["loss"] == min(entry["losses"])
    assert len({entry["loss"] for entry in engine.history}) == 3


def test_progress_counts_all_networks(mixed_table, three):
    seen = []
    DefaultEngine.fit(
        mixed_table(), three, seed=1, device="cpu", progress=lambda *one: seen.append(one)
    )
    training = [done for done, _, what in seen if what == "training the network"]
    # Three epochs of each of three networks, evenly spaced.
    assert len(training) == 9
    np.testing.assert_allclose(np.diff(training), training[0], atol=1.01)
    places = [done for done, _, _ in seen]
    assert places == sorted(places)
    assert places[-1] <= 1000
