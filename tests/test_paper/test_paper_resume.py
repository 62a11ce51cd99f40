"""An interrupted run resumes where it stopped."""

import json

import numpy as np
import pytest

from tabsoda.events import Event
from tabsoda.paper.engine import PaperEngine

ROUNDS = {"rounds": 3}


class InterruptedRunError(Exception):
    """What a test raises in the middle of a run."""


def stop_in_round(number):
    def progress(done, total, what):
        if what.startswith(f"round {number} "):
            raise InterruptedRunError

    return progress


def without_seconds(history):
    return [{k: v for k, v in entry.items() if not k.endswith("_seconds")} for entry in history]


@pytest.mark.parametrize("preset", ["small", "path", "nsduh"])
@pytest.mark.parametrize("interrupted", [2, 3])
def test_resume_equals_an_uninterrupted_run(
    preset, interrupted, mixed_table, tiny_settings, tmp_path, differing, same_cells
):
    table, settings = mixed_table(), tiny_settings(preset, em=ROUNDS)
    whole = PaperEngine.fit(table, settings, seed=1, device="cpu")
    with pytest.raises(InterruptedRunError):
        PaperEngine.fit(
            table,
            settings,
            seed=1,
            device="cpu",
            checkpoint=tmp_path,
            progress=stop_in_round(interrupted),
        )
    seen = []
    resumed = PaperEngine.fit(
        table,
        settings,
        seed=1,
        device="cpu",
        checkpoint=tmp_path,
        progress=lambda done, total, what: seen.append(what),
    )
    assert not [what for what in seen if what.startswith(f"round {interrupted - 1} ")]
    assert differing(whole, resumed) == set()
    assert without_seconds(whole.history) == without_seconds(resumed.history)
    assert same_cells(whole.impute(table, 2), resumed.impute(table, 2))
    others = [event for event in resumed.events if event.kind != "training_resumed_after_round"]
    assert others == list(whole.events)
    assert len(resumed.events) == len(others) + 1


@pytest.mark.parametrize("preset", ["small", "path"])
def test_a_finished_run_is_not_run_again(preset, mixed_table, tiny_settings, tmp_path, differing):
    table, settings = mixed_table(), tiny_settings(preset)
    options = {"seed": 1, "device": "cpu", "checkpoint": tmp_path}
    first = PaperEngine.fit(table, settings, **options)
    seen = []
    again = PaperEngine.fit(table, settings, **options, progress=lambda *args: seen.append(args))
    assert seen == []
    assert differing(first, again) == set()
    assert first.history == again.history


def test_a_reordered_table_is_the_same_run(mixed_table, tiny_settings, tmp_path, differing):
    table, settings = mixed_table(), tiny_settings("small")
    options = {"seed": 1, "device": "cpu", "checkpoint": tmp_path}
    first = PaperEngine.fit(table, settings, **options)
    seen = []
    again = PaperEngine.fit(
        table.rows(np.arange(120)[::-1]), settings, **options, progress=lambda *t: seen.append(t)
    )
    assert seen == []
    assert differing(first, again) == set()


def test_a_failed_write_leaves_the_last_round_whole(
    mixed_table, tiny_settings, tmp_path, monkeypatch
):
    from tabsoda.coding import fit_checkpoint as checkpoint

    table, settings = mixed_table(), tiny_settings("small", em=ROUNDS)
    write, calls = checkpoint.save_file, []

    def full_disk(tensors, path, metadata):
        calls.append(path)
        write(tensors, path, metadata=metadata)
        if len(calls) == 2:
            path.write_bytes(path.read_bytes()[:1000])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full_disk)
    with pytest.raises(OSError, match="No space"):
        PaperEngine.fit(table, settings, seed=1, device="cpu", checkpoint=tmp_path)
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["round.json", "round.safetensors"]
    assert json.loads((tmp_path / "round.json").read_text())["round"] == 1
    resumed = PaperEngine.fit(table, settings, seed=1, device="cpu", checkpoint=tmp_path)
    assert Event("training_resumed_after_round", None, {"round": 1}) in list(resumed.events)
    assert [entry["round"] for entry in resumed.history] == [1, 2, 3]


def test_an_early_stop_is_remembered(mixed_table, tiny_settings, tmp_path, differing):
    table = mixed_table()
    settings = tiny_settings("small", em={"rounds": 5, "min_rounds": 2, "stop_change": 1e6})
    options = {"seed": 1, "device": "cpu", "checkpoint": tmp_path}
    first = PaperEngine.fit(table, settings, **options)
    assert len(first.history) == 2
    again = PaperEngine.fit(table, settings, **options)
    assert differing(first, again) == set()
    for engine in (first, again):
        [stopped] = [e for e in engine.events if e.kind == "training_stopped_early"]
        change = engine.history[-1]["change"]
        assert dict(stopped.counts) == {"round": 2, "change": change}
