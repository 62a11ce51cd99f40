"""Shards as Ray tasks on a cluster of two nodes; skipped where Ray is not installed."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tabsoda._internal.parallel import WorkerLost, run_tasks
from tabsoda.datasets import make_survey
from tabsoda.imputer import TabSODAImputer
from tabsoda.scale import impute_shards

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_two_nodes_give_what_one_process_gives(cluster, tmp_path):
    assert len(ray.nodes()) == 2
    survey = make_survey(300, 12, seed=2, nonresponse=0.2)
    frame = survey.to_frame()
    pl.concat([frame, frame[:50]]).write_parquet(tmp_path / "survey.parquet")
    imputer = TabSODAImputer(quality="tiny", description=survey.schema(), device="cpu")
    imputer.fit(tmp_path / "survey.parquet")
    for engine in ("local", "ray"):
        impute_shards(
            tmp_path / "survey.parquet",
            imputer,
            tmp_path / engine,
            m=2,
            shard_rows=90,
            engine=engine,
        )
    for table in ("point", "point_median", "imputations/001", "imputations/002", "states"):
        local, remote = (
            pl.read_parquet(tmp_path / engine / table / "*.parquet") for engine in ("local", "ray")
        )
        assert remote[".id"].to_list() == list(range(1, 351))
        assert_frame_equal(remote, local, check_exact=True)


def test_a_task_whose_worker_dies_is_repeated_and_one_that_always_dies_is_named(cluster, tmp_path):
    mark = str(tmp_path / "mark")

    # Nested, so that workers receive the functions themselves and need not find this file.
    def square(mark, number):
        import os
        from pathlib import Path

        path = Path(f"{mark}-{number}")
        is_first = not path.exists()
        path.touch()
        if number == 2 or (number == 1 and is_first):
            os.kill(os.getpid(), 9)
        return number * number

    found = dict(run_tasks(square, [(mark, number) for number in range(4)], "ray", 2))
    lost = found.pop(2)
    assert found == {0: 0, 1: 1, 3: 9}
    assert isinstance(lost, WorkerLost)
    assert "died" in str(lost)


def test_an_error_of_a_worker_is_one_plain_line(cluster):
    def fails(number):
        raise RuntimeError("the disk is on fire")

    ((_, lost),) = run_tasks(fails, [(1,)], "ray")
    assert isinstance(lost, WorkerLost)
    assert str(lost) == "RuntimeError: the disk is on fire"
