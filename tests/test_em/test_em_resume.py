"""An interrupted run goes on where it was; a stranger's checkpoint is not taken."""

import numpy as np
import pytest

from tabsoda.em.engine import Engine

ROUNDS = {"rounds": 3}


class InterruptedRunError(Exception):
    """What a test raises in the middle of a run."""


def stop_in_round(number):
    def report(done, total, what):
        if what.startswith(f"round {number} "):
            raise InterruptedRunError

    return report


def without_seconds(history):
    return [{k: v for k, v in entry.items() if not k.endswith("_seconds")} for entry in history]


@pytest.mark.parametrize("preset", ["balanced", pytest.param("best", marks=pytest.mark.slow)])
@pytest.mark.parametrize("interrupted", [2, 3])
def test_resume_equals_an_uninterrupted_run(
    preset, interrupted, mixed_table, tiny_settings, tmp_path, differing, same_cells
):
    table, settings = mixed_table(), tiny_settings(preset, em=ROUNDS)
    whole = Engine.fit(table, settings, seed=1, device="cpu")
    with pytest.raises(InterruptedRunError):
        Engine.fit(
            table,
            settings,
            seed=1,
            device="cpu",
            checkpoint=tmp_path,
            report=stop_in_round(interrupted),
        )
    seen = []
    resumed = Engine.fit(
        table,
        settings,
        seed=1,
        device="cpu",
        checkpoint=tmp_path,
        report=lambda done, total, what: seen.append(what),
    )
    assert not [what for what in seen if what.startswith(f"round {interrupted - 1} ")]
    assert differing(whole, resumed) == set()
    assert without_seconds(whole.history) == without_seconds(resumed.history)
    assert same_cells(whole.impute(table, 2), resumed.impute(table, 2))
    told = [event for event in resumed.events if event.decision != "resumed"]
    assert [e.decision for e in told] == [e.decision for e in whole.events]
    assert len(resumed.events) == len(told) + 1


@pytest.mark.parametrize("quality", ["balanced", pytest.param("best", marks=pytest.mark.slow)])
@pytest.mark.parametrize("rounds", [1, 3])
def test_members_are_trained_the_same_after_an_interruption(
    quality, rounds, mixed_table, tiny_settings, tmp_path, differing, same_cells, monkeypatch
):
    from tabsoda.em import loop

    settings = tiny_settings(
        quality,
        backbone={"members": 3, "bootstrap": True},
        em={"rounds": rounds},
        encoding={"standardizer_refresh": "each_round"},
        experts={"trees": "none"},
    )
    table = mixed_table()
    whole = Engine.fit(table, settings, seed=1, device="cpu")
    assert len(whole.model.members) == 2

    def interrupted(*arguments, **options):
        raise InterruptedRunError

    monkeypatch.setattr(loop, "train_members", interrupted)
    with pytest.raises(InterruptedRunError):
        Engine.fit(table, settings, seed=1, device="cpu", checkpoint=tmp_path)
    monkeypatch.undo()
    resumed = Engine.fit(table, settings, seed=1, device="cpu", checkpoint=tmp_path)
    assert "resumed" in [event.decision for event in resumed.events]
    assert differing(whole, resumed) == set()
    assert same_cells(whole.impute(table, 3), resumed.impute(table, 3))


def test_members_do_not_move_the_scale_of_the_first_network(mixed_table, tiny_settings):
    refreshed = {"standardizer_refresh": "each_round"}
    one, many = (
        Engine.fit(
            mixed_table(),
            tiny_settings(
                "balanced",
                backbone={"members": members},
                encoding=refreshed,
                em={"rounds": 3},
                experts={"trees": "none"},
            ),
            seed=1,
            device="cpu",
        )
        for members in (1, 2)
    )
    for mine, theirs in (
        (one.model.standardizer.mean, many.model.standardizer.mean),
        (one.model.standardizer.scale, many.model.standardizer.scale),
        (one.model.denoiser.backbone.vectors, many.model.denoiser.backbone.vectors),
    ):
        np.testing.assert_array_equal(mine.detach().numpy(), theirs.detach().numpy())


@pytest.mark.parametrize("preset", ["balanced"])
def test_a_finished_run_is_not_run_again(preset, mixed_table, tiny_settings, tmp_path, differing):
    table, settings = mixed_table(), tiny_settings(preset)
    options = {"seed": 1, "device": "cpu", "checkpoint": tmp_path}
    first = Engine.fit(table, settings, **options)
    seen = []
    again = Engine.fit(table, settings, **options, report=lambda *told: seen.append(told))
    # What comes after training is not kept in between.
    assert {what for _, _, what in seen} <= {"trees", "regressions"}
    assert differing(first, again) == set()
    assert first.history == again.history
