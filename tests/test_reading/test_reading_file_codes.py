"""Codes that mean the same throughout a file, in small files made for it."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tabsoda.cli.main import main
from tabsoda.reading import read_survey
from tabsoda.reading.inspection import summarize
from tabsoda.schema import Reason
from tabsoda.schema.file_codes import with_file_meanings
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.special_codes import doubtful_labels, special_codes

SPANISH = {1: "Sí", 2: "No", "a": "No sabe", "b": "No responde", "c": "No aplica"}
CELLS = [1, 2, "a", "b", "c", 1, 2, "c"]


def write_letters(path, labels_by_column):
    names = list(labels_by_column)
    pyreadstat.write_dta(
        pd.DataFrame({name: pd.Series(CELLS, dtype=object) for name in names}),
        path,
        missing_user_values={name: ["a", "b", "c"] for name in names},
        variable_value_labels=labels_by_column,
    )


def counts(survey, kind):
    return [dict(event.counts) for event in survey.events if event.kind == kind]


@pytest.fixture
def letters(tmp_path):
    bare = {1: "Sí", 2: "No"}
    write_letters(
        tmp_path / "a.dta", {"q1": SPANISH, "q2": SPANISH, "q3": SPANISH, "q4": bare, "q5": bare}
    )
    return tmp_path / "a.dta"


def test_letters_in_spanish_say_skip_refused_and_dont_know(letters):
    survey = read_survey(letters)
    expected = {".a": Reason.DONT_KNOW, ".b": Reason.REFUSED, ".c": Reason.SKIP}
    assert all(column.special_codes == expected for column in survey.schema)
    assert survey.states.skipped.sum(axis=0).tolist() == [2] * 5


def test_one_event_and_one_line_of_inspect_per_code(letters, capsys):
    survey = read_survey(letters)
    unlabelled = {"columns": 5, "unlabelled": 2, "unlabelled_columns": ("q4", "q5")}
    assert counts(survey, "code_in_several_columns") == [
        {"code": ".a", "reason": "dont_know", "label": "No sabe", **unlabelled},
        {"code": ".b", "reason": "refused", "label": "No responde", **unlabelled},
        {"code": ".c", "reason": "skip", "label": "No aplica", **unlabelled},
    ]
    assert not counts(survey, "codes_taken_as_no_answer")
    flags = [f for f in summarize(survey)["flags"] if f["kind"] == "code_in_several_columns"]
    assert [flag["variable"] for flag in flags] == [None] * 3
    main(["inspect", str(letters)])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count(".c means skip in 5 columns, labelled 'No aplica'") == 1


def test_unlabelled_letters_mean_the_same_under_a_description_that_leaves_them_out(letters):
    described = [{"name": f"q{n}", "type": "nominal", "levels": [1, 2]} for n in range(1, 6)]
    survey = read_survey(letters, described)
    assert survey.schema["q5"].special_codes[".c"] is Reason.SKIP
    assert len(counts(survey, "code_in_several_columns")) == 3
    described[4]["missing_codes"] = [".c"]
    survey = read_survey(letters, described)
    assert survey.schema["q5"].special_codes[".c"] is Reason.OTHER


def test_a_letter_with_conflicting_labels_is_a_doubt_and_is_not_carried_over(tmp_path):
    other = {**SPANISH, "c": "Rehúsa contestar"}
    bare = {1: "Sí", 2: "No"}
    write_letters(
        tmp_path / "a.dta", {"q1": SPANISH, "q2": SPANISH, "q3": SPANISH, "q4": other, "q5": bare}
    )
    survey = read_survey(tmp_path / "a.dta")
    assert survey.schema["q5"].special_codes[".c"] is Reason.OTHER
    assert survey.schema["q5"].special_codes[".a"] is Reason.DONT_KNOW
    assert counts(survey, "code_with_several_meanings") == [
        {
            "code": ".c",
            "meanings": ("skip 'No aplica'", "refused 'Rehúsa contestar'", "other"),
            "columns": (3, 1, 1),
            "rare_columns": ("q4", "q5"),
        }
    ]


def test_two_columns_are_too_few_to_speak_for_the_file(tmp_path):
    write_letters(tmp_path / "a.dta", {"q1": SPANISH, "q2": SPANISH, "q3": {1: "Sí", 2: "No"}})
    assert read_survey(tmp_path / "a.dta").schema["q3"].special_codes[".c"] is Reason.OTHER


def test_declared_numbers_carry_over_and_undeclared_ones_do_not(tmp_path):
    frame = pd.DataFrame({f"q{n}": [1.0, 2.0, 9.0, 1.0, 2.0, 1.0] for n in range(1, 6)})
    labels = {1: "Ja", 2: "Nein", 9: "Frage nicht gestellt"}
    pyreadstat.write_sav(
        frame,
        tmp_path / "a.sav",
        variable_value_labels={**dict.fromkeys(["q1", "q2", "q3"], labels), "q5": {1: "Ja"}},
        missing_ranges={"q1": [9], "q2": [9], "q3": [9], "q4": [{"lo": 8, "hi": 9}]},
    )
    survey = read_survey(tmp_path / "a.sav")
    assert survey.schema["q4"].special_codes == {9: Reason.SKIP}
    assert survey.schema["q5"].special_codes == {}


def test_the_language_of_the_file_settles_abbreviations():
    spanish = ColumnHints(level_labels={1: "Sí", 2: "No", 3: "NC"}, missing_codes=(3,))
    others = {"a": ColumnHints(level_labels={8: "No sabe", 9: "No contesta"})}
    alone = with_file_meanings({"q": spanish})["q"]
    beside = with_file_meanings({"q": spanish, **others})["q"]
    assert special_codes([], alone) == {3: Reason.OTHER}
    assert special_codes([], beside) == {3: Reason.BLANK}


AGREEMENT = ["Trifft zu", "Trifft eher zu", "Trifft eher nicht zu", "Trifft nicht zu"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (dict(enumerate(AGREEMENT, 1)), {}),
        (dict(enumerate(reversed(AGREEMENT), 0)), {}),
        (dict(zip((7, 5, 3, 1), AGREEMENT, strict=True)), {}),
        ({**dict(enumerate(AGREEMENT, 1)), 9: "k. A."}, {9: Reason.BLANK}),
        ({1: "Ja", 2: "Nein", -2: "Trifft nicht zu"}, {-2: Reason.SKIP}),
        ({1: "Ja", 2: "Nein", 8: "Trifft nicht zu"}, {8: Reason.SKIP}),
        ({1: "NC", 2: "SD", 3: "NY"}, {}),
        ({1: "Sí", 2: "No", 3: "NS", 4: "NR"}, {3: Reason.DONT_KNOW, 4: Reason.BLANK}),
        ({1: "Sí", 2: "No", 8: "NS"}, {8: Reason.DONT_KNOW}),
        ({1: "Sí", 2: "No", 3: "No aplica"}, {3: Reason.SKIP}),
        ({1: "Treated", 2: "Refused treatment"}, {}),
        ({1: "Agrees", 2: "Does not know God"}, {}),
    ],
)
def test_labels_at_the_end_of_a_scale_are_answers_and_codes_apart_are_not(labels, expected):
    assert special_codes([], ColumnHints(level_labels=labels)) == expected


def test_labels_beside_yes_and_no_and_codes_far_from_the_scale():
    not_sure = ColumnHints(level_labels={1: "Yes", 2: "No", 3: "Not sure"})
    assert special_codes([], not_sure) == {3: Reason.DONT_KNOW}
    partly = ColumnHints(level_labels={1: "Yes", 2: "No", 3: "Don't know or other"})
    assert special_codes([], partly) == {}
    middle = ColumnHints(level_labels=dict(enumerate(["For", "Rather for", "Not sure", "Against"])))
    assert special_codes([], middle) == {}
    labels = {1: "Well", 2: "Badly", 99: "Refused", 998: "Did not follow", 999: "No answer to this"}
    pew = ColumnHints(level_labels=labels)
    assert special_codes([], pew) == {99: Reason.REFUSED, 999: Reason.BLANK}
    assert doubtful_labels(pew) == {998: None}
    ends = {1: "Nada", 7: "Mucho", 97: "[NO LEER] Otras respuestas"}
    assert doubtful_labels(ColumnHints(level_labels=ends)) == {}


def test_labels_that_may_mean_no_answer_are_flagged_unless_they_belong_to_the_scale():
    assert not doubtful_labels(ColumnHints(level_labels=dict(enumerate(AGREEMENT, 1))))
    assert list(doubtful_labels(ColumnHints(level_labels={1: "Ja", 2: "Trifft nicht zu"}))) == [2]


def test_texts_that_say_there_is_no_answer_are_codes_and_words_for_blank_stay_blank():
    frame = pl.DataFrame({"q": ["Yes", "No", "Don't know", "Refused", "N/A", "Never"] * 5})
    survey = read_survey(frame.with_columns(r=pl.Series(["Yes", "No", "Not sure"] * 10)))
    assert survey.schema["r"].special_codes == {"Not sure": Reason.DONT_KNOW}
    assert survey.schema["q"].special_codes == {
        "Don't know": Reason.DONT_KNOW,
        "Refused": Reason.REFUSED,
    }
    assert set(survey.schema["q"].levels) == {"Yes", "No", "Never"}
    assert survey.states.reason_of(4, "q") is Reason.BLANK
    np.testing.assert_array_equal(survey.states.answered[:6, 0], [1, 1, 0, 0, 0, 1])


def test_a_code_that_a_person_sets_is_not_listed_with_its_guessed_meaning(tmp_path, capsys):
    labels = {**SPANISH, "b": "En blanco"}
    write_letters(tmp_path / "a.dta", {"q1": labels, "q2": labels, "q3": labels})
    main(["inspect", str(tmp_path / "a.dta")])
    assert ".b means blank" in capsys.readouterr().out
    argv = ["inspect", str(tmp_path / "a.dta"), "--json", "--set", "missing..b=refused"]
    main(argv)
    shown = capsys.readouterr().out
    assert ".b means" not in shown
    assert ".a means dont_know" in shown
    variable = json.loads(shown)["variables"][0]
    assert variable["codes"][".b"] == "refused"
    assert "missing codes set by you for the whole file (.b was blank)" in variable["reason"]
