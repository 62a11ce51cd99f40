"""Further networks: their answers are averaged, and each learns from rows of its own."""

import numpy as np
import pytest
import torch

from tabsoda.em import members as members_module
from tabsoda.em.answering import answer_outputs, answers_of
from tabsoda.em.engine import Engine
from tabsoda.em.members import _times_drawn
from tabsoda.em.sequential_draws import draw_values
from tabsoda.em.working_table import WorkingTable


@pytest.fixture(scope="module")
def fitted(mixed_table, tiny_settings):
    settings = tiny_settings(
        "balanced", backbone={"members": 3}, em={"rounds": 1}, experts={"trees": "none"}
    )
    table = mixed_table()
    seen = []
    build = WorkingTable.build.__func__

    def watched(cls, *arguments):
        seen.append(build(cls, *arguments))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkingTable, "build", classmethod(watched))
        engine = Engine.fit(table, settings, seed=1, device="cpu")
    return engine, seen[0]


def test_answers_are_the_average_of_the_networks(fitted):
    engine, data = fitted
    model = engine.model
    assert len(model.networks) == 3
    rows = data.incomplete_rows()
    said = [model.heads(answer_outputs(model, data, rows, network=n)) for n in model.networks]
    mean = answers_of(model, data, rows)
    for part, is_log in zip(range(3), (True, False, True), strict=True):
        each = torch.stack([s[part].double().exp() if is_log else s[part].double() for s in said])
        found = mean[part].double().exp() if is_log else mean[part].double()
        torch.testing.assert_close(found, each.mean(dim=0), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(said[0].log_probabilities, said[1].log_probabilities, atol=1e-3)


def test_members_start_from_other_weights_and_leave_the_first_alone(fitted, mixed_table):
    engine, _ = fitted
    alone = Engine.fit(
        mixed_table(),
        engine.model.settings.replace(backbone={"members": 1}),
        seed=1,
        device="cpu",
    )
    first, second, third = (n.backbone.read_out.weight for n in engine.model.networks)
    assert torch.equal(first, alone.model.denoiser.backbone.read_out.weight)
    assert not torch.equal(second, third)
    assert not torch.equal(first, second)
    assert engine.model.seed == 1


def test_draws_take_turns_with_the_networks(fitted):
    engine, data = fitted
    model = engine.model
    rows = data.incomplete_rows()
    usual = draw_values(model, data, rows, 5)
    members = list(model.members)
    try:
        # The fifth draw is the second network's.
        model.members[:] = [members[0], members[0]]
        assert np.array_equal(draw_values(model, data, rows, 5), usual, equal_nan=True)
        model.members[:] = [members[1], members[1]]
        assert not np.array_equal(draw_values(model, data, rows, 5), usual, equal_nan=True)
    finally:
        model.members[:] = members


def test_as_many_rows_are_drawn_as_there_are(fitted):
    _, data = fitted
    times = torch.stack([_times_drawn(data, seed) for seed in range(30)])
    assert (times.sum(dim=1) == data.n_rows).all()
    assert torch.equal(times, times.round())
    # A row is left out with probability (1 - 1/n)^n, about 0.366 here.
    assert (times == 0).float().mean().item() == pytest.approx((1 - 1 / 120) ** 120, abs=0.03)
    assert torch.equal(times[3], _times_drawn(data, 3))
    assert not torch.equal(times[3], times[4])


@pytest.mark.parametrize("bootstrap", [True, False])
def test_rows_are_drawn_anew_for_each_member_where_asked(
    bootstrap, mixed_table, tiny_settings, monkeypatch
):
    seen = []
    inner = members_module.train_denoiser

    def watched(model, data, *arguments):
        seen.append(data.row_weights)
        return inner(model, data, *arguments)

    monkeypatch.setattr(members_module, "train_denoiser", watched)
    settings = tiny_settings(
        "balanced",
        backbone={"members": 3, "bootstrap": bootstrap},
        em={"rounds": 1},
        experts={"trees": "none"},
    )
    weights = np.random.default_rng(0).uniform(0.5, 2, 120)
    engine = Engine.fit(mixed_table(), settings, seed=1, device="cpu", row_weights=weights)
    assert len(seen) == 2
    if not bootstrap:
        assert torch.equal(*seen)
        return
    assert not torch.equal(*seen)
    given = np.sort((weights / weights.mean()).astype(np.float32))
    for shown in seen:
        # A row that was drawn once weighs what it weighed, one that was left out nothing.
        assert (shown == 0).any()
        once = np.isin(np.round(shown.numpy(), 5), np.round(given, 5))
        assert 20 < once.sum() < 80
    assert len(engine.model.members) == 2


def test_bootstrap_members_go_on_from_the_first(mixed_table, tiny_settings):
    settings = tiny_settings(
        "balanced",
        backbone={"members": 3, "bootstrap": True},
        em={"rounds": 1},
        experts={"trees": "none"},
    )
    still = settings.replace(training={"learning_rate": 0.0})
    first, *others = Engine.fit(mixed_table(), still, seed=1, device="cpu").model.networks
    for other in others:
        assert torch.equal(first.backbone.read_out.weight, other.backbone.read_out.weight)
    engine = Engine.fit(mixed_table(), settings, seed=1, device="cpu")
    first, second, third = (n.backbone.read_out.weight for n in engine.model.networks)
    assert not torch.equal(first, second)
    assert not torch.equal(second, third)
    # What a member was trained with does not stay in the model.
    assert engine.model.settings.training == settings.training


def test_training_members_tells_how_far_it_is(mixed_table, tiny_settings):
    settings = tiny_settings(
        "balanced", backbone={"members": 3}, em={"rounds": 1}, experts={"trees": "none"}
    )
    told = []
    Engine.fit(mixed_table(), settings, seed=1, device="cpu", report=lambda *one: told.append(one))
    members = [(done, what) for done, _, what in told if what.startswith("network")]
    assert [what for _, what in members] == ["network 2 of 3", "network 3 of 3"]
    # A round and two more trainings of 0.6 of a round each, then what comes after training.
    (second, _), (third, _) = members
    assert second / third == pytest.approx(1.6 / 2.2, rel=0.01)
    places = [done for done, _, _ in told]
    assert places == sorted(places)
    assert third < places[-1] <= 1000
