"""``tabsoda impute`` after a failure: the cause is stated, and finished work is not repeated."""

import json
import shutil
from collections import namedtuple

import polars as pl
import pytest
from impute_runs import (
    assert_complete,
    assert_same,
    disk_full_at,
    impute,
    impute_arguments,
    refused,
)

from tabsoda import TabSODAImputer
from tabsoda._version import __version__
from tabsoda.cli.main import main
from tabsoda.engine.draws import Drawer
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.ensemble import Ensemble
from tabsoda.results import Imputations


@pytest.fixture(scope="module")
def undisturbed(survey, tmp_path_factory):
    """Return the results of runs that nothing stopped, by whether rules were given."""
    out = tmp_path_factory.mktemp("undisturbed")
    for name, rules in (("plain", []), ("routed", _rules(survey))):
        impute(survey, out / name, "-m", "2", "--no-report", *rules)
    return out


def _rules(survey):
    return ["--rules", str(survey / "rules.toml")]


def _reused(out):
    events = json.loads((out / "manifest.json").read_text())["events"]
    reused = ("fitted_model_reused", "finished_draws_reused")
    return {e["kind"]: e["counts"] for e in events if e["kind"] in reused}


@pytest.mark.parametrize("kind", ["plain", "routed"])
def test_after_a_failed_write_nothing_is_fitted_or_drawn_again(
    kind, survey, undisturbed, tmp_path, capsys, monkeypatch
):
    out = tmp_path / "out"
    asked = ["-m", "2", "--no-report", *(_rules(survey) if kind == "routed" else [])]
    with monkeypatch.context() as patch:
        disk_full_at(patch, "002.parquet")
        message = refused(capsys, *impute_arguments(survey, out, *asked))
    assert "cannot be written to. Found: No space left on device" in message
    assert "Free some disk space, then run the same command again" in message
    assert [path.name for path in out.iterdir()] == [".checkpoint"]

    def forbidden(*arguments, **options):
        raise AssertionError("computed again")

    for owner, name in ((DefaultEngine, "fit"), (Drawer, "draw"), (Ensemble, "points")):
        monkeypatch.setattr(owner, name, forbidden)
    impute(survey, out, *asked)
    assert_complete(out)
    assert_same(out, undisturbed / kind)
    found = _reused(out)
    assert found["fitted_model_reused"] == {"version": __version__}
    draws = found["finished_draws_reused"]["draws"]
    assert draws[:3] == ["point", "draw 1", "draw 2"]
    assert ("routed draw 2" in draws) == (kind == "routed")


def test_a_run_interrupted_while_drawing_resumes_with_the_next_draw(
    survey, undisturbed, tmp_path, capsys, monkeypatch
):
    out = tmp_path / "out"
    draw = Drawer.draw

    def stopped(self, table, row_keys, number):
        if number == 2:
            raise KeyboardInterrupt
        return draw(self, table, row_keys, number)

    with monkeypatch.context() as patch:
        patch.setattr(Drawer, "draw", stopped)
        with pytest.raises(SystemExit) as caught:
            impute(survey, out, "-m", "2", "--no-report")
    assert caught.value.code == 130
    assert "Finished stages and draws are kept" in capsys.readouterr().err
    impute(survey, out, "-m", "2", "--no-report")
    assert _reused(out)["finished_draws_reused"] == {"draws": ["point", "draw 1"]}
    assert_same(out, undisturbed / "plain")


def test_draws_of_another_number_of_draws_are_not_used(survey, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        disk_full_at(patch, "002.parquet")
        refused(capsys, *impute_arguments(survey, out, "-m", "2"))
    impute(survey, out, "-m", "3", "--no-report")
    assert _reused(out).keys() == {"fitted_model_reused"}
    assert_complete(out)


def test_what_is_not_the_disk_is_not_blamed_on_it(survey, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    complete = Imputations.complete

    def uncastable(self, number):
        return pl.Series([object()]).cast(pl.Int64) if number == 2 else complete(self, number)

    with monkeypatch.context() as patch:
        patch.setattr(Imputations, "complete", uncastable)
        message = refused(capsys, *impute_arguments(survey, out, "-m", "2"), code=1)
    assert "the disk is not the cause: " in message
    assert "cannot cast 'Object' type (results/saving.py, line " in message
    assert "room" not in message
    impute(survey, out, "-m", "2", "--no-report")
    assert _reused(out).keys() == {"fitted_model_reused", "finished_draws_reused"}


@pytest.fixture
def no_fit(monkeypatch):
    """Let a fit fail the test."""

    def forbidden(*arguments, **options):
        raise AssertionError("fitted before the outputs were checked")

    monkeypatch.setattr(TabSODAImputer, "fit", forbidden)


@pytest.mark.usefixtures("no_fit")
def test_a_file_in_the_way_is_found_before_the_fit(survey, tmp_path, capsys):
    (tmp_path / ".writing").write_text("keep")
    message = refused(capsys, *impute_arguments(survey, tmp_path, "--force"))
    assert "cannot be written to. Found: File exists: " in message
    assert "nothing has been computed yet" in message
    assert [path.name for path in tmp_path.iterdir()] == [".writing"]
    assert (tmp_path / ".writing").read_text() == "keep"


@pytest.mark.usefixtures("no_fit")
def test_too_little_room_is_found_before_the_fit(survey, tmp_path, capsys, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**5, 10**5))
    message = refused(capsys, *impute_arguments(survey, tmp_path / "out", "-m", "20"))
    assert "too little space for the result. Found: 0.1 MB free. Expected: about" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("no_fit")
def test_a_table_that_cannot_be_written_is_found_before_the_fit(
    survey, tmp_path, capsys, monkeypatch
):
    def uncastable(*arguments):
        raise pl.exceptions.ComputeError("cannot cast 'Object' type")

    monkeypatch.setattr("tabsoda.results.record._cells_frame", uncastable)
    message = refused(capsys, *impute_arguments(survey, tmp_path / "out"), code=1)
    assert "ComputeError: cannot cast 'Object' type (results/record.py, line " in message
    assert not (tmp_path / "out").exists()


def test_a_shard_that_could_not_be_written_is_not_drawn_again(
    survey, tmp_path, capsys, monkeypatch
):
    pl.read_csv(survey / "survey.csv", infer_schema_length=None).write_parquet(
        tmp_path / "survey.parquet"
    )
    arguments = impute_arguments(survey, tmp_path / "out", "-m", "2", "--shard-rows", "150")
    arguments[1] = str(tmp_path / "survey.parquet")
    with monkeypatch.context() as patch:
        # Only the shards have parts, so that the trial result is written.
        disk_full_at(patch, "part-00001")
        message = refused(capsys, *arguments)
    assert "No space left on device" in message
    with monkeypatch.context() as patch:
        patch.setattr(Drawer, "draw", lambda *a, **k: pytest.fail("drawn again"))
        main(arguments)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    reused = [e["counts"] for e in manifest["events"] if e["kind"] == "finished_draws_reused"]
    assert reused == [{"draws": ["point", "draw 1", "draw 2"]}]
    assert not (tmp_path / "out" / ".checkpoint").exists()
