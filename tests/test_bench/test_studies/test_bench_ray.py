"""The Ray engine on a cluster of two nodes; skipped where Ray is not installed."""

from pathlib import Path

import pytest

from tabsoda.bench.studies.runner import run_study
from tabsoda.bench.studies.store import Store

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
    ray.init(
        address=nodes.address,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}},
    )
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_two_nodes_give_what_one_process_gives(cluster, case, make_cells, tmp_path, comparable):
    assert len(ray.nodes()) == 2
    cells = make_cells("tiny_methods:HotDeck", 4) + make_cells("tiny_methods:Broken", 1)
    stores = {}
    for engine in ("local", "ray"):
        stores[engine] = Store(tmp_path / engine)
        summary = run_study(
            {case.name: case}, cells, stores[engine], engine=engine, sanity_check=False
        )
        assert (summary.ran, summary.failed) == (4, 1)
    assert comparable(stores["ray"].results()) == comparable(stores["local"].results())
    messages = [[f["message"] for f in store.failures()] for store in stores.values()]
    assert messages[0] == messages[1]


def test_a_killed_worker_is_retried_and_the_table_is_the_same(
    cluster, case, make_cells, tmp_path, comparable
):
    marker = tmp_path / "once"
    cells = make_cells("tiny_methods:Dies", 1, options={"path": str(marker)})
    cells += make_cells("tiny_methods:HotDeck", 2)
    store = Store(tmp_path / "ray")
    summary = run_study({case.name: case}, cells, store, engine="ray", jobs=2, sanity_check=False)
    assert marker.exists()
    assert (summary.ran, summary.failed) == (3, 0)
    # The marker stays, so that the same cells do not die here.
    local = Store(tmp_path / "local")
    run_study({case.name: case}, cells, local, sanity_check=False)
    assert comparable(store.results()) == comparable(local.results())


def test_a_worker_that_always_dies_is_recorded(cluster, case, make_cells, tmp_path):
    cells = make_cells("tiny_methods:Dies", 1) + make_cells("tiny_methods:HotDeck", 1)
    store = Store(tmp_path)
    summary = run_study({case.name: case}, cells, store, engine="ray", sanity_check=False)
    assert (summary.ran, summary.failed) == (1, 1)
    assert store.failures()[0]["error"] == "WorkerLost"
