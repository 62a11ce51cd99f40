"""What the miner's benchmark keeps on record, and what it was measured on."""

import importlib.util
import json
import platform
from pathlib import Path

import numpy as np
import pytest

MINER = Path(__file__).parents[1] / "benchmarks" / "miner"
MACHINE = {"system", "processor", "cores", "memory_gib", "python", "tabsoda", "numpy", "polars"}


@pytest.fixture(scope="module")
def record():
    spec = importlib.util.spec_from_file_location("miner_record", MINER / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_machine_is_recorded(record):
    machine = record.machine()
    assert set(machine) >= MACHINE | {"scipy", "scikit-learn"}
    assert machine["python"] == platform.python_version()
    assert machine["numpy"] == np.__version__
    assert machine["memory_gib"] > 0.1


@pytest.mark.parametrize("name", ["results.json", "scaling.json"])
def test_what_is_on_record_says_where_it_was_measured(name):
    content = json.loads((MINER / name).read_text(encoding="utf-8"))
    assert set(content["machine"]) >= MACHINE
    assert content["runs"]


def test_new_runs_replace_their_own_and_keep_the_others(record):
    old = {"machine": {"cores": 2}, "runs": [{"n": 1, "s": 9}, {"n": 2, "s": 9}]}
    new = {"machine": {"cores": 2}, "runs": [{"n": 3, "s": 5}, {"n": 1, "s": 5}]}
    joined = record.merged(old, new, ("n",))
    assert joined["runs"] == [{"n": 1, "s": 5}, {"n": 2, "s": 9}, {"n": 3, "s": 5}]


def test_runs_of_another_machine_are_not_kept(record):
    old = {"machine": {"cores": 64}, "runs": [{"n": 2, "s": 9}]}
    new = {"machine": {"cores": 2}, "runs": [{"n": 1, "s": 5}]}
    assert record.merged(old, new, ("n",)) == new
