"""XLSForm workbooks: questions, groups, options, and their columns in exports."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from form_files import CHOICES, SURVEY, smoking_answers, write_workbook

from tabsoda import read_survey
from tabsoda.cli.main import main
from tabsoda.edits.edit_set import EditSet
from tabsoda.errors import InputError
from tabsoda.questionnaire import read_form, read_survey_with_form
from tabsoda.questionnaire.form import Answers
from tabsoda.skips.checking import check
from tabsoda.skips.rule_set import RuleSet


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("form") / "form.xlsx"
    return write_workbook(path, survey=SURVEY, choices=CHOICES)


def test_questions(form: Path) -> None:
    read = read_form(form)
    names = ["age", "smokes", "a_day", "brands", "quit", "tax", "income"]
    assert [question.name for question in read.questions] == names
    assert read["age"].label == "Age in years"
    assert read["brands"].answers is Answers.SEVERAL
    assert read["brands"].groups == ("smoking",)
    assert read["smokes"].options == {"yes": "Yes", "no": "No", "dk": "Don't know"}
    assert read["quit"].shown_text == "(${smokes} = 'yes') and (selected(${brands}, 'b'))"


def test_data_that_follow_the_form_break_no_rule(form: Path) -> None:
    found = read_survey_with_form(smoking_answers(), form)
    checked = check(found.survey.table, found.rules)
    assert checked.n_answered_although_skipped == 0
    blanks = {one.column: one.unexplained for one in checked.columns}
    assert sum(blanks.values()) == 0
    assert found.absent == ()
    assert [(one.question, one.why) for one in found.untranslated] == [
        ("income", "the function regex() is not translated")
    ]
    assert found.survey.schema["smoking/brands/b"].label == "Which brands?: Brand B"
    assert found.survey.schema["tax"].kind == "ordinal"


def test_constraints_become_bounds_and_edits(form: Path) -> None:
    schema = read_survey_with_form(smoking_answers(), form).survey.schema
    assert (schema["age"].minimum, schema["age"].maximum) == (15, 99)
    # A whole number above 0 is at least 1.
    assert (schema["smoking/a_day"].minimum, schema["smoking/a_day"].maximum) == (1, None)
    assert [edit.rule for edit in schema.edits] == ["(`smoking/a_day` < age)"]


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        ("not(. = 3 and ${smokes} = 'yes')", "(not ((tax == 3) and (smokes == 'yes')))"),
        ("selected(${brands}, 'a') or . >= 2", "((`smoking/brands/a` == 1) or (tax >= 2))"),
        (". * 2 div 3 <= ${age} - -1", "(((tax * 2) / 3) <= (age - (0 - 1)))"),
    ],
)
def test_constraints_in_the_language_of_edits(tmp_path: Path, constraint: str, rule: str) -> None:
    rows = [[*row] for row in SURVEY]
    next(row for row in rows if row[1] == "tax")[5] = constraint
    path = write_workbook(tmp_path / "form.xlsx", survey=rows, choices=CHOICES)
    found = read_survey_with_form(smoking_answers(), path)
    assert rule in [edit.rule for edit in found.survey.schema.edits]
    # The edit can be evaluated on the data.
    assert EditSet.of(found.survey.schema, found.survey.table)


def test_constraints_that_are_no_edit_are_listed(tmp_path: Path) -> None:
    rows = [[*row] for row in SURVEY]
    next(row for row in rows if row[1] == "age")[5] = "regex(., '^[0-9]+$') and . < 99"
    path = write_workbook(tmp_path / "form.xlsx", survey=rows, choices=CHOICES)
    found = read_survey_with_form(smoking_answers(), path)
    assert ("age", "constraint", "the function regex() is not translated") in [
        (one.question, one.part, one.why) for one in found.untranslated
    ]
    assert found.survey.schema["age"].maximum == 98


SURVEYCTO = [
    ["type", "name", "label:English", "relevance", "constraint", "disabled"],
    ["integer", "age", "Age", None, ". >= 15", None],
    ["select_multiple drink", "drinks", "What do you drink?", None, "NONE", None],
    ["select_one drink", "old", "Formerly asked", None, None, "yes"],
    ["select_one yn", "smokes", "Do you smoke?", None, None, None],
    ["integer", "a_day", "Cigarettes a day", "${smokes} = 'yes'", None, None],
    ["integer", "mixed", "How often both?", "count-selected(${drinks}) > 1", None, None],
]
DRINKS = [
    ["list_name", "value", "label:English"],
    ["drink", 1, "Beer"],
    ["drink", 2, "Wine"],
    ["drink", 9, "None of these"],
    ["yn", "yes", "Yes"],
    ["yn", "no", "No"],
]


def drinking_answers(n: int = 200) -> pl.DataFrame:
    """Return answers to the form of SurveyCTO, as SurveyCTO exports them."""
    random = np.random.default_rng(0)
    none, beer, wine = random.random((3, n)) < 0.5
    beer, wine = beer & ~none, (wine | ~beer) & ~none
    smokes = random.choice(["yes", "no"], n)
    numbers = random.integers(1, 9, (2, n)).astype(float)
    answers = {
        "age": random.integers(15, 80, n),
        **{f"drinks_{code}": own * 1 for code, own in ((1, beer), (2, wine), (9, none))},
        "smokes": smokes,
        "a_day": np.where(smokes == "yes", numbers[0], np.nan),
        "mixed": np.where(beer & wine, numbers[1], np.nan),
    }
    return pl.DataFrame(answers, nan_to_null=True)


@pytest.mark.parametrize("column", ["relevance", "relevant", "bind:relevant", "bind::relevant"])
def test_forms_of_surveycto_and_older_ones_have_their_rules(tmp_path: Path, column: str) -> None:
    rows = [[column if text == "relevance" else text for text in row] for row in SURVEYCTO]
    rows[2][4] = None
    path = write_workbook(tmp_path / "form.xlsx", survey=rows, choices=DRINKS)
    found = read_survey_with_form(drinking_answers(), path)
    assert (found.absent, found.untranslated) == ((), ())
    assert found.rules.targets == ("a_day", "mixed")
    assert found.survey.schema["drinks_9"].label == "What do you drink?: None of these"
    checked = check(found.survey.table, found.rules)
    assert checked.n_answered_although_skipped == 0
    assert all(one.unexplained == 0 for one in checked.columns)


@pytest.mark.parametrize(
    "constraint",
    [
        "not(selected(., '9') and count-selected(.) > 1)",
        "not(selected(., 9) and (selected(., 1) or selected(., 2)))",
        "if(selected(., '9'), count-selected(.) = 1, true())",
    ],
)
def test_none_of_these_becomes_an_edit(tmp_path: Path, constraint: str) -> None:
    rows = [[constraint if text == "NONE" else text for text in row] for row in SURVEYCTO]
    path = write_workbook(tmp_path / "form.xlsx", survey=rows, choices=DRINKS)
    found = read_survey_with_form(drinking_answers(), path)
    assert found.untranslated == ()
    edits = EditSet.of(found.survey.schema, found.survey.table)
    (one,) = [one for one in edits.constraints if one.kind == "edit"]
    chosen = np.array([*product((0.0, 1.0), repeat=3)])
    named = dict(zip(("drinks_1", "drinks_2", "drinks_9"), chosen.T, strict=True))
    violated = one.truth(named) == 0
    np.testing.assert_array_equal(violated, (chosen[:, 2] == 1) & (chosen[:, :2].sum(axis=1) > 0))


def test_an_option_that_nobody_chose_is_never_selected(tmp_path: Path) -> None:
    rows = [
        "not(selected(., 9) and selected(., 1))" if text == "NONE" else text
        for row in SURVEYCTO
        for text in row
    ]
    rows[-3] = "selected(${drinks}, 9) or ${smokes} = 'yes'"
    survey = [rows[at : at + 6] for at in range(0, len(rows), 6)]
    path = write_workbook(tmp_path / "form.xlsx", survey=survey, choices=DRINKS)
    answers = drinking_answers().with_columns(drinks_9=pl.lit(0))
    answers = answers.with_columns(mixed=pl.col("a_day"))
    found = read_survey_with_form(answers, path)
    assert found.untranslated == ()
    assert [edit.rule for edit in found.survey.schema.edits] == [
        "(not ((1 == 0) and (drinks_1 == 1)))"
    ]
    checked = check(found.survey.table, found.rules)
    assert checked.n_answered_although_skipped == 0
    assert all(one.unexplained == 0 for one in checked.columns)


@pytest.mark.parametrize(
    ("constraint", "why"),
    [
        ("regex(., '9')", "the function regex() is not translated"),
        ("selected(., 'x')", "the data have no column for option 'x' of 'drinks'"),
        ("count-selected(${age}) = 1", "count-selected() needs a question with several answers"),
    ],
)
def test_constraints_of_several_answers_are_never_lost(
    tmp_path: Path, constraint: str, why: str
) -> None:
    rows = [[constraint if text == "NONE" else text for text in row] for row in SURVEYCTO]
    path = write_workbook(tmp_path / "form.xlsx", survey=rows, choices=DRINKS)
    (one,) = read_survey_with_form(drinking_answers(), path).untranslated
    assert (one.question, one.part, one.why) == ("drinks", "constraint", why)


@pytest.mark.parametrize(
    ("constraint", "rules", "why"),
    [
        # Vacuous for those who answered.
        (". != '' and ${age} < 99", ["(age < 99)"], None),
        ("true()", [], None),
        ("${age} > '15'", ["(age > 15)"], None),
        ("false()", [], "it is never true"),
        ("${age} = 'old'", [], "\"'old'\"; it is compared with numbers"),
        (". > 3", [], "'smokes'; its answers have no order"),
        (". = 'maybe'", [], "\"'maybe'\"; 'smokes' has no such answer"),
        ("not(${age})", [], "'age'; it is not a condition"),
        ("${age} + 1", [], "The edit '(age + 1)' is not a condition"),
    ],
)
def test_the_description_has_only_edits_that_can_be_read_again(
    tmp_path: Path, constraint: str, rules: list[str], why: str | None
) -> None:
    rows = [[*row] for row in SURVEY]
    next(row for row in rows if row[1] == "smokes")[5] = constraint
    for row in rows[1:]:
        row[5] = row[5] if row[1] == "smokes" else None
    path = write_workbook(tmp_path / "form.xlsx", survey=rows, choices=CHOICES)
    found = read_survey_with_form(smoking_answers(), path)
    assert [edit.rule for edit in found.survey.schema.edits] == rules
    listed = [one.why for one in found.untranslated if one.part == "constraint"]
    assert listed == ([] if why is None else [why])
    EditSet.of(found.survey.schema, found.survey.table)


def test_constraints_on_columns_that_are_no_questions_are_listed(tmp_path: Path) -> None:
    survey = [
        ["type", "name", "constraint"],
        ["date", "born", None],
        ["date", "died", ". > ${born}"],
        ["integer", "age", None],
    ]
    path = write_workbook(tmp_path / "form.xlsx", survey=survey, choices=DRINKS)
    days = [f"19{n:02}-01-0{n % 9 + 1}" for n in range(10, 90)]
    answers = pl.DataFrame({"born": days, "died": days[::-1], "age": [n % 30 for n in range(80)]})
    found = read_survey_with_form(answers, path)
    assert found.survey.schema.edits == ()
    (one,) = found.untranslated
    assert (one.question, one.why) == ("died", "'died' is not described as a question of the data")


@pytest.mark.parametrize("mark", ["/", "-", "."])
def test_questions_of_one_name_in_two_groups_are_kept_apart(tmp_path: Path, mark: str) -> None:
    survey = [
        ["type", "name", "relevant", "constraint"],
        ["select_one yn", "smokes", None, None],
        ["select_one yn", "drinks", None, None],
        ["begin group", "tobacco", "${smokes} = 'yes'", None],
        ["integer", "units", None, ". < 60"],
        ["select_multiple yn", "when", None, None],
        ["end group", None, None, None],
        ["begin group", "alcohol", "${drinks} = 'yes'", None],
        ["integer", "units", None, ". < 20"],
        ["select_multiple yn", "when", "${units} > 1", None],
        ["end group", None, None, None],
    ]
    path = write_workbook(tmp_path / "form.xlsx", survey=survey, choices=CHOICES)
    ways = [*product(("yes", "no"), repeat=2)] * 20
    answers: dict[str, list[object]] = {"smokes": [], "drinks": []}
    for n, (smokes, drinks) in enumerate(ways):
        answers["smokes"].append(smokes)
        answers["drinks"].append(drinks)
        for group, asked in (("tobacco", smokes), ("alcohol", drinks)):
            for name, value in (("units", n % 17 + 1), ("when/yes", n // 2 % 2)):
                column = answers.setdefault(f"{group}/{name}".replace("/", mark), [])
                column.append(value if asked == "yes" else None)
    found = read_survey_with_form(pl.DataFrame(answers), path)
    assert found.absent == ()
    units = [f"{group}{mark}units" for group in ("tobacco", "alcohol")]
    assert [found.survey.schema[name].maximum for name in units] == [59, 19]
    no = "no 'No' or 'don't know'"
    assert found.rules.sentences() == (
        f"{units[0]} is skipped when smokes is {no}",
        f"tobacco{mark}when{mark}yes is skipped when smokes is {no}",
        f"{units[1]} is skipped when drinks is {no}",
        f"alcohol{mark}when{mark}yes is skipped when drinks is {no}",
    )
    # Which of the two is meant is not guessed.
    (one,) = found.untranslated
    assert (one.question, one.why) == ("alcohol/when", "'units' is not a question of the form")


@pytest.mark.parametrize(
    ("written", "answers"),
    [
        ("select_multiple yn", Answers.SEVERAL),
        ("select multiple from yn", Answers.SEVERAL),
        ("select all that apply from yn", Answers.SEVERAL),
        ("select one from yn", Answers.ONE),
        ("add select one prompt using yn", Answers.ONE),
        ("select_one yn or_other", Answers.ONE),
    ],
)
def test_types_as_older_forms_write_them(tmp_path: Path, written: str, answers: Answers) -> None:
    rows = [["type", "name", "label"], [written, "smokes", "Do you smoke?"]]
    form = read_form(write_workbook(tmp_path / "form.xlsx", survey=rows, choices=CHOICES))
    assert form["smokes"].answers is answers
    assert list(form["smokes"].options)[:3] == ["yes", "no", "dk"]


def test_an_answer_against_the_form_is_found(form: Path) -> None:
    answers = smoking_answers()
    row = answers["smokes"].to_list().index("no")
    broken = answers.with_columns(answers["smoking/a_day"].scatter(row, 7.0))
    found = read_survey_with_form(broken, form)
    (finding,) = check(found.survey.table, found.rules).violations
    assert (finding.target, finding.example_rows) == ("smoking/a_day", (row + 1,))


@pytest.mark.parametrize(
    "names",
    [
        {"smoking/brands/a": "brands/a", "smoking/brands/b": "brands/b"},
        {"smoking/brands/a": "brands_a", "smoking/brands/b": "brands_b"},
        {"smoking/a_day": "smoking-a_day", "smoking/quit": "quit"},
    ],
)
def test_columns_are_found_as_programs_name_them(form: Path, names: dict[str, str]) -> None:
    found = read_survey_with_form(smoking_answers().rename(names), form)
    assert found.absent == ()
    assert set(found.rules.targets) > set(names.values())


def test_several_answers_in_one_column_are_listed(form: Path) -> None:
    answers = smoking_answers().drop("smoking/brands/b")
    answers = answers.rename({"smoking/brands/a": "smoking/brands"})
    found = read_survey_with_form(answers, form)
    why = "its answers are in one column, and none of the form's options is in its cells"
    assert ("brands", why) in [(one.question, one.why) for one in found.untranslated]


def test_several_answers_in_one_cell_give_the_same_rules(form: Path, tmp_path: Path) -> None:
    apart = smoking_answers()
    chosen = [apart[f"smoking/brands/{code}"].to_list() for code in "ab"]
    cells = [
        None
        if a is None or a != a
        else " ".join(c for c, own in zip("ab", (a, b), strict=True) if own)
        for a, b in zip(*chosen, strict=True)
    ]
    together = apart.drop("smoking/brands/a", "smoking/brands/b").with_columns(
        pl.Series("smoking/brands", cells)
    )
    found, expected = (read_survey_with_form(one, form) for one in (together, apart))
    assert sorted(found.rules.sentences()) == sorted(expected.rules.sentences())
    assert [one.question for one in found.untranslated] == ["income"]
    # The description that is written reads the same file again.
    together.write_csv(tmp_path / "answers.csv")
    outputs = ["-o", str(tmp_path / "survey.toml"), "--rules", str(tmp_path / "rules.toml")]
    assert main(["questionnaire", str(form), str(tmp_path / "answers.csv"), *outputs]) in (None, 0)
    again = read_survey(tmp_path / "answers.csv", tmp_path / "survey.toml")
    assert {"smoking/brands/a", "smoking/brands/b"} <= set(again.table.names)
    assert check(again.table, RuleSet.from_toml(tmp_path / "rules.toml")).totals["skipped"] > 0


def test_repeated_groups_are_tables_of_their_own(tmp_path: Path) -> None:
    rows = [
        ["type", "name", "label", "relevant"],
        ["integer", "age", "Age", None],
        ["begin repeat", "children", "Children", "${age} > 15"],
        ["integer", "child_age", "Age of the child", None],
        ["end repeat", None, None, None],
        ["integer", "income", "Income", "${age} > 17"],
    ]
    form = read_form(write_workbook(tmp_path / "form.xlsx", survey=rows, choices=CHOICES))
    (one,) = form.untranslated
    assert (one.question, one.text) == ("children", "begin repeat")
    assert one.why.startswith("a repeated group is a table of its own, with one row per repetition")
    assert form["income"].groups == ()


def test_the_command_writes_what_impute_takes_without_review(
    form: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    data, survey, rules = (tmp_path / name for name in ("data.csv", "survey.toml", "rules.toml"))
    smoking_answers().write_csv(data)
    main(["questionnaire", str(form), str(data), "-o", str(survey), "--rules", str(rules)])
    shown = capsys.readouterr().out
    assert "7 questions, 7 of them in data.csv" in shown
    assert "tax is skipped when age is at most 17 and smokes is no 'No'" in shown
    assert "regex() is not translated" in " ".join(shown.split())
    assert max(len(line) for line in shown.splitlines() if "Written" not in line) <= 80
    assert RuleSet.from_toml(rules).targets[0] == "smoking/a_day"
    main(["impute", str(data), "--survey", str(survey), "--rules", str(rules), "--dry-run"])


def test_the_command_names_questions_that_the_data_lack(
    form: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.csv"
    smoking_answers().drop("tax", "smoking/quit").write_csv(data)
    main(["questionnaire", str(form), str(data)])
    assert "Not in the data (2): quit, tax\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        ({"data": [["type", "name"]]}, "is not an XLSForm"),
        ({"survey": [["question", "text"], ["a", "b"]]}, "has no questions"),
        ({"survey": [["type", "name"], ["note", "hello"]]}, "has no questions"),
    ],
)
def test_other_workbooks_are_rejected(
    tmp_path: Path, sheets: dict[str, list[list[object]]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_form(write_workbook(tmp_path / "form.xlsx", **sheets))


def test_a_form_of_another_survey_is_an_error(form: Path) -> None:
    answers = pl.DataFrame({"X": [1, 2] * 20, "Y": [1, 2] * 20})
    with pytest.raises(InputError, match=r"no question whose answers are in the data.*age, sm"):
        read_survey_with_form(answers, form)


def test_a_damaged_or_absent_form_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "form.xlsx").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(InputError, match="cannot be read as an Excel workbook"):
        read_form(tmp_path / "form.xlsx")
    with pytest.raises(InputError, match="does not exist"):
        read_form(tmp_path / "none.xlsx")
    (tmp_path / "form.pdf").write_bytes(b"%PDF")
    with pytest.raises(InputError, match="unknown extension"):
        read_form(tmp_path / "form.pdf")
