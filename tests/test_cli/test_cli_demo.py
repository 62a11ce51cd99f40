"""The demo does the whole job, tells it in 80 columns, and overwrites nothing unasked."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.skips.rule_set import RuleSet


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("demo") / "new" / "out"
    main(["demo", "-o", str(result), "--rows", "1500", "--seed", "4"])
    return result


def test_summary_is_for_people(folder: Path) -> None:
    text = (folder / "summary.txt").read_text(encoding="utf-8")

    assert max(len(line) for line in text.splitlines()) <= 80
    assert "1,500 people" in text
    assert "PARTNER is skipped when MARITAL is 1 'Married'" in text


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


def test_a_folder_in_use_is_left_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(SystemExit) as stop:
        main(["demo", "-o", str(tmp_path)])

    assert stop.value.code == 2
    assert "--force" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_json_gives_the_same_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo", "-o", str(folder), "--rows", "1500", "--seed", "4", "--force", "--json"])
    result = json.loads(capsys.readouterr().out)
    states = make_survey(1500, seed=4).table.states
    contents = result["What is in the file"]

    assert contents["answered"] == states.answered.sum()
    assert contents["answered"] + contents["declined"] + contents["blank"] == states.states.size
    found = result["The routing, found from the blanks"]
    assert found["skipped"] == pl.read_parquet(folder / "mined_skip.parquet").to_numpy().sum()


def test_output_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(SystemExit) as stop:
        main(["demo", "-o", str(tmp_path / "out")])

    assert stop.value.code == 2
    assert "is a file" in capsys.readouterr().err
