"""``tabsoda report`` and the report of ``tabsoda impute``, on a real small run."""

import json

import pytest

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.imputer import TabSODAImputer
from tabsoda.results.result_folder import load_result


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report-run")
    truth = make_survey(400, n_columns=16, seed=3, nonresponse=0.15)
    truth.write(folder / "data")
    truth.rules.to_toml(folder / "data" / "rules.toml")
    data = folder / "data"
    main(
        [
            "impute", str(data / "survey.csv"), "--survey", str(data / "survey.toml"),
            "--rules", str(data / "rules.toml"), "--accept-all", "--device", "cpu",
            "-m", "3", "--seed", "7", "-o", str(folder / "out"), "--quality", "tiny",
        ]
    )  # fmt: skip
    return folder / "out"


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_impute_writes_the_report_of_its_run(out):
    summary = json.loads((out / "report.json").read_text())
    manifest = json.loads((out / "manifest.json").read_text())
    assert summary["counts"]["imputed"] == manifest["counts"]["imputed"]
    assert summary["methods"]["seed"] == 7
    assert summary["methods"]["inputs"][0]["sha256"] == manifest["inputs"]["data"]["sha256"]
    assert summary["draws"] == 3
    result = load_result(out)
    counts = result.counts()
    assert {one["name"]: one["imputed"] for one in summary["variables"]} == counts
    page = (out / "report.html").read_text()
    assert manifest["inputs"]["data"]["sha256"] in page
    assert all(rule["sentence"].split()[0] in page for rule in summary["routing"]["rules"])


def test_overimputed_cells_are_scored_against_their_answers(out):
    found = json.loads((out / "report.json").read_text())["calibration"]
    answered = load_result(out).table.states.answered.sum()
    assert found["rows"] == 400
    assert 0.08 * answered < found["cells"] < 0.12 * answered
    cells = sum(one["cells"] for one in found["bins"])
    right = sum(one["cells"] * one["accuracy"] for one in found["bins"]) / cells
    assert found["accuracy"] == pytest.approx(right)
    assert 0.2 < found["mode_accuracy"] < 0.9
    # A model that was hardly trained is near the mean, not far off on either side.
    assert 0.5 < found["relative_error"] < 2


def test_report_again_with_groups_and_limits(out, tmp_path, capsys):
    page = tmp_path / "public.html"
    arguments = ["report", str(out), "--strata", "SEX", "--suppress-below", "10", "-o", str(page)]
    main(arguments)
    told = capsys.readouterr().out
    assert f"Report: {page}" in told
    assert max(map(len, told.split("Report:")[0].splitlines())) <= 80
    summary = json.loads(page.with_suffix(".json").read_text())
    assert summary["suppressed_below"] == 10
    groups = {one["group"] for v in summary["variables"] for one in v.get("strata", [])}
    assert groups >= {"1 'Male'", "2 'Female'"}
    assert "&lt;10" in page.read_text()
    assert "already exists" in refused(capsys, *arguments)
    main([*arguments, "--force"])


def test_the_same_folder_gives_the_same_report(out):
    before = (out / "report.html").read_bytes()
    main(["report", str(out)])
    assert (out / "report.html").read_bytes() == before


def test_what_cannot_be_reported_is_refused(out, tmp_path, capsys):
    assert "There is no column 'SEXX'" in refused(capsys, "report", out, "--strata", "SEXX")
    assert "ends in .html" in refused(capsys, "report", out, "-o", tmp_path / "report.pdf")
    assert "does not exist" in refused(capsys, "report", tmp_path / "nowhere")
    # Its JSON would be the manifest.
    told = refused(capsys, "report", out, "-o", out / "manifest.html", "--force")
    assert "is one of the files to read" in told
    assert json.loads((out / "manifest.json").read_text())["tabsoda"]
    (tmp_path / "empty").mkdir()
    assert "does not contain a result" in refused(capsys, "report", tmp_path / "empty")
    assert not (tmp_path / "empty" / "report.html").exists()


def test_a_result_reports_from_python(out, tmp_path):
    result = load_result(out)
    imputer = TabSODAImputer.load(out / "model", "cpu")
    alone = result.report(tmp_path / "alone.html")
    assert alone["calibration"] is None
    assert alone["routing"] is None
    whole = result.report(tmp_path / "whole.html", imputer=imputer, strata=["SEX"])
    assert whole["calibration"] is not None
    assert len(whole["routing"]["rules"]) == len(imputer.rules_)
    assert (tmp_path / "whole.html").stat().st_size > (tmp_path / "alone.html").stat().st_size
