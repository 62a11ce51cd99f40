"""The checkpoint of a fit, for both engines: of another run or damaged, it is not used."""

import numpy as np
import pytest

from tabsoda.engines import fit_engine

# A quality or preset, the file of its checkpoint, and the events about it.
NETWORK = (
    "balanced",
    "network.safetensors",
    "training_resumed_after_network",
    "network_of_other_run_not_used",
    "unreadable_network_not_used",
)
ROUND = (
    "small",
    "round.safetensors",
    "training_resumed_after_round",
    "round_of_other_run_not_used",
    "unreadable_round_not_used",
)
BOTH = pytest.mark.parametrize(
    ("name", "file", "resumed", "other_run", "unreadable"), [NETWORK, ROUND]
)


def kinds(engine):
    return [event.kind for event in engine.events]


@BOTH
def test_the_checkpoint_of_another_run_is_not_used(
    name, file, resumed, other_run, unreadable, mixed_table, settings_of, tmp_path, differing
):
    table, settings = mixed_table(), settings_of(name)
    fit_engine(table, settings, seed=1, device="cpu", checkpoint=tmp_path)
    options = {"seed": 1, "device": "cpu", "row_weights": np.linspace(1, 2, 120)}
    anew = fit_engine(table, settings, **options, checkpoint=tmp_path)
    assert other_run in kinds(anew)
    assert resumed not in kinds(anew)
    assert differing(anew, fit_engine(table, settings, **options)) == set()


@BOTH
def test_half_a_checkpoint_is_not_used(
    name, file, resumed, other_run, unreadable, mixed_table, settings_of, tmp_path, differing
):
    table, settings = mixed_table(), settings_of(name)
    options = {"seed": 1, "device": "cpu", "checkpoint": tmp_path}
    first = fit_engine(table, settings, **options)
    content = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(content[: len(content) // 2])
    anew = fit_engine(table, settings, **options)
    assert unreadable in kinds(anew)
    assert differing(first, anew) == set()
    # What was written instead is whole.
    assert resumed in kinds(fit_engine(table, settings, **options))
