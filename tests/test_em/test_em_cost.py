"""The estimate counts what the engine really does, and comes near what was measured."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tabsoda._internal.machine_speed import probe_seconds
from tabsoda._internal.threads import Threads
from tabsoda.datasets import make_survey
from tabsoda.em import cost
from tabsoda.em.cost import estimate_cost, fit_shares, stage_seconds, wall_seconds
from tabsoda.em.operations import (
    training_steps,
)
from tabsoda.em.peak_memory import BYTES
from tabsoda.em.stage_work import TableSize
from tabsoda.settings import Settings

CPU = torch.device("cpu")
ONE = Threads(cores=1, network=1)


@pytest.fixture(scope="module")
def size():
    return TableSize.of(make_survey(400, n_columns=20, seed=1).true_table)


def seconds_of(size, n_draws=5, fits=True, name="balanced", **changes):
    settings = Settings.preset(name).replace(**changes)
    return stage_seconds(settings, size, n_draws, 0.01, fits=fits)


def within(factor, one, other):
    return 1 / factor < one / other < factor


def test_seconds_grow_with_the_work(size):
    whole = seconds_of(size)
    assert all(found > 0 for found in whole.values())
    twice = seconds_of(size, n_draws=10)
    for stage in ("drawing", "redrawing"):
        assert twice[stage] == pytest.approx(2 * whole[stage])
    for stage in ("training", "trees", "regressing"):
        assert twice[stage] == whole[stage]
    longer = seconds_of(size, training={"max_steps": 2000})
    assert longer["training"] == pytest.approx(2 * whole["training"])
    more = seconds_of(size, regressions={"point_sets": 50})
    assert more["regressing"] > 2 * whole["regressing"]
    assert seconds_of(size, experts={"trees": "none"})["trees"] == 0
    assert seconds_of(size, n_draws=0)["regressing"] < whole["regressing"]
    fitted = {"training", "trees", "completing", "regressing"}
    assert set(whole) - set(seconds_of(size, fits=False)) == fitted


def test_a_machine_half_as_fast_takes_twice_as_long(size, monkeypatch):
    found = []
    for probe in (0.01, 0.02):
        monkeypatch.setattr(cost, "probe_seconds", lambda probe=probe: probe)
        settings = Settings.preset("fast")
        found.append(estimate_cost(settings, size, 5, CPU, threads=ONE))
    assert found[1].seconds == pytest.approx(2 * found[0].seconds)
    assert found[1].memory_bytes == found[0].memory_bytes


def test_trees_beside_the_network_are_waited_for_only_if_they_take_longer():
    many = TableSize.of(make_survey(2000, n_columns=20, seed=1).true_table)
    stages = {"reading": 9.0, "training": 10.0, "trees": 4.0, "drawing": 1.0}
    assert sum(wall_seconds(stages, many, ONE, CPU).values()) == 15.0
    assert sum(wall_seconds(stages, many, Threads(2, 1), CPU).values()) == 11.0
    slow = stages | {"trees": 14.0}
    assert sum(wall_seconds(slow, many, Threads(2, 1), CPU).values()) == 15.0
    with_two = wall_seconds(stages, many, Threads(4, 2), CPU)
    assert with_two["training"] == pytest.approx(10 / 1.6)


def test_a_gpu_shortens_the_network_alone(size):
    settings = Settings.preset("best")
    slow, quick = (stage_seconds(settings, size, 5, 0.01, gpu_rate=rate) for rate in (None, 1e14))
    assert quick["training"] < slow["training"]
    assert quick["trees"] == slow["trees"]


def test_shares_of_a_fit_are_its_stages_in_their_order():
    table = make_survey(300, n_columns=12, seed=1).true_table
    settings = Settings.preset("balanced")
    shares = fit_shares(table, settings, ONE, CPU, draws=True)
    assert list(shares) == ["training", "completing", "trees", "regressing"]
    fewer = fit_shares(table, settings, ONE, CPU, draws=False)
    assert 0 < fewer["regressing"] < shares["regressing"]


def test_the_steps_counted_are_those_of_the_settings():
    settings = Settings.preset("balanced")
    assert training_steps(settings, 2000) == settings.training.max_steps
    endless = settings.replace(training={"max_steps": None, "max_epochs": 3, "min_epoch_steps": 1})
    assert training_steps(endless, 2000) == 3 * math.ceil(2000 / endless.training.batch_size)


def test_held_out_cells_are_counted():
    size = TableSize.of(make_survey(500, n_columns=20, seed=1).true_table)
    settings = Settings.preset("balanced")
    cells, rows = size.held_out(settings)
    assert cells == pytest.approx(0.05 * size.answered.sum())
    assert 0 < rows < 500
    assert size.held_out(settings.replace(training={"monitor": "training_loss"})) == (0.0, 0.0)


def test_the_probe_does_not_take_a_shared_core_for_a_slow_one():
    alone = probe_seconds()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        beside = probe_seconds()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    # Four more on the cores there are; by the clock it would be several times as long.
    assert within(2.0, alone, beside)
    assert np.isfinite(alone)


def test_the_constants_are_those_of_the_calibration():
    folder = Path(__file__).parents[2] / "benchmarks" / "engine"
    calibration = json.loads((folder / "cost_calibration.json").read_text(encoding="utf-8"))
    assert {stage: list(one) for stage, one in cost.PROBES.items()} == calibration["constants"]
    assert list(BYTES) == calibration["memory"]
