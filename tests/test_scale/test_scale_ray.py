"""Shards as Ray tasks on a cluster of two nodes; skipped where Ray is not installed."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

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
