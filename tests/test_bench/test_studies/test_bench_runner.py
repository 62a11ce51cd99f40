"""Running studies: folders, resuming, failures, engines, sanity checks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tabsoda._internal.parallel import run_tasks
from tabsoda.bench.cases import Mining, SurveyCase, load_case, save_case
from tabsoda.bench.studies.cells import CellSettings, run_cell
from tabsoda.bench.studies.runner import check_methods, run_study
from tabsoda.bench.studies.sanity_check import FailedCheckError, SanityCheck, check_method
from tabsoda.bench.studies.store import Store
from tabsoda.errors import InputError

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def _run(case, cells, folder, **options):
    store = Store(folder)
    options.setdefault("sanity_check", False)
    return run_study({case.name: case}, cells, store, **options), store


def test_a_cell_is_a_folder_with_settings_result_and_mark(case, make_cells, tmp_path):
    cells = make_cells("tiny_methods:HotDeck", 1)
    _, store = _run(case, cells, tmp_path)
    folder = tmp_path / "cells" / "tiny" / "mar" / "resolved" / "hotdeck-level" / "r000"
    assert sorted(path.name for path in folder.iterdir()) == [
        "DONE",
        "result.json",
        "settings.json",
    ]
    settings = json.loads((folder / "settings.json").read_text())
    assert CellSettings(**settings) == cells[0]
    [result] = store.results()
    assert result["settings"] == settings
    assert result["seconds"] > 0
    assert result["cells"]["scored"] == result["cells"]["hidden"] > 0


def test_a_run_resumes_and_extends(case, make_cells, tmp_path):
    log = tmp_path / "log"
    first = make_cells("tiny_methods:Remembers", 2, options={"path": str(log)})
    _run(case, first, tmp_path / "out")
    assert len(log.read_text().splitlines()) == 2
    summary, store = _run(case, first, tmp_path / "out")
    assert (summary.ran, summary.reused) == (0, 2)
    assert len(log.read_text().splitlines()) == 2
    more = make_cells("tiny_methods:Remembers", 3, options={"path": str(log)})
    summary, store = _run(case, more, tmp_path / "out")
    assert (summary.ran, summary.reused) == (1, 2)
    assert len(store.results()) == 3


def test_a_cell_without_its_mark_is_run_again(case, make_cells, tmp_path, comparable):
    cells = make_cells("tiny_methods:HotDeck", 2)
    _, store = _run(case, cells, tmp_path)
    before = comparable(store.results())
    folder = store.cell_folder(cells[1])
    (folder / "DONE").unlink()
    (folder / "result.json").write_text("{ half a fi")
    assert len(store.results()) == 1
    summary, store = _run(case, cells, tmp_path)
    assert summary.ran == 1
    assert comparable(store.results()) == before


def test_a_failed_cell_is_recorded_and_the_rest_runs(case, make_cells, tmp_path):
    cure = tmp_path / "cure"
    cells = make_cells("tiny_methods:Broken", 1, options={"path": str(cure)})
    cells += make_cells("tiny_methods:LeavesHoles", 1) + make_cells("tiny_methods:HotDeck", 1)
    summary, store = _run(case, cells, tmp_path / "out")
    assert (summary.ran, summary.failed) == (1, 2)
    failures = {one["settings"]["label"]: one for one in store.failures()}
    assert failures["Broken"]["error"] == "ZeroDivisionError"
    assert failures["Broken"]["message"] == "nothing to divide by"
    assert "not answers that the question allows" in failures["LeavesHoles"]["message"]
    assert [one["settings"]["label"] for one in store.results()] == ["HotDeck"]
    cure.touch()
    summary, store = _run(case, cells, tmp_path / "out")
    assert (summary.ran, summary.reused, summary.failed) == (1, 1, 1)
    assert [one["settings"]["label"] for one in store.failures()] == ["LeavesHoles"]


def test_other_settings_in_the_same_place_are_refused(case, make_cells, tmp_path):
    _run(case, make_cells("tiny_methods:HotDeck", 1), tmp_path)
    changed = make_cells("tiny_methods:HotDeck", 1, rate=0.5)
    with pytest.raises(InputError, match=r"rate = 0\.3.*rate = 0\.5"):
        _run(case, changed, tmp_path)
    other_data = make_cells("tiny_methods:HotDeck", 1, fingerprint="other")
    with pytest.raises(InputError, match="fingerprint"):
        _run(case, other_data, tmp_path)


def test_killing_a_run_loses_the_cell_in_progress_only(case, make_cells, tmp_path, comparable):
    cells = make_cells("tiny_methods:Slow", 4)
    (tmp_path / "tables").mkdir()
    save_case(case, tmp_path / "tables" / "tiny.npz")
    (tmp_path / "cells.json").write_text(json.dumps([cell.to_dict() for cell in cells]))
    script = str(ROOT / "benchmarks" / "imputation" / "run_packed.py")
    out = tmp_path / "out"
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, script, str(tmp_path), str(out)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None and not list(out.rglob("DONE")):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    store = Store(out)
    kept = len(store.results())
    assert 1 <= kept < 4
    summary, store = _run(case, cells, out)
    assert (summary.reused, summary.ran) == (kept, 4 - kept)
    _, whole = _run(case, cells, tmp_path / "whole")
    assert comparable(store.results()) == comparable(whole.results())


def test_joblib_gives_what_local_gives(case, make_cells, tmp_path, comparable):
    cells = make_cells("tiny_methods:HotDeck", 3) + make_cells("tiny_methods:Broken", 1)
    _, local = _run(case, cells, tmp_path / "local")
    summary, parallel = _run(case, cells, tmp_path / "joblib", engine="joblib", jobs=2)
    assert (summary.ran, summary.failed) == (3, 1)
    assert comparable(parallel.results()) == comparable(local.results())
    assert [f["message"] for f in parallel.failures()] == [f["message"] for f in local.failures()]


@pytest.mark.slow
def test_joblib_survives_a_killed_worker(case, make_cells, tmp_path):
    once = str(tmp_path / "once")
    cells = make_cells("tiny_methods:Dies", 1, label="always")
    cells += make_cells("tiny_methods:Dies", 1, label="once", options={"path": once})
    cells += make_cells("tiny_methods:HotDeck", 2)
    summary, store = _run(case, cells, tmp_path / "out", engine="joblib", jobs=2)
    assert (summary.ran, summary.failed) == (3, 1)
    [failed] = store.failures()
    assert (failed["settings"]["label"], failed["error"]) == ("always", "WorkerLost")


def test_every_task_has_one_outcome():
    for engine in ("local", "joblib"):
        outcomes = dict(run_tasks(pow, [(2, n) for n in range(7)], engine, 2))
        assert outcomes == {n: 2**n for n in range(7)}


def test_pairs_share_their_luck_and_methods_get_what_they_ask_for(case, make_cells, tmp_path):
    log = tmp_path / "log"
    mined = np.zeros(case.table.shape, dtype=bool)
    mined[:7, 0] = True
    with_mask = SurveyCase(case.name, case.table, case.followers, {Mining(): mined})
    options = {"path": str(log)}
    for mechanism in ("mcar", "mar"):
        for replication, cell in enumerate(
            make_cells("tiny_methods:Remembers", 2, mechanism=mechanism, options=options)
        ):
            assert cell.replication == replication
            run_cell(with_mask, cell)
    calls = [line.split()[:3] for line in log.read_text().splitlines()]
    assert calls[0] == calls[2]
    assert calls[1] == calls[3]
    assert calls[0][0] != calls[1][0]
    assert {line[1] for line in calls} == {"level"}
    assert {line[2] for line in calls} == {"7"}


def test_the_unresolved_track_shows_fewer_skips(case, make_cells, tmp_path):
    log = tmp_path / "log"
    options = {"path": str(log)}
    [cell] = make_cells("tiny_methods:Remembers", 1, options=options)
    [other] = make_cells("tiny_methods:Remembers", 1, options=options, track="unresolved")
    resolved, unresolved = run_cell(case, cell), run_cell(case, other)
    states = [json.loads("[" + line.split("[")[1]) for line in log.read_text().splitlines()]
    assert states[1][2] < states[0][2]
    assert unresolved["cells"]["scored"] < resolved["cells"]["scored"]
    assert unresolved["cells"]["hidden"] == resolved["cells"]["hidden"]


def test_a_packed_case_is_the_case(case, tmp_path, make_cells, comparable):
    mined = np.zeros(case.table.shape, dtype=bool)
    masks = {Mining("paper", "nsduh-200"): mined, Mining(): ~mined}
    packed = SurveyCase(case.name, case.table, case.followers, masks)
    save_case(packed, tmp_path / "tiny.npz")
    loaded = load_case(tmp_path / "tiny.npz")
    assert loaded.fingerprint == case.fingerprint
    assert loaded.table.states == case.table.states
    np.testing.assert_array_equal(loaded.table.values, case.table.values)
    assert loaded.mined.keys() == masks.keys()
    assert all(np.array_equal(loaded.mined[mining], masks[mining]) for mining in masks)
    cells = make_cells("tiny_methods:HotDeck", 1)
    here, there = (comparable([run_cell(c, cells[0])]) for c in (case, loaded))
    assert here == there


def test_a_packed_study_runs_without_data_frames(case, make_cells, tmp_path):
    (tmp_path / "tables").mkdir()
    save_case(case, tmp_path / "tables" / "tiny.npz")
    cells = make_cells("mode", 1)
    (tmp_path / "cells.json").write_text(json.dumps([cell.to_dict() for cell in cells]))
    script = ROOT / "benchmarks" / "imputation" / "run_packed.py"
    absent = ("polars", "pydantic", "narwhals", "pandas", "pyreadstat", "rich", "cyclopts")
    program = (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({absent!r}))\n"
        f"sys.argv = ['run_packed', {str(tmp_path)!r}, {str(tmp_path / 'out')!r}]\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert len(Store(tmp_path / "out").results()) == 1


def test_dead_methods_stop_the_study_by_name(case, make_cells, tmp_path):
    cells = make_cells("mode", 1) + make_cells("tiny_methods:HotDeck", 1)
    with pytest.raises(FailedCheckError, match="HotDeck: accuracy"):
        _run(case, cells, tmp_path, sanity_check=True)
    assert not Store(tmp_path).results()
    broken = make_cells("tiny_methods:Broken", 1)
    with pytest.raises(FailedCheckError, match=r"'Broken' fails.*nothing to divide by"):
        _run(case, broken, tmp_path, sanity_check=True)


def test_a_sanity_check_is_made_once_a_study(case, make_cells, tmp_path):
    log = tmp_path / "log"
    cells = make_cells("tiny_methods:Remembers", 2, options={"path": str(log)})
    store = Store(tmp_path / "out")
    for _ in range(2):
        with pytest.raises(FailedCheckError):
            check_methods(cells, store)
    assert len(log.read_text().splitlines()) == 1


def test_passing_means_better_in_both():
    assert SanityCheck("m", 0.6, 0.5, 0.9, 1.0).passed
    assert not SanityCheck("m", 0.5, 0.5, 0.9, 1.0).passed
    assert not SanityCheck("m", 0.6, 0.5, 1.0, 1.0).passed


@pytest.mark.slow
def test_boosting_passes():
    assert check_method("boosting", skip_view="level").passed


def test_unknown_methods_are_refused(case, make_cells):
    [cell] = make_cells("tiny_methods:Nothing", 1)
    with pytest.raises(InputError, match="tiny_methods:Nothing"):
        run_cell(case, cell)
