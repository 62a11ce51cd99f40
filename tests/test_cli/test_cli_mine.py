"""``tabsoda mine``: what it writes, what it prints, and what it refuses before it starts."""

import json

import numpy as np
import polars as pl
import pytest

from tabsoda.cli.main import main
from tabsoda.cli.rule_text import (
    events_text,
    first_groups,
    one_line,
    rules_heading,
    rules_text,
)
from tabsoda.events import EventLog
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule

NASTY = "[red]No[/red]\n=1+1 <b>"


@pytest.fixture
def survey(tmp_path):
    """Write a survey of 600 whose second and third questions hang on the first; -1 is a skip."""
    random = np.random.default_rng(0)
    smokes = random.integers(1, 3, 600)
    amount = np.where(smokes == 1, random.integers(1, 40, 600), -1)
    brand = np.where(smokes == 1, random.integers(1, 4, 600), -1)
    frame = pl.DataFrame({"smokes": smokes, "amount": amount, "brand": brand})
    frame.write_parquet(tmp_path / "data.parquet")
    pl.DataFrame(
        {"smokes": np.zeros(600, bool), "amount": smokes == 2, "brand": smokes == 2}
    ).write_parquet(tmp_path / "truth.parquet")
    description = [
        {
            "name": "smokes",
            "type": "nominal",
            "levels": [1, 2],
            "level_labels": {"1": "Yes", "2": NASTY},
        },
        {"name": "amount", "type": "continuous", "levels": [], "skip_codes": [-1]},
        {"name": "brand", "type": "nominal", "levels": [1, 2, 3], "skip_codes": [-1]},
    ]
    (tmp_path / "schema.json").write_text(json.dumps(description))
    return tmp_path


def _mine(folder, *options):
    main(["mine", str(folder / "data.parquet"), "--survey", str(folder / "schema.json"), *options])


def _refused(folder, capsys, *options):
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(SystemExit) as caught:
        _mine(folder, *options)
    assert caught.value.code == 2
    assert sorted(path.name for path in folder.iterdir()) == before
    return " ".join(capsys.readouterr().err.split())


def test_rules_mask_and_graph_are_written(survey, capsys):
    outputs = [survey / name for name in ("rules.toml", "mask.parquet", "graph.json")]
    _mine(survey, "-o", str(outputs[0]), "--mask", str(outputs[1]), "--graph", str(outputs[2]))
    rules = RuleSet.from_toml(outputs[0])
    assert rules.targets == ("amount", "brand")
    assert rules.provenance.n_rows == 600
    assert rules.provenance.settings["min_support"] == 30
    mask, truth = pl.read_parquet(outputs[1]), pl.read_parquet(survey / "truth.parquet")
    assert mask.equals(truth)
    edges = json.loads(outputs[2].read_text())["edges"]
    assert {"smokes"} <= {edge["gate"] for edge in edges}
    text = capsys.readouterr().out
    # Labels are shown as they are, but cannot break the line or colour the terminal.
    assert "When smokes is 2 '[red]No[/red] =1+1 <b>':" in text
    assert max(map(len, text.splitlines())) <= 80
    assert sorted(path.name for path in survey.iterdir() if path.name.startswith(".")) == []


def test_json_holds_rules_events_and_the_papers_table(survey, capsys):
    _mine(survey, "--reference", str(survey / "truth.parquet"), "--json")
    result = json.loads(capsys.readouterr().out)
    assert (result["rows"], result["variables"], result["mined"]) == (600, 3, 2)
    assert result["n_rules"] == len(result["rules"]) >= 2
    assert result["n_conditions"] == len({str(rule["when"]) for rule in result["rules"]})
    assert result["reference"]["all_cells"]["precision"] == 1
    assert result["reference"]["blanks"]["recall"] == 1
    assert result["skipped_by_code"] == result["skipped_cells"]


