"""The demo does the whole job, tells it in 80 columns, and overwrites nothing unasked."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tabsoda.cli import demo_imputation
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.reading import read_survey
from tabsoda.skips.rule_set import RuleSet


@pytest.fixture(scope="module", autouse=True)
def short_training():
    """Train for a moment only: what is imputed is the same job, with poorer estimates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_imputation, "QUALITY", "tiny")
        yield


@pytest.fixture(scope="module")
def folder(short_training: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("demo") / "new" / "out"
    main(["demo", "-o", str(result), "--rows", "1500", "--seed", "4"])
    return result


def test_summary_is_for_people(folder: Path) -> None:
    text = (folder / "summary.txt").read_text(encoding="utf-8")

    assert max(len(line) for line in text.splitlines()) <= 80
    assert "1,500 respondents" in text
    assert "PARTNER is skipped when MARITAL is 1 'Married'" in text
    assert "tabsoda desk survey.sav" in text
    assert (folder / "survey.sav").is_file()


def test_files_are_those_of_the_survey_and_its_rules(folder: Path) -> None:
    truth = make_survey(1500, seed=4)
    mined = pl.read_parquet(folder / "mined_skip.parquet")
    planted = pl.read_parquet(folder / "skip.parquet").to_numpy()
    rules = RuleSet.from_toml(folder / "rules.toml")

    assert mined.columns == list(truth.names)
    assert np.array_equal(planted, truth.true_table.states.skipped)
    assert {"HELP", "DRINKS", "KM", "CUTDOWN", "TRUST4"} <= set(rules.targets)
    agreement = mined.to_numpy() & planted
    assert agreement.sum() > 0.99 * mined.to_numpy().sum()
    assert agreement.sum() > 0.9 * planted.sum()


def test_report_shows_the_imputed_cells_of_this_survey(folder: Path) -> None:
    summary = (folder / "summary.txt").read_text(encoding="utf-8")
    facts = json.loads((folder / "imputed" / "report.json").read_text(encoding="utf-8"))
    page = (folder / "imputed" / "report.html").read_text(encoding="utf-8")
    manifest = json.loads((folder / "imputed" / "manifest.json").read_text(encoding="utf-8"))

    assert "imputed/report.html" in summary
    assert manifest["inputs"]["data"]["sha256"] in page
    assert f"{facts['counts']['imputed']:,}" in page


def test_a_folder_in_use_is_left_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(SystemExit) as stop:
        main(["demo", "-o", str(tmp_path)])

    assert stop.value.code == 2
    assert "--force" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_json_gives_the_same_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    main(["demo", "-o", str(folder), "--rows", "300", "--seed", "4", "--json"])
    result = json.loads(capsys.readouterr().out)
    states = make_survey(300, seed=4).table.states
    contents = result["What is in the file"]

    assert contents["answered"] == states.answered.sum()
    assert contents["answered"] + contents["declined"] + contents["blank"] == states.states.size
    imputed = result["The missing answers, imputed"]
    assert imputed["n_imputed"] == imputed["scored"] + imputed["skipped_in_truth"]
    assert imputed["touched_skips"] == 0
    assert 0 < imputed["left_empty_rightly"] <= imputed["left_empty"]
    found = result["The routing, found from the blanks"]
    assert found["skipped"] == pl.read_parquet(folder / "mined_skip.parquet").to_numpy().sum()


def test_output_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(SystemExit) as stop:
        main(["demo", "-o", str(tmp_path / "out")])

    assert stop.value.code == 2
    assert "is a file" in capsys.readouterr().err


def test_imputed_tables_hold_the_answers_and_leave_skips(folder: Path) -> None:
    survey = read_survey(folder / "survey.csv", folder / "survey.toml")
    skipped = pl.read_parquet(folder / "mined_skip.parquet")
    point = pl.read_parquet(folder / "imputed" / "point.parquet")
    rules = RuleSet.from_toml(folder / "rules.toml")
    followers = set(rules.targets)

    assert len(list((folder / "imputed" / "imputations").iterdir())) == demo_imputation.N_DRAWS
    for position, name in enumerate(survey.table.names):
        answered = survey.states.answered[:, position]
        empty, known = point[name].is_null(), skipped[name]
        # A follower is also empty where the imputed answer of its gate skips it.
        assert empty.filter(known).all()
        assert name in followers or not empty.filter(~known).any()
        assert point[name].filter(answered).equals(survey.frame[name].filter(answered))


@pytest.mark.slow
def test_imputing_beats_mode_and_mean_on_every_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_imputation, "QUALITY", "fast")
    main(["demo", "-o", str(tmp_path / "out"), "--json"])
    scores = json.loads(capsys.readouterr().out)["The missing answers, imputed"]

    for name in ("nominal_accuracy", "ordinal_accuracy"):
        assert scores["imputed"][name] > scores["mode_mean"][name]
    for name in ("mace_median", "rmse"):
        assert scores["imputed"][name] < scores["mode_mean"][name]
    assert 0.5 < scores["between_draws"] < 0.85
