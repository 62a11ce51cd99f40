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
