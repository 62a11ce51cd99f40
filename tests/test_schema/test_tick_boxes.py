"""Boxes to tick: an unticked box is not a missing answer, and is never imputed as ticked."""

import pandas as pd
import polars as pl
import pyreadstat

from tabsoda import read_survey
from tabsoda.schema import ColumnRole
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.inference import propose_schema

PIES = ["Apple", "Cherry", "Pecan", "Pumpkin"]


def ticked(answer, every, rows=60):
    return [answer if row % every == 0 else None for row in range(rows)]


def roles(frame, hints=None):
    return {column.name: column.role for column in propose_schema(frame, hints)}


def test_boxes_of_a_web_form_are_left_alone(tmp_path):
    columns = {"pray": ["Yes", "No", None] * 20}
    columns |= {f"Which pies? - {pie}": ticked(pie, n + 2) for n, pie in enumerate(PIES)}
    path = tmp_path / "form.csv"
    pl.DataFrame(columns).write_csv(path)
    survey = read_survey(path)
    assert list(survey.table.names) == ["pray"]
    assert survey.schema["Which pies? - Apple"].role is ColumnRole.IGNORE
    assert "a box to tick" in survey.schema["Which pies? - Apple"].note
    guessed = [event for event in survey.events if event.kind == "role_guessed"]
    assert len(guessed) == len(PIES)


def test_boxes_of_an_spss_file_hold_one_labelled_code(tmp_path):
    frame = pd.DataFrame({f"media_{n}": ticked(1.0, n + 2) for n in range(3)})
    frame["sex"] = [1.0, 2.0] * 30
    path = tmp_path / "media.sav"
    labels = {name: {1.0: "Yes"} for name in frame.columns[:3]}
    pyreadstat.write_sav(frame, path, variable_value_labels=labels)
    assert list(read_survey(path).table.names) == ["sex"]


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
