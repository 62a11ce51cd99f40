"""Threads follow the size of the work and what the machine grants, and nothing is left changed."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from tabsoda._internal import threads
from tabsoda._internal.threads import Threads, cgroup_cores, granted_cores, worker_threads
from tabsoda.datasets import make_survey
from tabsoda.engine import fit
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.work import planned_threads
from tabsoda.engines import settings_for

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


@pytest.fixture
def allow():
    """Let the program allow torch some threads, and take that back afterwards."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def run(code, **environment):
    """Run code in a new process whose OpenMP settings are these alone; return what it prints."""
    unset = {*WAITING, "OMP_NUM_THREADS"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", None), ("250000 100000", 2), ("50000 100000", 1)]
)
def test_the_quota_of_a_cgroup_is_read(quota, cores, tmp_path):
    process = tmp_path / "process"
    process.write_text("0::/jobs/mine\n")
    write(tmp_path / "v2" / "jobs" / "mine", cpu__max=quota)
    assert cgroup_cores(tmp_path / "v2", process) == cores
    process.write_text("7:memory:/mine\n3:cpu,cpuacct:/mine\n0::/\n")
    allowed, period = quota.replace("max", "-1").split()
    mine = tmp_path / "v1" / "cpu,cpuacct" / "mine"
    write(mine, cpu__cfs_quota_us=allowed, cpu__cfs_period_us=period)
    assert cgroup_cores(tmp_path / "v1", process) == cores


def test_the_quota_of_a_group_above_holds_too(tmp_path):
    process = tmp_path / "process"
    process.write_text("0::/jobs/mine\n")
    write(tmp_path / "jobs", cpu__max="100000 100000")
    write(tmp_path / "jobs" / "mine", cpu__max="400000 100000")
    assert cgroup_cores(tmp_path, process) == 1
    assert cgroup_cores(tmp_path, tmp_path / "absent") is None


def test_granted_cores_are_the_least_of_all_limits(allow, monkeypatch):
    monkeypatch.setattr(threads, "_affinity", lambda: 8)
    monkeypatch.setattr(threads, "cgroup_cores", lambda: None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    allow(6)
    assert granted_cores() == 6
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert granted_cores() == 5
    monkeypatch.setattr(threads, "cgroup_cores", lambda: 4)
    assert granted_cores() == 4
    monkeypatch.setattr(threads, "_affinity", lambda: 3)
    assert granted_cores() == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_a_pinned_process_is_granted_the_cores_it_is_pinned_to():
    code = (
        "import os; os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])\n"
        "from tabsoda._internal.threads import granted_cores; print(granted_cores())"
    )
    assert run(code) == 1


def test_small_networks_get_one_thread_and_large_ones_more(monkeypatch):
    survey = make_survey(2000, n_columns=12, seed=1)

    def network(quality):
        settings = settings_for(quality, 2000, 12)
        with monkeypatch.context() as patch:
            patch.setattr(threads, "granted_cores", lambda: 4)
            patch.setattr(threads, "load_torch", lambda: True)
            return planned_threads(settings, survey.columns, 2000, torch.device("cpu")).network

    assert [network(quality) for quality in ("fast", "balanced", "best")] == [1, 1, 4]


def test_the_process_of_the_trees_has_a_core_of_its_own():
    for cores in (1, 2, 3, 8):
        plan = Threads.planned(3e9, cores=cores, passive=True)
        assert plan.network == min(3, cores)
        assert plan.beside_trees + plan.trees == max(cores, 2)


def _interrupted():
    with worker_threads(1):
        assert torch.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
        raise ZeroDivisionError


def test_pools_are_limited_inside_and_restored_outside(allow):
    allow(2)
    with worker_threads(2):
        before = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    outside = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    with pytest.raises(ZeroDivisionError):
        _interrupted()
    assert torch.get_num_threads() == 2
    assert {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()} == outside
    # Torch's own pool is the only one with more than one thread.
    assert all(count == 1 for file, count in before.items() if "torch" not in file)


def test_a_fit_computes_in_its_threads_and_leaves_the_programs_settings_alone(
    allow, mixed_table, quick_settings, monkeypatch
):
    seen = []
    inner = fit.Network.fit

    def watched(*arguments, **options):
        seen.append({pool["num_threads"] for pool in threadpool_info()})
        return inner(*arguments, **options)

    monkeypatch.setattr(fit.Network, "fit", watched)
    allow(2)
    engine = DefaultEngine.fit(mixed_table(), quick_settings(), seed=1, device="cpu")
    engine.impute(mixed_table(), 1)
    assert seen == [{1}]
    assert torch.get_num_threads() == 2
    [chosen] = [e.counts for e in engine.events if e.kind == "training_threads_chosen"]
    assert chosen["threads"] == 1
    assert chosen["cores"] in (1, 2)


@pytest.mark.parametrize(
    "module", ["tabsoda.imputer", "tabsoda.engine.engine", "tabsoda.paper.engine"]
)
def test_torch_is_loaded_with_sleeping_threads_and_the_environment_stays(module):
    code = (
        f"import json, os, {module}\n"
        "from tabsoda._internal.threads import Threads\n"
        "plan = Threads.planned(1e12, cores=4)\n"
        "print(json.dumps([plan.network, plan.spin, os.environ.get('OMP_WAIT_POLICY')]))"
    )
    assert run(code) == [4, False, None]
    assert run("import torch\n" + code) == [1, True, None]


@pytest.mark.parametrize("name", WAITING)
def test_a_users_choice_of_how_threads_wait_holds(name, monkeypatch):
    for other in WAITING:
        monkeypatch.delenv(other, raising=False)
    decide = threads.load_torch.__wrapped__
    assert not decide()
    monkeypatch.setenv(name, "9")
    assert decide()
    threads.wait_passively()
    assert {other for other in WAITING if other in os.environ} == {name}


def test_draws_are_the_same_to_the_bit_whatever_the_machine_grants(
    allow, mixed_table, quick_settings, monkeypatch
):
    table, results = mixed_table(), []
    settings = quick_settings(training={"max_steps": 4})
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_affinity", lambda: 4)
    # The trees of so small a table would otherwise be fitted in this process.
    monkeypatch.setattr("tabsoda.engine.trees.background_fit._FEWEST_CELLS", 0)
    for allowed in (1, 4):
        allow(allowed)
        cells = DefaultEngine.fit(table, settings, seed=1, device="cpu").impute(table, 2)
        results.append((cells.draws, cells.mode, cells.median))
    assert all(np.array_equal(*pair) for pair in zip(*results, strict=True))