def test_skip_codes_of_the_file_do_not_count_as_found(survey, capsys):
    # Without the gate no rule can explain the skips, whatever the codes say.
    pl.read_parquet(survey / "data.parquet").drop("smokes").write_parquet(survey / "data.parquet")
    pl.read_parquet(survey / "truth.parquet").drop("smokes").write_parquet(survey / "truth.parquet")
    schema = json.loads((survey / "schema.json").read_text())
    (survey / "schema.json").write_text(json.dumps(schema[1:]))
    mask = survey / "mask.parquet"
    truth = survey / "truth.parquet"
    _mine(survey, "--reference", str(truth), "--mask", str(mask), "--json")
    result = json.loads(capsys.readouterr().out)
    assert result["reference"]["all_cells"]["recall"] < 0.6
    assert pl.read_parquet(mask).equals(pl.read_parquet(truth))


def test_the_papers_table_is_printed(survey, capsys):
    _mine(survey, "--reference", str(survey / "truth.parquet"))
    lines = capsys.readouterr().out.splitlines()
    assert "Against the reference: variables 3, mined 2, rules 2, conditions 1" in lines
    assert [line.split() for line in lines if line.startswith(("precision", "FPR"))] == [
        ["precision", "1.0000", "1.0000"],
        ["FPR", "0.0000", "-"],
    ]


def test_nothing_is_overwritten_unasked(survey, capsys):
    (survey / "mask.parquet").write_text("precious")
    options = ["-o", str(survey / "rules.toml"), "--mask", str(survey / "mask.parquet")]
    assert "already exists" in _refused(survey, capsys, *options)
    assert (survey / "mask.parquet").read_text() == "precious"
    _mine(survey, *options, "--force")
    assert pl.read_parquet(survey / "mask.parquet").height == 600


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-o", "{}/data.parquet", "--force"], "one of the files to read"),
        (["-o", "{}/a.toml", "--mask", "{}/a.toml"], "named twice"),
        (["-o", "{}/none/a.toml"], "does not exist"),
        (["-o", "{}", "--force"], "is a folder"),
        (["--graph", "{}/graph.png"], "'.png'. Expected: .json or .mmd or .dot"),
        (["--preset", "magic"], "'magic'. Expected: default,"),
        (["--reference", "{}/absent.parquet"], "absent.parquet"),
        (["--reference", "{}/data.parquet"], "true and false"),
    ],
)
def test_bad_options_are_refused_and_nothing_is_written(survey, capsys, options, expected):
    message = _refused(survey, capsys, *(option.format(survey) for option in options))
    assert expected in message


def test_a_reference_of_another_shape(survey, capsys):
    pl.read_parquet(survey / "truth.parquet").head(10).write_parquet(survey / "short.parquet")
    message = _refused(survey, capsys, "--reference", str(survey / "short.parquet"))
    assert "10 rows" in message
    assert "600 rows" in message


def test_a_reference_that_skips_answers_is_refused_before_mining(survey, capsys, monkeypatch):
    from tabsoda.skips.miner import SkipMiner

    monkeypatch.setattr(SkipMiner, "mine", None)
    wrong = pl.read_parquet(survey / "truth.parquet").with_columns(smokes=pl.lit(True))
    wrong.write_parquet(survey / "wrong.parquet")
    message = _refused(survey, capsys, "--reference", str(survey / "wrong.parquet"))
    assert "'smokes' is answered in a cell that the skip mask marks as skipped" in message
    assert "600 such cells, the first in row 1" in message


def test_mined_counts_the_questions_that_rules_lead_past(survey, capsys):
    # A fourth question with blanks that nothing explains: partly blank, but not mined.
    lost = np.random.default_rng(1).random(600) < 0.3
    mood = pl.Series("mood", np.where(lost, -2, 1))
    pl.read_parquet(survey / "data.parquet").with_columns(mood).write_parquet(
        survey / "data.parquet"
    )
    truth = pl.read_parquet(survey / "truth.parquet").with_columns(mood=pl.lit(False))
    truth.write_parquet(survey / "truth.parquet")
    schema = json.loads((survey / "schema.json").read_text())
    schema.append({"name": "mood", "type": "nominal", "levels": [1, 2], "missing_codes": [-2]})
    (survey / "schema.json").write_text(json.dumps(schema))
    _mine(survey, "--reference", str(survey / "truth.parquet"))
    text = " ".join(capsys.readouterr().out.split())
    assert "4 questions, 3 of them blank for some respondents and answered by others" in text
    assert "Questions they skip: 2" in text
    assert "Against the reference: variables 4, mined 2, rules 2" in text


