import json

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tabsoda.cli.inspect import _with_ranges
from tabsoda.cli.main import main
from tabsoda.reading import read_survey
from tabsoda.schema.files import load_schema

COLUMNS = 80


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    frame = pd.DataFrame(
        {
            "CASEID": range(100, 130),
            "smoked": [1, 2, 2, -7, 1] * 6,
            "age_first": [15, -1, -1, -1, 17] * 6,
            "health": [1, 2, 3, 4, 99] * 6,
        }
    )
    labels = {
        "smoked": {1: "Yes", 2: "No", -7: "Refused"},
        "age_first": {-1: "Inapplicable"},
        "health": {1: "Excellent", 2: "Good", 3: "Fair", 4: "Poor"},
    }
    pyreadstat.write_sav(
        frame,
        tmp_path / "wave.sav",
        column_labels={"smoked": "Have you ever smoked a whole cigarette, even once in your life?"},
        variable_value_labels=labels,
    )
    return tmp_path / "wave.sav"


def run(capsys, *arguments) -> str:
    main(["inspect", *map(str, arguments)])
    return capsys.readouterr().out


def fail(capsys, *arguments) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["inspect", *map(str, arguments)])
    assert stopped.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return " ".join(shown.err.split())


def test_the_table_fits_and_counts(data, capsys):
    text = run(capsys, data)
    assert max(map(len, text.splitlines())) <= COLUMNS
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert lines["wave.sav:"][1:] == ["30", "rows,", "4", "columns"]
    assert lines["smoked"][1:6] == ["nominal", "2", "24", "6", "0"]
    assert lines["age_first"][1:6] == ["continuous", "12", "0", "18", "c?"]
    assert lines["health"][1:5] == ["ordinal", "4", "24", "6"]
    assert lines["CASEID"][1] == "id"
    assert "health: 99 (other)" in text
    assert "-o survey.toml" in text


def test_the_proposal_is_written_and_reads_the_file_again(data, tmp_path, capsys):
    target = tmp_path / "survey.toml"
    run(capsys, data, "-o", target)
    proposal = load_schema(target)
    assert proposal["smoked"].level_labels[1] == "Yes"
    assert "guess" in proposal["health"].note
    assert read_survey(data, target).states == read_survey(data).states


def test_nothing_is_overwritten_unasked(data, tmp_path, capsys):
    target = tmp_path / "survey.toml"
    target.write_text("mine")
    assert "--force" in fail(capsys, data, "-o", target)
    assert target.read_text() == "mine"
    run(capsys, data, "-o", target, "--force")
    assert target.read_text() != "mine"


def test_json_has_all_of_it(data, capsys):
    result = json.loads(run(capsys, data, "--json"))
    by_name = {variable["name"]: variable for variable in result["variables"]}
    assert by_name["age_first"]["skipped"] == 18
    assert by_name["smoked"]["codes"] == {"-7": "refused"}
    assert {"codes_taken_as_no_answer", "role_guessed"} <= {f["kind"] for f in result["flags"]}
    assert result["events"]


def test_bad_input_ends_with_2_and_leaves_nothing(data, tmp_path, capsys):
    target = tmp_path / "out.toml"
    assert "does not exist" in fail(capsys, tmp_path / "none.sav", "-o", target)
    assert "CASEID" not in fail(capsys, data, "--survey", tmp_path / "no.toml", "-o", target)
    survey = tmp_path / "short.toml"
    survey.write_text('[[variable]]\nname = "smoked"\nkind = "nominal"\nlevels = [1]\n')
    message = fail(capsys, data, "--survey", survey, "-o", target)
    assert "Column 'smoked' has values that are not in the description" in message
    assert "'2' (12x)" in message
    assert ".toml or .json" in fail(capsys, data, "-o", tmp_path / "out.yaml")
    assert not target.exists()
    run(capsys, data, "--survey", survey, "--unlisted", "missing")


@pytest.mark.parametrize("name", ["nlsy97_religion_panel", "nsfg2006_2010_male"])
def test_wide_surveys_stay_readable(surveys, capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    folder = surveys / name
    text = run(capsys, folder / "raw.parquet", "--survey", folder / "schema.json")
    lines = text.splitlines()
    assert max(map(len, lines)) <= COLUMNS
    n_columns = pl.read_parquet_schema(folder / "raw.parquet")
    assert len(lines) <= len(n_columns) + 40


def test_guesses_that_differ_in_numbers_are_listed_with_their_range(tmp_path, capsys):
    pl.DataFrame(
        {
            "a": [1, 2, 3, 4] * 6,
            "b": [1, 2, 3] * 8,
            "c": [*range(12)] * 2,
            "d": ["x", "y", "z"] * 8,
        }
    ).write_csv(tmp_path / "a.csv")
    text = " ".join(run(capsys, tmp_path / "a.csv").split())
    assert "a 3 to 4 different whole numbers, no labels (2)" in text
    assert "b 12 different whole numbers (1)" in text
    assert "c 3 different texts (1)" in text


def test_doubtful_kinds_come_first(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    frame = pd.DataFrame({"ever": [1.0, 2.0] * 20, "odd": [1.0, 2.0, 3.0, 5.0] * 10})
    pyreadstat.write_sav(
        frame,
        tmp_path / "a.sav",
        variable_value_labels={"ever": {1: "Yes", 2: "No"}},
        variable_measure={"ever": "scale", "odd": "scale"},
    )
    text = run(capsys, tmp_path / "a.sav")
    lines = text.splitlines()
    assert max(map(len, lines)) <= COLUMNS
    assert "Kinds guessed: 1 doubtful, 0 likely, 1 certain" in lines
    start = lines.index("Check these first (1 doubtful kind):")
    assert lines[start + 2].startswith("odd ")
    assert "??" in lines[start + 2]
    assert lines.index(next(line for line in lines if line.startswith("ever "))) > start + 2
    assert "level of measurement differs from the file's" in text
    summary = json.loads(run(capsys, tmp_path / "a.sav", "--json"))
    sure = {v["name"]: v["confidence"] for v in summary["variables"]}
    assert sure == {"ever": "certain", "odd": "doubtful"}


def test_reasons_with_thousands_are_merged_with_their_range():
    reasons = [
        "5,000 different whole numbers in 12,345 rows",
        "80 different whole numbers in 90 rows",
    ]
    merged = _with_ranges(reasons)
    assert merged == "80 to 5,000 different whole numbers in 90 to 12,345 rows"
    assert _with_ranges(reasons[:1]) == reasons[0]
