"""``tabsoda evaluate``: from a survey file to tables, resumed and extended."""

import json
import os
import re

import pytest

from tabsoda.cli.evaluate import _method_names
from tabsoda.cli.lengthy_methods import announcement
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey


@pytest.fixture
def survey(tmp_path):
    folder = tmp_path / "survey"
    make_survey(n_rows=400, n_columns=14, seed=3).write(folder)
    return folder


def _evaluate(survey, out, *options):
    main(
        [
            "evaluate",
            str(survey / "survey.csv"),
            "--survey",
            str(survey / "survey.toml"),
            "--skip-mask",
            str(survey / "skip.parquet"),
            "-o",
            str(out),
            *options,
        ]
    )


def _refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", *map(str, arguments)])
    assert caught.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_from_a_file_to_tables(survey, tmp_path, capsys):
    out = tmp_path / "out"
    common = ("--methods", "mode", "--mechanisms", "mar,mcar", "--rows", "300")
    _evaluate(survey, out, *common, "--replications", "2")
    shown = capsys.readouterr()
    assert "4 cells were run, 0 had been run before, 0 failed." in shown.out
    assert "Imputation performance, MAR" in shown.out
    assert "4/4 survey" in shown.err
    assert "s left" in shown.err
    results = json.loads((out / "results.json").read_text())
    assert len(results["cells"]) == 4
    accuracy = [
        cell["metrics"]["all"]["categorical_accuracy"]
        for cell in results["cells"]
        if cell["settings"]["mechanism"] == "mar"
    ]
    assert f"{sum(accuracy) / 2:.3f}*" in shown.out
    assert max(map(len, shown.out.split("\n\nIn ")[0].splitlines())) <= 80
    assert f"{sum(accuracy) / 2:.3f} ±" in (out / "tables.md").read_text()
    assert (out / "differences-mar-mace.svg").is_file()
    if os.name == "posix":
        assert not [path for path in (out, *out.rglob("*")) if path.stat().st_mode & 0o077]

    _evaluate(survey, out, *common, "--replications", "3")
    assert "2 cells were run, 4 had been run before" in capsys.readouterr().out

    with pytest.raises(SystemExit) as caught:
        _evaluate(survey, out, *common, "--rate", "0.1")
    assert caught.value.code == 2
    assert "with other settings" in " ".join(capsys.readouterr().err.split())


def test_a_study_of_survey_folders(survey, tmp_path, capsys, monkeypatch):
    from tabsoda.reading import read_survey
    from tabsoda.schema.files import load_schema, save_schema

    folder = tmp_path / "surveys" / "made_up"
    folder.mkdir(parents=True)
    source = read_survey(survey / "survey.csv", survey / "survey.toml")
    source.frame.write_parquet(folder / "values.parquet")
    save_schema(load_schema(survey / "survey.toml"), folder / "schema.json")
    (folder / "skip.parquet").write_bytes((survey / "skip.parquet").read_bytes())
    study = tmp_path / "study.toml"
    study.write_text(
        """
        surveys = ["made_up"]
        mechanisms = ["mnar"]
        replications = 2
        tracks = ["resolved", "unresolved"]
        sanity_check = false
        [[methods]]
        name = "mode"
        [[methods]]
        name = "tabsoda.bench.methods.mode_mean:ModeMean"
        label = "Median"
        options = { number = "median" }
        """
    )
    monkeypatch.setenv("TABSODA_SURVEYS", str(tmp_path / "surveys"))
    main(["evaluate", "--study", str(study), "-o", str(tmp_path / "out"), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert len(result["cells"]) == 2 * 2 * 2
    assert result["failures"] == []
    errors = {
        cell["settings"]["label"]: cell["metrics"]["all"]["mae_raw"]
        for cell in result["cells"]
        if (cell["settings"]["track"], cell["settings"]["replication"]) == ("resolved", 0)
    }
    # The median is the better guess where errors count by their size.
    assert errors["Median"] < errors["Mode/mean"]
    main(["evaluate", "--study", str(study), "-o", str(tmp_path / "one"), "--methods", "Median"])
    assert "4 cells were run" in capsys.readouterr().out


def test_bad_requests_are_refused(survey, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("TABSODA_SURVEYS", raising=False)
    data, out = survey / "survey.csv", tmp_path / "out"
    described = (data, "--survey", survey / "survey.toml", "-o", out)
    assert "no survey to evaluate on" in _refused(capsys, "-o", out)
    assert "mechanisms.0" in _refused(capsys, *described, "--mechanisms", "luck")
    assert "Unknown method" in _refused(capsys, *described, "--methods", "magic")
    assert "does not return an imputation method" in _refused(
        capsys, *described, "--methods", "os:getcwd"
    )
    assert "does not exist" in _refused(capsys, "--study", tmp_path / "none.toml", "-o", out)
    lacking = _refused(capsys, "--study", survey / "survey.toml", "-o", out)
    assert "lacks the setting 'surveys'" in lacking
    assert not out.exists()
    (tmp_path / "file").touch()
    in_file = (data, "--survey", survey / "survey.toml", "-o", tmp_path / "file" / "out")
    assert "cannot be created" in _refused(capsys, *in_file, "--methods", "mode")


def test_a_dead_method_stops_the_run(survey, tmp_path, capsys):
    dead = "tabsoda.bench.methods.mode_mean:ModeMean"
    with pytest.raises(SystemExit) as caught:
        _evaluate(survey, tmp_path / "out", "--methods", dead, "--mechanisms", "mcar")
    assert caught.value.code == 1
    message = " ".join(capsys.readouterr().err.split())
    assert "do not beat mode and mean on the embedded survey: Mode/mean" in message


def test_all_leaves_out_what_takes_hours_and_says_how_to_run_it(capsys):
    names = _method_names("all")
    assert {"mode", "mice", "missforest", "default-engine"} <= set(names)
    assert not {"tabsoda", "tabsoda-n", "diffputer", "tabsyn"} & set(names)
    said = " ".join(capsys.readouterr().err.split())
    assert "take hours without a GPU: diffputer, tabcsdi, tabsyn, tabdiff, tabsoda," in said
    more = _method_names("all,tabsoda,package.module:own")
    assert sorted(more) == sorted([*names, "tabsoda", "package.module:own"])
    assert _method_names("tabsoda,mode") == ["tabsoda", "mode"]


def test_the_time_of_the_papers_engine_is_announced_before_the_start():
    table = make_survey(n_rows=400, n_columns=14, seed=3).table
    on_cpu = {"device": "cpu"}
    cells = [("s", "mode", {}), *[("s", "tabsoda", on_cpu)] * 2, ("s", "diffputer", {})]
    said = announcement(cells, {"s": table})
    assert said.startswith("3 of 4 cells")
    assert "tabsoda (2) and diffputer (1)" in said
    assert "no estimate for diffputer" in said
    both = _seconds_said(said)
    one = _seconds_said(announcement(cells[:2], {"s": table}))
    small = _seconds_said(
        announcement([("s", "tabsoda", on_cpu | {"preset": "small"})], {"s": table})
    )
    # The probe of the machine's speed varies while other programs run.
    assert both == pytest.approx(2 * one, rel=0.5)
    assert both > 20 * small
    assert announcement([("s", "mode", {})], {"s": table}) is None


def _seconds_said(text):
    number, unit = re.search(r"one at a time: tabsoda ([\d.]+) (\w+)", text).groups()
    return float(number) * {"s": 1, "m": 60, "h": 3600}[unit[0]]
