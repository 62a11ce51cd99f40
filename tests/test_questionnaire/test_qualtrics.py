"""Qualtrics surveys: display logic, skip logic, branches and the end of the survey."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tabsoda.errors import InputError
from tabsoda.questionnaire import read_form, read_survey_with_form
from tabsoda.skips.checking import check

YES_NO = {"1": {"Display": "Yes"}, "2": {"Display": "No"}}


def question(identifier: str, tag: str, **more: Any) -> dict[str, Any]:
    payload = {
        "QuestionID": identifier,
        "DataExportTag": tag,
        "QuestionText": f"<b>{tag}</b>?",
        "QuestionType": "MC",
        "Selector": "SAVR",
        "Choices": YES_NO,
        "ChoiceOrder": ["1", "2"],
    }
    return {"Element": "SQ", "Payload": payload | more}


def logic(*conditions: dict[str, str]) -> dict[str, Any]:
    group = {str(number): one for number, one in enumerate(conditions)}
    return {"0": {**group, "Type": "If"}, "Type": "BooleanExpression"}


def selected(identifier: str, choice: str, sign: str = "Selected", **more: str) -> dict[str, str]:
    operand = f"q://{identifier}/SelectableChoice/{choice}"
    return {"LogicType": "Question", "LeftOperand": operand, "Operator": sign, **more}


def write_survey(path: Path, questions: list[Any], blocks: list[Any], flow: list[Any]) -> Path:
    elements = [
        {"Element": "BL", "Payload": blocks},
        {"Element": "FL", "Payload": {"Flow": flow}},
        *questions,
    ]
    path.write_text(json.dumps({"SurveyEntry": {}, "SurveyElements": elements}), encoding="utf-8")
    return path


def block(identifier: str, *elements: Any) -> dict[str, Any]:
    listed = [e if isinstance(e, dict) else {"Type": "Question", "QuestionID": e} for e in elements]
    return {"Type": "Standard", "ID": identifier, "BlockElements": listed}


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """consent (else the survey ends); smoke; if no, jump over a and b to drink; c by display
    logic; d in a branch for drinkers."""
    jump = {
        "ChoiceLocator": "q://QID2/SelectableChoice/2",
        "Condition": "Selected",
        "SkipToDestination": "QID5",
    }
    questions = [
        question("QID1", "consent"),
        question("QID2", "smoke", RecodeValues={"1": "10", "2": "20"}),
        question("QID3", "a"),
        question("QID4", "b"),
        question("QID5", "drink"),
        question(
            "QID6",
            "c",
            DisplayLogic=logic(
                selected("QID2", "1"), selected("QID5", "1", "NotSelected", Conjuction="And")
            ),
        ),
        question("QID7", "d"),
    ]
    blocks = [
        block("BL1", "QID1"),
        block(
            "BL2",
            {"Type": "Question", "QuestionID": "QID2", "SkipLogic": [jump]},
            "QID3",
            "QID4",
            "QID5",
            "QID6",
        ),
        block("BL3", "QID7"),
    ]
    flow = [
        {"Type": "Block", "ID": "BL1"},
        {
            "Type": "Branch",
            "BranchLogic": logic(selected("QID1", "2")),
            "Flow": [{"Type": "EndSurvey"}],
        },
        {"Type": "Standard", "ID": "BL2"},
        {
            "Type": "Branch",
            "BranchLogic": logic(selected("QID5", "1")),
            "Flow": [{"Type": "Standard", "ID": "BL3"}],
        },
    ]
    return write_survey(tmp_path_factory.mktemp("q") / "survey.qsf", questions, blocks, flow)


def interview(consent: int, smoke: int, drink: int) -> dict[str, int | None]:
    """Return what a respondent answers who is led through the survey by hand."""
    row: dict[str, int | None] = dict.fromkeys(("smoke", "a", "b", "drink", "c", "d"))
    row = {"consent": consent, **row}
    if consent == 2:
        return row
    row["smoke"], row["drink"] = smoke, drink
    if smoke == 10:
        row["a"] = row["b"] = 1
        row["c"] = 2 if drink != 1 else None
    row["d"] = 1 if drink == 1 else None
    return row


def test_the_rules_are_the_way_through_the_survey(form: Path) -> None:
    rows = [interview(*way) for way in product((1, 2), (10, 20), (1, 2))]
    # Every question needs two answers, or it is not a question of the data.
    other = [{k: v and {1: 2, 2: 1}.get(v, v) for k, v in row.items()} for row in rows[:4]]
    mixed = [
        row | {k: o[k] for k in ("a", "b", "c", "d") if row[k] is not None}
        for row, o in zip(rows[:4], other, strict=True)
    ]
    found = read_survey_with_form(pl.DataFrame(rows + mixed), form)
    assert found.untranslated == ()
    checked = check(found.survey.table, found.rules)
    assert checked.n_answered_although_skipped == 0
    assert checked.totals["unexplained"] == 0
    assert found.survey.schema["smoke"].level_labels == {10: "Yes", 20: "No"}


SCALE = {"1": {"Display": "Never"}, "2": {"Display": "Often"}, "3": {"Display": "N/A"}}
RECODED = {"1": "1", "2": "2", "3": "-1"}
ROWS = {"1": {"Display": "Beer"}, "2": {"Display": "Wine"}}
TAGS = {"1": "beer", "2": "wine"}


def matrix(tag: str, sub: str = "SingleAnswer", **more: Any) -> dict[str, Any]:
    parts = {"QuestionType": "Matrix", "Selector": "Likert", "SubSelector": sub}
    own = {
        "Choices": ROWS,
        "Answers": SCALE,
        "RecodeValues": RECODED,
        "ChoiceDataExportTags": False,
    }
    return question(f"QID_{tag}", tag, **(parts | own | more))


def one_block(path: Path, *questions: dict[str, Any]) -> Path:
    names = [one["Payload"]["QuestionID"] for one in questions]
    return write_survey(
        path, [*questions], [block("BL1", *names)], [{"Type": "Block", "ID": "BL1"}]
    )


@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        # RecodeValues of a matrix are codes of its answers, not of its statements.
        (matrix("Q4"), ["Q4_1", "Q4_2"]),
        (matrix("Q4", ChoiceDataExportTags=TAGS), ["Q4_beer", "Q4_wine"]),
        (matrix("Q4", ChoiceDataExportTags=TAGS), ["beer", "wine"]),
        (
            matrix("Q4", "MultipleAnswer"),
            ["Q4_1_1", "Q4_1_2", "Q4_1_-1", "Q4_2_1", "Q4_2_2", "Q4_2_-1"],
        ),
        (
            matrix("Q4", "MultipleAnswer", ChoiceDataExportTags=TAGS),
            ["Q4_beer_1", "Q4_beer_2", "Q4_beer_-1", "Q4_wine_1", "Q4_wine_2", "Q4_wine_-1"],
        ),
        # Older exports number the answers.
        (
            matrix("Q4", "MultipleAnswer"),
            ["Q4_1_1", "Q4_1_2", "Q4_1_3", "Q4_2_1", "Q4_2_2", "Q4_2_3"],
        ),
        (
            question(
                "QID9",
                "Q4",
                QuestionType="SBS",
                Choices=ROWS,
                AdditionalQuestions={
                    "1": {"Selector": "Likert", "SubSelector": "SingleAnswer", "Answers": SCALE},
                    "2": {"Selector": "TE", "SubSelector": "Short", "Answers": SCALE},
                },
            ),
            ["Q4#1_1", "Q4#1_2", "Q4#2_1", "Q4#2_2"],
        ),
    ],
)
def test_a_matrix_has_a_question_in_every_row(
    tmp_path: Path, asked: dict[str, Any], columns: list[str]
) -> None:
    asked["Payload"]["DisplayLogic"] = logic(selected("QID1", "1"))
    form = one_block(tmp_path / "survey.qsf", question("QID1", "drinks"), asked)
    drinks = [1, 2] * 30
    answers = {name: [1 + n % 3 if n % 2 == 0 else None for n in range(60)] for name in columns}
    found = read_survey_with_form(pl.DataFrame({"drinks": drinks, **answers}), form)
    assert (found.absent, found.untranslated) == ((), ())
    assert found.rules.targets == tuple(columns)
    assert found.survey.schema[columns[0]].label.startswith("Q4 ?: Beer")
    assert check(found.survey.table, found.rules).n_answered_although_skipped == 0


def test_answers_of_a_matrix_have_the_labels_of_the_form(tmp_path: Path) -> None:
    form = one_block(tmp_path / "survey.qsf", matrix("Q4"))
    answers = pl.DataFrame({"Q4_1": [1, 2, -1] * 10, "Q4_2": [2, 2, 1] * 10})
    labels = read_survey_with_form(answers, form).survey.schema["Q4_1"].level_labels
    assert labels[1] == "Never"
    assert labels[2] == "Often"


def test_statements_with_the_tags_of_others_are_not_taken_for_them(tmp_path: Path) -> None:
    """Older exports name the columns of two such matrices alike; the reader numbers them."""
    two = [matrix(tag, ChoiceDataExportTags=TAGS) for tag in ("Q4", "Q5")]
    form = one_block(tmp_path / "survey.qsf", *two)
    names = ["beer", "wine", "beer (2)", "wine (2)"]
    found = read_survey_with_form(pl.DataFrame({name: [1, 2] * 15 for name in names}), form)
    assert found.absent == ("Q5_1", "Q5_2")


def test_a_block_in_two_branches_is_shown_in_either(tmp_path: Path) -> None:
    questions = [question("QID1", "smoke"), question("QID2", "drink"), question("QID3", "health")]
    block_of = {"Type": "Standard", "ID": "BL2"}

    def branch(identifier: str) -> dict[str, Any]:
        shown = logic(selected(identifier, "1"))
        return {"Type": "Branch", "BranchLogic": shown, "Flow": [block_of]}

    first = {"Type": "Block", "ID": "BL1"}
    blocks = [block("BL1", "QID1", "QID2"), block("BL2", "QID3")]
    ways = [*product((1, 2), repeat=2)] * 10
    rows = [(smoke, drink, 1 + n % 2) for n, (smoke, drink) in enumerate(ways)]
    rows = [row if 1 in row[:2] else (*row[:2], None) for row in rows]
    answers = pl.DataFrame(rows, ["smoke", "drink", "health"], orient="row")
    flow = [first, branch("QID1"), branch("QID2")]
    form = write_survey(tmp_path / "survey.qsf", questions, blocks, flow)
    found = read_survey_with_form(answers, form)
    assert [one.name for one in found.form.questions] == ["smoke", "drink", "health"]
    assert found.rules.sentences() == (
        "health is skipped when smoke is 2 'No' and drink is 2 'No'",
    )
    # Shown also without a condition: never skipped.
    again = write_survey(tmp_path / "survey.qsf", questions, blocks, [*flow, block_of])
    assert len(read_survey_with_form(answers, again).rules) == 0


def test_logic_on_something_else_is_listed(tmp_path: Path) -> None:
    quota = {"LogicType": "EmbeddedField", "LeftOperand": "panel", "Operator": "EqualTo"}
    questions = [question("QID1", "x"), question("QID2", "y", DisplayLogic=logic(quota))]
    path = write_survey(
        tmp_path / "s.qsf",
        questions,
        [block("BL1", "QID1", "QID2")],
        [{"Type": "Block", "ID": "BL1"}],
    )
    (one,) = read_form(path).untranslated
    assert (one.question, one.why) == ("y", "it depends on EmbeddedField, not on an answer")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"SurveyElements": 3}', "PK\x03"])
def test_other_files_are_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.qsf").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="not a Qualtrics survey"):
        read_form(tmp_path / "s.qsf")


@pytest.mark.parametrize("wrong", [None, [], {}, "x", 3, [[]], {"0": {}}])
@pytest.mark.parametrize(
    ("element", "key"),
    [
        *((2, key) for key in ("QuestionID", "Validation", "DisplayLogic", "Choices")),
        *((2, key) for key in ("ChoiceOrder", "RecodeValues", "QuestionType")),
        (0, 0),
        (1, "Flow"),
    ],
)
def test_a_part_of_another_type_is_left_out(element, key, wrong, tmp_path):
    # Qualtrics writes empty objects as [] or null.
    path = write_survey(
        tmp_path / "form.qsf",
        [question("QID1", "a", QuestionType="TE"), question("QID2", "b")],
        [block("B", "QID1", "QID2"), block("C", "QID2")],
        [{"Type": "Block", "ID": "B"}, {"Type": "Block", "ID": "C"}],
    )
    content = json.loads(path.read_text())
    content["SurveyElements"][element]["Payload"][key] = wrong
    path.write_text(json.dumps(content))
    if key == "Flow":
        with pytest.raises(InputError, match="no questions"):
            read_form(path)
    else:
        assert "b" in {one.name for one in read_form(path).questions}
