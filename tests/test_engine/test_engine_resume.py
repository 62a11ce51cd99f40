"""An interrupted fit resumes after its network."""

import numpy as np
import pytest

from tabsoda.coding import fit_checkpoint as checkpoints
from tabsoda.engine import fit
from tabsoda.engine.engine import DefaultEngine

RESUMED = "training_resumed_after_network"


class InterruptedRunError(Exception):
    """What a test raises in the middle of a run."""


def kinds(engine):
    return [event.kind for event in engine.events]


def without_seconds(history):
    return [{k: v for k, v in entry.items() if not k.endswith("_seconds")} for entry in history]


def fit_until(what_stops, table, settings, folder):
    """Fit, and be interrupted as soon as a stage reports its progress."""

    def progress(done, total, what):
        if what == what_stops:
            raise InterruptedRunError

    with pytest.raises(InterruptedRunError):
        DefaultEngine.fit(
            table, settings, seed=1, device="cpu", checkpoint=folder, progress=progress
        )


@pytest.mark.parametrize(
    ("quality", "changes"),
    [
        ("balanced", {}),
        ("balanced", {"network": {"members": 3}}),
        pytest.param("best", {"network": {"members": 3}}, marks=pytest.mark.slow),
    ],
)
def test_a_resumed_fit_equals_an_uninterrupted_one(
    quality, changes, mixed_table, quick_settings, tmp_path, differing, same_cells
):
    table, settings = mixed_table(), quick_settings(quality, **changes)
    whole = DefaultEngine.fit(table, settings, seed=1, device="cpu")
    fit_until("trees", table, settings, tmp_path)
    seen = []
    resumed = DefaultEngine.fit(
        table,
        settings,
        seed=1,
        device="cpu",
        checkpoint=tmp_path,
        progress=lambda done, total, what: seen.append(what),
    )
    assert "training the network" not in seen
    assert differing(whole, resumed) == set()
    assert without_seconds(whole.history) == without_seconds(resumed.history)
    assert same_cells(whole.impute(table, 3), resumed.impute(table, 3))
    assert kinds(resumed).count(RESUMED) == 1
    assert [kind for kind in kinds(resumed) if kind != RESUMED] == kinds(whole)
    assert resumed.fingerprint() == whole.fingerprint()


def test_a_training_that_was_interrupted_starts_again(
    mixed_table, quick_settings, tmp_path, differing
):
    table, settings = mixed_table(), quick_settings()
    fit_until("training the network", table, settings, tmp_path)
    again = DefaultEngine.fit(table, settings, seed=1, device="cpu", checkpoint=tmp_path)
    assert RESUMED not in kinds(again)
    assert differing(DefaultEngine.fit(table, settings, seed=1, device="cpu"), again) == set()


def test_a_finished_training_is_not_repeated(
    mixed_table, quick_settings, tmp_path, differing, monkeypatch
):
    table, settings = mixed_table(), quick_settings()
    options = {"seed": 1, "device": "cpu", "checkpoint": tmp_path}
    first = DefaultEngine.fit(table, settings, **options)

    def refuse(*arguments):
        raise AssertionError("the network was trained again")

    monkeypatch.setattr(fit.Network, "fit", refuse)
    again = DefaultEngine.fit(table, settings, **options)
    assert differing(first, again) == set()
    assert first.history == again.history
    # A reordered table is the same run.
    reordered = DefaultEngine.fit(table.rows(np.arange(120)[::-1]), settings, **options)
    assert differing(first, reordered) == set()


def test_a_failed_write_leaves_the_checkpoint_of_before(
    mixed_table, quick_settings, tmp_path, monkeypatch
):
    table, settings = mixed_table(), quick_settings()
    options = {"device": "cpu", "checkpoint": tmp_path}
    DefaultEngine.fit(table, settings, seed=1, **options)
    write = checkpoints.save_file

    def full_disk(arrays, path, metadata):
        write(arrays, path, metadata=metadata)
        path.write_bytes(path.read_bytes()[:1000])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full_disk)
    with pytest.raises(OSError, match="No space"):
        DefaultEngine.fit(table, settings, seed=2, **options)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["network.safetensors"]
    assert RESUMED in kinds(DefaultEngine.fit(table, settings, seed=1, **options))
