"""``tabsoda check``: findings are no error, bad input is."""

import json

import polars as pl
import pytest

from tabsoda.cli.main import main
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule

EVER = Column("ever", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Yes", 2: "No"})
AMOUNT = Column("amount", ColumnKind.CONTINUOUS)


@pytest.fixture
def folder(tmp_path):
    """Write four respondents, of whom the third answered against the rule; the fourth is open."""
    pl.DataFrame({"ever": [1, 2, 2, 1], "amount": [5.5, None, 7.5, None]}).write_csv(
        tmp_path / "data.csv"
    )
    description = [
        {"name": "ever", "type": "nominal", "levels": [1, 2]},
        {"name": "amount", "type": "continuous", "levels": [], "label": "How many a day?"},
    ]
    (tmp_path / "schema.json").write_text(json.dumps(description))
    rule = SkipRule("r001", "amount", ((Condition("ever", (2,)),),))
    RuleSet((rule,), (EVER, AMOUNT)).to_toml(tmp_path / "rules.toml")
    return tmp_path


def _check(folder, *options, data="data.csv", rules="rules.toml"):
    main(
        [
            "check",
            str(folder / data),
            str(folder / rules),
            "--survey",
            str(folder / "schema.json"),
            *options,
        ]
    )


def _refused(folder, capsys, **files):
    with pytest.raises(SystemExit) as caught:
        _check(folder, **files)
    assert caught.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_findings_are_printed(folder, capsys):
    _check(folder)
    text = capsys.readouterr().out
    assert "r001 amount is skipped when ever is 2 'No'" in text
    assert "1 of 2 answered, in row 3\n" in text
    assert [line.split() for line in text.splitlines() if "How many" in line] == [
        ["amount", "How", "many", "a", "day?", "1", "33.3%"]
    ]


def test_json(folder, capsys):
    _check(folder, "--json")
    result = json.loads(capsys.readouterr().out)
    assert result["totals"]["answered_although_skipped"] == 1
    assert result["rules"][0]["example_rows"] == [3]
    assert result["columns"][1] == {
        "column": "amount",
        "answered": 2,
        "skipped": 1,
        "declined": 0,
        "unexplained": 1,
    }


def test_clean_data(folder, capsys):
    pl.DataFrame({"ever": [1, 2, 2], "amount": [5.5, None, None]}).write_csv(folder / "data.csv")
    _check(folder)
    text = capsys.readouterr().out
    assert "Nobody answered a question that a rule skips." in text
    assert "Every blank is explained." in text


def test_rules_of_another_survey(folder, capsys):
    rule = SkipRule("r001", "income", ((Condition("ever", (2,)),),))
    columns = (EVER, Column("income", ColumnKind.CONTINUOUS))
    RuleSet((rule,), columns).to_toml(folder / "rules.toml")
    message = _refused(folder, capsys)
    assert "another survey" in message
    assert "no column 'income'" in message


def test_files_that_are_not_there_or_wrong(folder, capsys):
    assert "absent.toml" in _refused(folder, capsys, rules="absent.toml")
    assert "absent.csv" in _refused(folder, capsys, data="absent.csv")
    assert "not TOML" in _refused(folder, capsys, rules="data.csv")
