"""The estimate counts what the engines really do, and follows the machine and its threads."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tabsoda._internal.threads import Threads
from tabsoda.cost import estimate
from tabsoda.cost.estimate import (
    BYTES,
    PROBES,
    WorkPlan,
    estimate_cost,
    memory_bytes,
    probe_seconds,
    stage_seconds,
    wall_seconds,
)
from tabsoda.cost.table_size import TableSize
from tabsoda.datasets import make_survey
from tabsoda.engine import work
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.network.embedding import EmbeddingNetwork
from tabsoda.engine.presets import QUALITIES
from tabsoda.engine.settings import EngineSettings
from tabsoda.engines import plan_work, settings_for
from tabsoda.paper import work as paper_work
from tabsoda.paper.settings import PaperSettings

CPU = torch.device("cpu")
ONE = Threads(cores=1, network=1)
FITTED = {"training", "trees", "completing", "regressing"}


@pytest.fixture(scope="module")
def table():
    return make_survey(400, n_columns=20, seed=1).true_table


@pytest.fixture(scope="module")
def size(table):
    return TableSize.of(table)


def settings_of(name="balanced", **changes):
    return EngineSettings().replace(**QUALITIES[name]).replace(**changes)


def plan_of(size, n_draws=5, fits=True, follows=False, **changes):
    settings = settings_of(**changes)
    return work.work_plan(size, settings, n_draws, ONE, CPU, fits=fits, follows=follows)


def seconds_of(size, **options):
    return stage_seconds(plan_of(size, **options), 0.01)


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
    longer = seconds_of(size, training={"max_steps": 1400})
    assert longer["training"] == pytest.approx(2 * whole["training"])
    members = seconds_of(size, network={"members": 3})
    assert members["training"] == pytest.approx(3 * whole["training"])
    more = seconds_of(size, regressions={"point_sets": 50})
    assert more["regressing"] > 2 * whole["regressing"]
    assert seconds_of(size, trees={"effort": "none"})["trees"] == 0
    assert seconds_of(size, trees={"effort": "quick"})["trees"] < whole["trees"]
    assert seconds_of(size, n_draws=0)["regressing"] < whole["regressing"]
    assert seconds_of(size, draws={"method": "sequential"})["redrawing"] == 0
    assert set(whole) - set(seconds_of(size, fits=False)) == FITTED


def test_draws_that_follow_rules_call_the_network_more_often(size):
    whole, followed = seconds_of(size), seconds_of(size, follows=True)
    assert followed["drawing"] > whole["drawing"]
    assert followed["answering"] > whole["answering"]
    assert followed["training"] == whole["training"]


def test_qualities_cost_more_in_their_order(table):
    def cost(name):
        plan, _ = plan_work(table, settings_for(name, *table.shape), 5, CPU)
        return sum(stage_seconds(plan, 0.01).values())

    costs = [cost(name) for name in ("tiny", "fast", "balanced", "best")]
    assert costs == sorted(costs)
    assert len(set(costs)) == 4


def test_a_machine_half_as_fast_takes_twice_as_long(size, monkeypatch):
    found = []
    for probe in (0.01, 0.02):
        monkeypatch.setattr(estimate, "probe_seconds", lambda probe=probe: probe)
        found.append(estimate_cost(plan_of(size, name="fast"), ONE, CPU))
    assert found[1].seconds == pytest.approx(2 * found[0].seconds)
    assert found[1].memory_bytes == found[0].memory_bytes
    # Reading has happened when a run is estimated.
    stages = found[0].stages
    assert found[0].seconds == pytest.approx(sum(stages.values()) - stages["reading"])


def test_trees_beside_the_network_are_waited_for_only_if_they_take_longer():
    stages = {"reading": 9.0, "training": 10.0, "trees": 4.0, "drawing": 1.0}
    after, beside = (WorkPlan({}, (), 40_000, trees_beside=b) for b in (False, True))
    assert sum(wall_seconds(stages, after, ONE).values()) == 15.0
    assert sum(wall_seconds(stages, beside, Threads(2, 1)).values()) == 11.0
    slow = stages | {"trees": 14.0}
    assert sum(wall_seconds(slow, beside, Threads(2, 1)).values()) == 15.0
    with_two = wall_seconds(stages, after, Threads(4, 2))
    assert with_two["training"] == pytest.approx(10 / 1.6)


def test_trees_are_planned_beside_the_network_where_there_is_a_core_for_them():
    many = TableSize.of(make_survey(2000, n_columns=20, seed=1).true_table)

    def beside(size, threads, fits=True, **changes):
        plan = work.work_plan(size, settings_of(**changes), 5, threads, CPU, fits=fits)
        return plan.trees_beside

    assert beside(many, Threads(2, 1))
    assert not beside(many, ONE)
    assert not beside(many, Threads(2, 1), fits=False)
    assert not beside(many, Threads(2, 1), trees={"effort": "none"})
    few = TableSize.of(make_survey(200, n_columns=20, seed=1).true_table)
    assert not beside(few, Threads(2, 1))


def test_a_gpu_shortens_the_network_alone(size):
    plan = plan_of(size, name="best")
    slow, quick = (stage_seconds(plan, 0.01, gpu_rate=rate) for rate in (None, 1e14))
    assert quick["training"] < slow["training"]
    others = set(plan.stages) - {"training", "answering", "drawing"}
    assert all(quick[stage] == slow[stage] for stage in others)


def test_memory_is_what_is_counted_times_its_bytes(size):
    plan = plan_of(size)
    assert memory_bytes(plan) == pytest.approx(np.dot(plan.memory, BYTES))
    more = memory_bytes(plan_of(size, n_draws=105)) - memory_bytes(plan)
    assert more == pytest.approx(100 * size.n_missing * BYTES[-1])
    # The process that fits trees has an interpreter and a table of its own.
    beside = WorkPlan(plan.stages, plan.memory, plan.cells, trees_beside=True)
    assert memory_bytes(beside) > memory_bytes(plan) + 1e8
    narrow = memory_bytes(plan_of(size, draws={"block_rows": 10}, training={"held_out_share": 0.0}))
    assert narrow < memory_bytes(plan)


def test_shares_of_a_fit_are_its_stages_in_their_order(table):
    shares = work.fit_shares(table, settings_of(), ONE, CPU, draws=True)
    assert list(shares) == ["training", "completing", "trees", "regressing"]
    fewer = work.fit_shares(table, settings_of(), ONE, CPU, draws=False)
    assert 0 < fewer["regressing"] < shares["regressing"]


def test_the_calls_counted_are_those_made(mixed_table, quick_settings, monkeypatch):
    counted = {True: [], False: []}
    inner = EmbeddingNetwork.forward

    def watched(self, inputs):
        counted[torch.is_grad_enabled()].append(inputs.levels.shape[0])
        return inner(self, inputs)

    monkeypatch.setattr(EmbeddingNetwork, "forward", watched)
    table = mixed_table()
    settings = quick_settings(training={"batch_size": 60, "patience": 100}, network={"members": 2})
    engine = DefaultEngine.fit(table, settings, seed=1, device="cpu")
    stages = work.stage_work(TableSize.of(table), settings, 1)
    calls, cells, *_ = stages["training"]
    assert (len(counted[True]), table.shape[1] * sum(counted[True])) == (calls, cells)
    counted[False].clear()
    engine.draw(table, 1)
    calls, cells, *_ = stages["drawing"]
    assert len(counted[False]) == calls
    assert table.shape[1] * sum(counted[False]) == cells


def test_held_out_cells_are_counted(size):
    cells, rows = size.held_out(0.05)
    assert cells == pytest.approx(0.05 * size.answered.sum())
    assert 0 < rows < 400
    assert size.held_out(0.0) == (0.0, 0.0)


def test_the_work_of_the_papers_engine_follows_its_settings(size):
    def stages(n_draws=5, fits=True, follows=False, **changes):
        settings = PaperSettings.preset("small").replace(**changes)
        plan = paper_work.work_plan(size, settings, n_draws, fits=fits, follows=follows)
        assert not plan.trees_beside
        assert plan.cells == size.cells
        return plan.stages, stage_seconds(plan, 0.01)

    whole, seconds = stages()
    assert all(found > 0 for found in seconds.values())
    assert set(whole) - set(stages(fits=False)[0]) == {"training", "completing"}
    assert stages(n_draws=10)[0]["drawing"] == tuple(2 * count for count in whole["drawing"])
    more = PaperSettings.preset("small").em.rounds * 2
    rounds, _ = stages(em={"rounds": more})
    assert rounds["training"] == tuple(2 * count for count in whole["training"])
    assert rounds["answering"][0] > whole["answering"][0]
    calls, *_ = whole["training"]
    settings = PaperSettings.preset("small")
    passes = 2 if settings.training.low_noise_pass else 1
    steps = paper_work.training_steps(settings, size.rows)
    assert calls == settings.em.rounds * steps * passes
    chain = paper_work.passes_per_chain(settings)
    assert whole["drawing"][:2] == (5 * chain, 5 * chain * size.incomplete_rows * size.columns)
    assert stages(follows=True)[0]["drawing"][0] == 2 * whole["drawing"][0]


def test_memory_of_the_papers_engine_holds_draws_and_no_probabilities(size):
    settings = PaperSettings.preset("path")
    few, many = (paper_work.work_plan(size, settings, n_draws).memory for n_draws in (1, 11))
    assert len(few) == len(BYTES)
    assert many[-1] - few[-1] == 10 * size.n_missing
    assert few[:-1] == many[:-1]
    assert few[4] == 0


def test_every_stage_has_as_many_constants_as_counts(size, table):
    for name in ("tiny", "fast", "balanced", "best", "small", "path", "nsduh"):
        plan, _ = plan_work(table, settings_for(name, *table.shape), 5, CPU, follows=True)
        assert {stage: len(counts) for stage, counts in plan.stages.items()} == {
            stage: len(PROBES[stage]) for stage in plan.stages
        }
        assert len(plan.memory) == len(BYTES)


def test_the_probe_does_not_take_a_shared_core_for_a_slow_one():
    alone = probe_seconds()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        shared = probe_seconds()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    # Four more on the cores there are; by the clock it would be several times as long.
    assert within(2.0, alone, shared)
    assert np.isfinite(alone)


def test_the_constants_are_those_of_the_calibration():
    folder = Path(__file__).parents[2] / "benchmarks" / "engine"
    calibration = json.loads((folder / "cost_calibration.json").read_text(encoding="utf-8"))
    assert {stage: list(one) for stage, one in PROBES.items()} == calibration["constants"]
    assert list(BYTES) == calibration["memory"]
