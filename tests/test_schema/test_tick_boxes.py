"""Boxes to tick: which belong to one select-all question, and which are left alone."""

import polars as pl
import pytest

from tabsoda.schema import ColumnRole
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.inference import propose_schema
from tabsoda.schema.select_all import Candidate, select_all_questions


def ticked(answer, every, rows=60):
    return [answer if row % every == 0 else None for row in range(rows)]


def roles(frame, hints=None):
    return {column.name: column.role for column in propose_schema(frame, hints)}


def test_texts_that_mean_blank_leave_a_box_a_box():
    frame = pl.DataFrame({f"v{n}": [t or "" for t in ticked("Yes", n + 2)] for n in range(3)})
    assert set(roles(frame).values()) == {ColumnRole.IGNORE}


def test_a_single_box_needs_its_answer_in_its_name():
    assert roles(pl.DataFrame({"Watched: Parade": ticked("Parade", 3)})) == {
        "Watched: Parade": ColumnRole.IGNORE
    }
    assert roles(pl.DataFrame({"consent": ticked("Yes", 3)})) == {"consent": ColumnRole.QUESTION}


def test_what_resembles_a_list_of_boxes():
    question = {ColumnRole.QUESTION}
    # Blank in the same rows: three constants of one part of the file.
    together = pl.DataFrame({f"c{n}": ticked(1, 2) for n in range(3)})
    assert set(roles(together).values()) == question
    boxes = pl.DataFrame({f"b{n}": ticked(1, n + 2) for n in range(3)})
    # Labels of other answers: yes or no, of which nobody said no.
    asked = dict.fromkeys(boxes.columns, ColumnHints(level_labels={0: "No", 1: "Yes"}))
    assert set(roles(boxes, asked).values()) == question
    # Codes of refusals: a question that was asked.
    coded = boxes.with_columns(pl.all().fill_null(9).replace(9, 9))
    refused = dict.fromkeys(boxes.columns, ColumnHints(missing_codes=(9,)))
    assert set(roles(coded, refused).values()) == question
    # No blanks at all.
    assert set(roles(pl.DataFrame({f"c{n}": [1] * 60 for n in range(3)})).values()) == question


def questions(columns):
    return [question for question, _ in select_all_questions(columns)]


def boxes(names, labels=None, answers=None):
    """Return candidates with different numbers of ticks."""
    labels, answers = labels or [""] * len(names), answers or [1] * len(names)
    return [
        Candidate(name, label, answer, 10 + place)
        for place, (name, label, answer) in enumerate(zip(names, labels, answers, strict=True))
    ]


PIES = ["Apple", "Cherry", "Sweet potato and pecan", "Other (please specify)"]


@pytest.mark.parametrize(
    ("columns", "question"),
    [
        (boxes(["Q7_1", "Q7_2", "Q7_4"]), "Q7"),
        (boxes(["drinks/beer", "drinks/wine", "drinks/none"]), "drinks"),
        (boxes(["q7___1", "q7___2", "q7___3"]), "q7"),
        (boxes(["Q7[SQ001]", "Q7[SQ002]", "Q7[SQ003]"]), "Q7"),
        (boxes(["Q7a", "Q7b", "Q7c"]), "Q7"),
        (boxes(["media1", "media2", "media3"]), "media"),
        (boxes(["a", "b", "c"], [f"Which pies? - {pie}" for pie in PIES[:3]]), "Which pies?"),
        (boxes([f"Which pies?: {pie}" for pie in PIES], None, PIES), "Which pies?"),
        # The option has the mark that parts it from the question.
        (boxes(["Q7_1", "Q7_2", "Q7_3"], ["Pies: A", "Pies: B", "Pies: Other: which?"]), "Pies"),
    ],
)
def test_boxes_share_a_question_in_name_or_label(columns, question):
    assert questions(columns) == [question] * len(columns)


@pytest.mark.parametrize(
    "columns",
    [
        boxes(["Q7_1", "Q7_2"]),
        boxes(["v1", "v2", "v3"]),
        boxes(["VAR00001", "VAR00002", "VAR00003"]),
        boxes(["var1", "var2", "var3"]),
        boxes(["smokes", "drinks", "runs"]),
        boxes(["Q7_1", "Q8_1", "Q9_1"]),
        # Names agree, the questions do not.
        boxes(["h_1", "h_2", "h_3"], ["Cars? - A", "Pets? - A", "Pies? - A"]),
        # Blank in the same rows.
        [Candidate(f"Q7_{n}", answer=1, n_answers=30) for n in range(3)],
        # Hardly anything is blank: answers to three questions.
        [Candidate(f"Q7_{n}", answer=1, n_answers=30 + n, has_blanks=n < 2) for n in range(3)],
        [*boxes(["Q7_1", "Q7_2"]), Candidate("Q7_x", n_answers=9), *boxes(["Q7_3"])],
    ],
)
def test_other_boxes_are_no_select_all_question(columns):
    assert questions(columns) == [""] * len(columns)


def test_neighbouring_questions_stay_apart():
    two = [*boxes(["Q7_1", "Q7_2", "Q7_3"]), *boxes(["Q8_1", "Q8_2", "Q8_3"])]
    assert questions(two) == ["Q7"] * 3 + ["Q8"] * 3
    labels = ["Which of these? - A", "Which of these? - B", "Which of these? - C"]
    same = [*boxes(["Q7_1", "Q7_2", "Q7_3"], labels), *boxes(["Q8_1", "Q8_2", "Q8_3"], labels)]
    found = questions(same)
    assert found == ["Which of these?"] * 3 + ["Which of these? (2)"] * 3


def test_texts_and_options_that_nobody_ticked_do_not_part_a_question():
    first, second, third, none = boxes(["Q7_1", "Q7_2", "Q7_4", "Q7_5"])
    blank, other = Candidate("Q7_3"), Candidate("Q8", n_answers=60)
    # Also if all who wrote something wrote the same.
    for answer in (None, "a friend"):
        text = Candidate("Q7_4_TEXT", "", answer, 8, is_text=True)
        found = select_all_questions([first, second, blank, third, text, none, other])
        assert [question for question, _ in found] == ["Q7", "Q7", "", "Q7", "Q7", "Q7", ""]
        assert [is_box for _, is_box in found] == [True, True, False, True, False, True, False]
    # A text of another question ends it.
    remark = Candidate("remarks", "", None, 8, is_text=True)
    assert questions([first, second, third, remark])[-1] == ""