def test_refusals_are_not_blank_for_mine_as_for_check(survey, capsys):
    data = pl.read_parquet(survey / "data.parquet")
    refused = (data["smokes"] == 1).to_numpy() & (np.arange(600) % 7 == 0)
    amount = pl.Series("amount", np.where(refused, -9, data["amount"].to_numpy()))
    data.with_columns(amount).write_parquet(survey / "data.parquet")
    description = str(survey / "survey.toml")
    (survey / "survey.toml").write_text(
        'format = 1\nmissing = { -1 = "skip", -9 = "refused" }\n'
        '[columns."amount"]\nkind = "continuous"\n'
    )
    files, rules = [str(survey / "data.parquet"), "--survey", description], survey / "rules.toml"
    main(["mine", *files, "-o", str(rules), "--json"])
    mined = json.loads(capsys.readouterr().out)
    main(["check", files[0], str(rules), *files[1:], "--json"])
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals["declined"] == refused.sum()
    assert mined["blank_cells"] == totals["skipped"] + totals["unexplained"]


def test_mine_check_and_min_precision_agree_where_a_skip_code_leads_to_answers(survey, capsys):
    """Some who smoke have the skip code in "amount" for another reason, and name a brand."""
    data = pl.read_parquet(survey / "data.parquet")
    other = (data["smokes"] == 1).to_numpy() & (np.arange(600) % 3 == 0)
    amount = pl.Series("amount", np.where(other, -1, data["amount"].to_numpy()))
    data.with_columns(amount).write_parquet(survey / "data.parquet")
    rules = str(survey / "rules.toml")
    _mine(survey, "-o", rules, "--json")
    mined = {rule["id"]: rule for rule in json.loads(capsys.readouterr().out)["rules"]}
    description = ["--survey", str(survey / "schema.json")]
    main(["check", str(survey / "data.parquet"), rules, *description, "--json"])
    found = json.loads(capsys.readouterr().out)["rules"]
    assert {f["target"] for f in found} == {"amount", "brand"}
    for finding in found:
        counts = mined[finding["identifier"]]["counts"]
        assert (finding["blank"], finding["answered"]) == (counts["fired_blank"], 0)
        assert counts["fired_answered"] == 0
    main(["review", rules, "--min-precision", ".95"])
    data = str(survey / "data.parquet")
    capsys.readouterr()
    main(["impute", data, *description, "--rules", rules, "--dry-run", "--json"])
    plan = json.loads(capsys.readouterr().out)
    assert (plan["to_impute"], plan["unresolved"], plan["left_missing"]) == (0, 0, 0)


def test_with_a_reference_skip_codes_are_blanks_and_the_file_agrees_with_check(survey, capsys):
    """Only codes mark the skips of "brand" here, so without them no rule is found."""
    data = pl.read_parquet(survey / "data.parquet")
    chance = np.random.default_rng(3).random(600) < 0.5
    brand = pl.Series("brand", np.where(chance, -1, 1))
    amount = pl.Series("amount", np.where(chance, -1, 5))
    data.with_columns(amount, brand).write_parquet(survey / "data.parquet")
    truth = pl.DataFrame({"smokes": np.zeros(600, bool), "amount": chance, "brand": chance})
    truth.write_parquet(survey / "truth.parquet")

    def found(*options):
        _mine(survey, "--json", *options)
        return json.loads(capsys.readouterr().out)

    seeing, blind = found(), found("--reference", str(survey / "truth.parquet"))
    (rule,) = seeing["rules"]
    assert rule["when"] == [[{"gate": "amount", "or_skipped": True}]]
    assert (seeing["skipped_cells"], seeing["skipped_by_code"]) == (chance.sum(), 2 * chance.sum())
    assert blind["rules"] == []
    assert blind["reference"]["all_cells"]["recall"] == 0


