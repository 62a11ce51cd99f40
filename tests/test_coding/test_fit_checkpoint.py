"""The state of an unfinished fit: used by the same run only, and only if it is whole."""

from dataclasses import replace

import numpy as np
import pytest

from tabsoda.coding.fit_checkpoint import DamagedFileError, FitCheckpoint, OtherRunError
from tabsoda.schema import ColumnKind
from tabsoda.table import CodedTable

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False])}


def other_answer(table):
    values = table.values.copy()
    values[np.flatnonzero(table.states.answered[:, 1])[0], 1] += 1
    return CodedTable(table.columns, values, table.states)


def other_kind(table):
    columns = tuple(
        replace(c, kind=ColumnKind.NOMINAL) if c.name == "likes" else c for c in table.columns
    )
    return CodedTable(columns, table.values, table.states)


@pytest.fixture
def run(mixed_table, quick_settings):
    return {"table": mixed_table(), "settings": quick_settings(), "seed": 1, "weights": None}


def test_the_same_run_gets_its_state_back(run, tmp_path):
    path = tmp_path / "new" / "fit.safetensors"
    assert FitCheckpoint(path, **run).load() is None
    FitCheckpoint(path, **run).save({"a": ARRAYS["a"].T, "b": ARRAYS["b"]}, {"round": 2})
    arrays, content = FitCheckpoint(path, **run).load()
    np.testing.assert_array_equal(arrays["a"], ARRAYS["a"].T)
    assert arrays["b"].tolist() == [True, False]
    assert content["round"] == 2


@pytest.mark.parametrize("change", ["answer", "kind", "settings", "seed", "weights", "version"])
def test_the_state_of_another_run_is_not_used(change, run, quick_settings, tmp_path, monkeypatch):
    path = tmp_path / "fit.safetensors"
    FitCheckpoint(path, **run).save(ARRAYS, {})
    if change == "version":
        monkeypatch.setattr("tabsoda.coding.fit_checkpoint.__version__", "0.0.0")
    other = {
        "answer": {"table": other_answer(run["table"])},
        "kind": {"table": other_kind(run["table"])},
        "settings": {"settings": quick_settings(loss={"bins": 0.7})},
        "seed": {"seed": 2},
        "weights": {"weights": np.linspace(1, 2, 120)},
        "version": {},
    }[change]
    with pytest.raises(OtherRunError):
        FitCheckpoint(path, **(run | other)).load()


@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, 0.99])
def test_half_a_file_is_not_used(kept, run, tmp_path):
    path = tmp_path / "fit.safetensors"
    FitCheckpoint(path, **run).save(ARRAYS, {})
    content = path.read_bytes()
    path.write_bytes(content[: kept if kept > 1 or kept == 0 else int(kept * len(content))])
    with pytest.raises(DamagedFileError):
        FitCheckpoint(path, **run).load()


def test_a_changed_bit_is_noticed(run, tmp_path):
    path = tmp_path / "fit.safetensors"
    FitCheckpoint(path, **run).save(ARRAYS, {})
    content = bytearray(path.read_bytes())
    # The last bytes hold the arrays.
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError):
        FitCheckpoint(path, **run).load()
