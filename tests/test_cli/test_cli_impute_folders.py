"""``tabsoda impute``: no interruption, full disk or foreign folder spoils anything."""

import json
import signal

import polars as pl
import pytest
from impute_runs import (
    TINY,
    TINY_PAPER,
    assert_complete,
    assert_same,
    contents,
    disk_full_at,
    impute,
    impute_arguments,
    refused,
    start,
    wait_for,
)

from tabsoda import TabSODAImputer
from tabsoda.cli.main import main


def test_an_interrupted_run_resumes_after_the_training_of_the_network(survey, tmp_path):
    # Long enough that the signal arrives before the model is finished.
    slow = {"trees__effort": "full", "regressions__sets": "10", "regressions__rounds": "3"}
    arguments = impute_arguments(survey, tmp_path / "out", **slow)
    process = start(arguments)
    wait_for(tmp_path / "out" / ".checkpoint" / "network.safetensors", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Finished stages and draws are kept" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".checkpoint"]

    main(arguments)
    assert_complete(tmp_path / "out")
    events = json.loads((tmp_path / "out" / "manifest.json").read_text())["events"]
    assert [e["kind"] for e in events].count("training_resumed_after_network") == 1
    impute(survey, tmp_path / "whole", **slow)
    assert_same(tmp_path / "out", tmp_path / "whole")


def test_an_interrupted_run_of_the_papers_engine_resumes_after_the_last_round(survey, tmp_path):
    arguments = impute_arguments(survey, tmp_path / "out", *TINY_PAPER, em__rounds="8")
    process = start(arguments)
    wait_for(tmp_path / "out" / ".checkpoint" / "round.json", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Finished stages and draws are kept" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".checkpoint"]
    done = json.loads((tmp_path / "out" / ".checkpoint" / "round.json").read_text())["round"]
    assert 1 <= done < 8

    main(arguments)
    assert_complete(tmp_path / "out")
    events = json.loads((tmp_path / "out" / "manifest.json").read_text())["events"]
    resumed = [e["counts"] for e in events if e["kind"] == "training_resumed_after_round"]
    assert resumed == [{"round": done}]
    impute(survey, tmp_path / "whole", *TINY_PAPER, em__rounds="8")
    tables, _ = contents(tmp_path / "out")
    expected, _ = contents(tmp_path / "whole")
    assert all(tables[name].equals(expected[name]) for name in expected)


@pytest.mark.slow
def test_killed_while_writing_nothing_passes_for_a_result(survey, tmp_path):
    out = tmp_path / "out"
    arguments = impute_arguments(survey, out, "-m", "150")
    process = start(arguments)
    wait_for(out / ".writing" / "imputations" / "020.parquet", process)
    process.kill()
    process.communicate(timeout=60)
    assert not (out / "manifest.json").exists()
    assert not (out / "point.parquet").exists()
    main(arguments)
    assert_complete(out)


@pytest.mark.parametrize(("limit", "kept"), [(4000, False), (40_000, True)])
def test_no_room_for_the_tables_or_for_a_round_is_reported(limit, kept, survey, tmp_path):
    out = tmp_path / "out"
    arguments = impute_arguments(survey, out, "-m", "1", "--no-report")

    def limit_file_size():
        import resource

        # A table takes about 10,000 bytes, a round about 58,000.
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = start(arguments, preexec_fn=limit_file_size)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    message = " ".join(err.split())
    assert "cannot be written to" in message
    assert "File too large" in message
    assert ("nothing has been computed yet" in message) != kept
    assert out.exists() == kept
    assert not list(out.glob("[!.]*"))


def test_no_room_for_the_result_keeps_the_earlier_one(survey, tmp_path, capsys, monkeypatch):
    impute(survey, tmp_path, "-m", "1")
    with monkeypatch.context() as patch:
        disk_full_at(patch, "002.parquet")
        message = refused(
            capsys, *impute_arguments(survey, tmp_path, "-m", "2", "--seed", "5", "--force")
        )
    assert "No space left on device" in message
    assert json.loads((tmp_path / "manifest.json").read_text())["options"]["seed"] == 0
    # The model is kept next to it, so that it does not have to be fitted again.
    assert (tmp_path / ".checkpoint" / "model" / "model.safetensors").exists()
    impute(survey, tmp_path, "-m", "2", "--seed", "5", "--force")
    assert_complete(tmp_path)


def test_folders_that_are_not_free(survey, tmp_path, capsys):
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "manifest.json").write_text("{}")
    assert "finished result" in refused(capsys, *impute_arguments(survey, tmp_path / "done"))
    (tmp_path / "mine.txt").write_text("keep")
    assert "is not empty" in refused(capsys, *impute_arguments(survey, tmp_path))
    assert "is a file" in refused(capsys, *impute_arguments(survey, tmp_path / "mine.txt" / "x"))
    assert "contains the input data" in refused(
        capsys, *impute_arguments(survey, survey, "--force")
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["done", "mine.txt"]


def test_an_unfinished_run_of_another_command_is_left_alone(survey, tmp_path, capsys, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TabSODAImputer, "impute", stopped)
        with pytest.raises(SystemExit):
            impute(survey, tmp_path, "--seed", "1")
    before = (tmp_path / ".checkpoint" / "network.safetensors").read_bytes()
    message = refused(capsys, *impute_arguments(survey, tmp_path, "--seed", "2"))
    assert "unfinished run of another command. Found: seed 1 there, 2 now" in message
    other = refused(
        capsys, *impute_arguments(survey, tmp_path, "--seed", "1", "--rules", survey / "rules.toml")
    )
    assert "another command" in other
    assert (tmp_path / ".checkpoint" / "network.safetensors").read_bytes() == before
    impute(survey, tmp_path, "--seed", "2", "--force")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["options"]["seed"] == 2
    kinds = {event["kind"] for event in manifest["events"]}
    assert kinds.isdisjoint({"training_resumed_after_network", "fitted_model_reused"})


def test_force_replaces_a_result_whole(survey, tmp_path):
    impute(survey, tmp_path, "-m", "3")
    impute(survey, tmp_path, "-m", "1", "--force")
    assert_complete(tmp_path)
    assert len(list((tmp_path / "imputations").iterdir())) == 1


def test_force_takes_nothing_along_that_no_run_has_written(survey, tmp_path, capsys):
    foreign, result = tmp_path / "foreign", tmp_path / "result"
    (foreign / "model").mkdir(parents=True)
    (foreign / "model" / "mine.txt").write_text("keep")
    (foreign / "report.html").write_text("keep")
    message = refused(capsys, *impute_arguments(survey, foreign, "--force"))
    assert "would overwrite files in" in message
    assert "Found: model/mine.txt, report.html" in message
    impute(survey, result, "-m", "1")
    (result / "imputations" / "notes.txt").write_text("keep")
    assert "imputations/notes.txt" in refused(
        capsys, *impute_arguments(survey, result, "-m", "1", "--force")
    )
    assert (foreign / "model" / "mine.txt").read_text() == "keep"
    assert (foreign / "report.html").read_text() == "keep"
    (result / "imputations" / "notes.txt").rename(tmp_path / "notes.txt")
    impute(survey, result, "-m", "1", "--force")
    assert_complete(result)
    assert (tmp_path / "notes.txt").read_text() == "keep"


@pytest.mark.parametrize("option", ["-m", "--seed", "--shard-rows"])
def test_half_a_number_is_refused_and_not_rounded(option, survey, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main(impute_arguments(survey, tmp_path / "out", option, "1.5"))
    assert caught.value.code == 2
    assert "found '1.5', expected a whole number" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_question_that_nobody_answered_is_planned_imputed_and_reported(survey, tmp_path, capsys):
    frame = pl.read_csv(survey / "survey.csv", infer_schema=False)
    (tmp_path / "in").mkdir()
    frame.with_columns(pl.lit(None).alias("SILENT")).write_csv(tmp_path / "in" / "survey.csv")
    asked = ["impute", str(tmp_path / "in" / "survey.csv"), "-m", "1", *TINY]
    main([*asked, "--dry-run"])
    assert "300 cells stay missing: nobody answered" in capsys.readouterr().out
    main([*asked, "-o", str(tmp_path / "out")])
    assert_complete(tmp_path / "out")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "SILENT" in json.dumps(report)
    for below in ("0", "200"):
        page = tmp_path / f"{below}.html"
        main(["report", str(tmp_path / "out"), "--suppress-below", below, "-o", str(page)])
        assert "SILENT" in page.read_text()