def test_all_outputs_are_written_or_none(survey, capsys, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    options = ["-o", str(survey / "rules.toml"), "--mask", str(survey / "mask.parquet")]
    assert "No space left on device" in _refused(survey, capsys, *options)


def test_interrupting_leaves_nothing_behind(survey, monkeypatch):
    from tabsoda.skips.miner import SkipMiner

    def interrupted(self, table, report):
        raise KeyboardInterrupt

    monkeypatch.setattr(SkipMiner, "mine", interrupted)
    with pytest.raises(SystemExit) as caught:
        _mine(survey, "-o", str(survey / "rules.toml"))
    assert caught.value.code == 130
    assert not (survey / "rules.toml").exists()


def test_many_rules_are_grouped_by_reason_and_cut():
    columns = tuple(Column(f"q{i}", ColumnKind.NOMINAL, (1, 2)) for i in range(30))
    rules = RuleSet(
        tuple(SkipRule(f"r{i}", f"q{i}", ((Condition(f"q{i % 2}", (1,)),),)) for i in range(2, 30)),
        columns,
    )
    groups = first_groups(rules, 5)
    # Groups are not cut: the even targets come first, and they are enough.
    assert [[rule.target for rule in group] for group in groups] == [
        [f"q{i}" for i in range(2, 30, 2)]
    ]
    assert len(first_groups(rules, 15)) == 2


def test_control_characters_do_not_reach_the_terminal():
    assert one_line("a\x1b[31m\nb\tc") == "a [31m b c"
    assert one_line("abcdef", 4) == "abc…"


def test_decisions_come_with_their_reason_and_amounts():
    events = EventLog()
    for name, n in (("a", 1200), ("b", 30)):
        events.add("candidate_rules_rejected", column=name, purity=n)
        events.add("skips_withheld", column=name, cells=n)
    events.add("candidate_rules_rejected", column="c", purity=2, support=5)
    events.add("question_blank_in_every_row", column="c")
    assert list(events_text(events, 100)) == [
        "  3 x candidate rules rejected (5 by support, 1,232 by purity): a, b, c",
        "  2 x skips withheld: respondent absent"
        " (1,230 cells among blanks that nothing explains): a, b",
        "  question not mined: blank in every row: c",
    ]


def test_a_mask_is_written_by_its_ending_and_read_again(survey, capsys):
    mask = survey / "mask.csv"
    _mine(survey, "--mask", str(mask))
    assert pl.read_csv(mask).equals(pl.read_parquet(survey / "truth.parquet"))
    capsys.readouterr()
    _mine(survey, "--reference", str(mask), "--json")
    with pytest.raises(SystemExit) as caught:
        _mine(survey, "--mask", str(survey / "mask.xlsx"))
    assert caught.value.code == 2
    assert ".parquet or .csv" in " ".join(capsys.readouterr().err.split())
    assert not (survey / "mask.xlsx").exists()


def test_labels_that_repeat_the_name_of_their_question_show_it_once(survey, capsys):
    schema = json.loads((survey / "schema.json").read_text())
    schema[1]["label"] = "AMOUNT. How many a day?"
    (survey / "schema.json").write_text(json.dumps(schema))
    _mine(survey)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "How many a day?" in line]
    assert "AMOUNT" not in line
    assert "amount" in line


@pytest.mark.parametrize("width", [60, 80, 120])
def test_counts_stand_below_their_headings_whatever_the_names(width):
    question = "Which of these pies is typically served at your dinner? Select all. - "
    columns = [Column(f"{question}{pie}", ColumnKind.NOMINAL, (1, 2)) for pie in ("Apple", "Plum")]
    gate = Column("celebrates", ColumnKind.NOMINAL, (1, 2), label="Do you celebrate?")
    reason = ((Condition("celebrates", (2,)),),)
    rules = RuleSet(
        tuple(SkipRule(f"r{n}", column.name, reason) for n, column in enumerate(columns)),
        (gate, *columns),
    )
    lines = [rules_heading(width), *rules_text(first_groups(rules, 9), rules.column_of, width)]
    rows = [line for line in lines if line.startswith("  ")]
    assert {len(row) for row in rows} == {width}
    assert [row.split()[-3][-4:] for row in rows[1:]] == ["pple", "Plum"]
