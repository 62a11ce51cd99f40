"""Several answers in one cell: split into columns, by a form, a description, or recognised."""

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey, read_survey_with_form
from tabsoda.edits.blocks import find_blocks
from tabsoda.errors import InputError
from tabsoda.questionnaire.expressions import parse_xpath
from tabsoda.questionnaire.form import Answers, Form, Question
from tabsoda.schema.files import save_schema

OPTIONS = ("beer", "wine", "gin", "none")


def answers(mark, options=OPTIONS, n=200, seed=0):
    """Return cells with several answers, and who chose what, shape (n, k); NaN if blank."""
    random = np.random.default_rng(seed)
    chosen = (random.random((n, len(options))) < 0.45).astype(float)
    chosen[~chosen.any(axis=1), -1] = 1
    chosen[random.random(n) < 0.1] = np.nan
    cells = [
        None if np.isnan(row[0]) else mark.join(o for o, c in zip(options, row, strict=True) if c)
        for row in chosen
    ]
    return cells, chosen


def ticks(survey, options, name="drinks"):
    columns = [survey.frame[f"{name}/{one}"].to_numpy().astype(float) for one in options]
    return np.column_stack(columns)


@pytest.mark.parametrize("mark", [";", "; ", "|", "\n"])
def test_lists_of_options_are_recognised_and_split(mark):
    cells, chosen = answers(mark)
    survey = read_survey(pl.DataFrame({"age": np.arange(200.0), "drinks": cells}))
    np.testing.assert_array_equal(ticks(survey, OPTIONS), chosen)
    assert "drinks" not in survey.schema
    assert survey.schema["drinks/beer"].levels == (0, 1)
    event = next(one for one in survey.events if one.kind == "several_answers_split")
    assert (event.column, event.counts["options"]) == ("drinks", 4)
    # The table that was read still has the cells as they were.
    assert survey.frame["drinks"].to_list() == cells


def test_codes_between_spaces_or_commas_are_recognised():
    for mark in (" ", ","):
        cells, chosen = answers(mark, ("1", "2", "3", "5"))
        survey = read_survey(pl.DataFrame({"drinks": cells, "age": np.arange(200.0)}))
        np.testing.assert_array_equal(ticks(survey, ("1", "2", "3", "5")), chosen)


def test_the_block_is_a_select_all_question():
    cells, _ = answers(";")
    survey = read_survey(pl.DataFrame({"age": np.arange(200.0), "drinks": cells}))
    block = next(one for one in find_blocks(survey.schema) if one.kind == "select-all")
    assert set(block.names) == {f"drinks/{one}" for one in OPTIONS}


@pytest.mark.parametrize(
    "cells",
    [
        # Labels with a comma or semicolon, sentences, numbers with spaces, names.
        ["Married; living together", "Married; separated", "Single", "Widowed"] * 50,
        [f"I think; that {n} is; fine" for n in range(200)],
        ["yes, a little", "no, not at all", "yes"] * 60,
        [f"0{n % 10} 12 {n}" for n in range(200)],
        ["north", "south", "east"] * 60,
        ["beer;wine", "beer;wine", "wine", "beer"] * 50,
    ],
)
def test_other_texts_are_left_alone(cells):
    sex = np.arange(len(cells)) % 2
    survey = read_survey(pl.DataFrame({"text": cells, "sex": sex}))
    assert survey.frame.columns == ["text", "sex"]


def test_a_description_splits_the_same_columns_again(tmp_path):
    cells, chosen = answers(";")
    frame = pl.DataFrame({"age": np.arange(200.0), "drinks": cells})
    save_schema(read_survey(frame).schema, tmp_path / "survey.toml")
    # Ten rows alone would not be recognised.
    again = read_survey(frame[:10], tmp_path / "survey.toml")
    np.testing.assert_array_equal(ticks(again, OPTIONS), chosen[:10])


def test_a_form_names_the_options_and_its_rules_use_them():
    cells, chosen = answers(" ")
    glasses = np.where(np.nan_to_num(chosen[:, 0]) == 1, 3.0, np.nan)
    drinks = Question("drinks", Answers.SEVERAL, label="Drinks", options=dict.fromkeys(OPTIONS, ""))
    shown = "selected(${drinks}, 'beer')"
    beers = Question("glasses", Answers.WHOLE, shown_when=(parse_xpath(shown),), shown_text=shown)
    form = Form("form.xlsx", "XLSForm", (drinks, beers))
    frame = pl.DataFrame({"drinks": cells, "glasses": glasses, "age": np.arange(200.0)})
    found = read_survey_with_form(frame, form)
    np.testing.assert_array_equal(ticks(found.survey, OPTIONS), chosen)
    assert list(found.rules.sentences()) == ["glasses is skipped when drinks/beer is 0"]
    assert found.untranslated == ()
    # Options that nobody chose have a column, too; answers that the form lacks are named.
    odd = read_survey(frame, several={"drinks": ["beer", "wine", "gin", "cider"]})
    assert odd.frame["drinks/cider"].drop_nulls().to_list() == [0] * int(
        (~np.isnan(chosen[:, 0])).sum()
    )
    event = next(one for one in odd.events if one.kind == "several_answers_split")
    assert event.counts["others"] == ("none",)


def test_a_cell_with_a_negative_code_is_blank_in_every_column():
    cells = ["a b", "-99", "b", None] * 10
    frame = pl.DataFrame({"age": np.arange(40.0), "drinks": cells})
    survey = read_survey(frame, several={"drinks": ["a", "b"]})
    expected = [[1, 1], [np.nan, np.nan], [0, 1], [np.nan, np.nan]] * 10
    np.testing.assert_array_equal(ticks(survey, ("a", "b")), expected)
    event = next(one for one in survey.events if one.kind == "several_answers_split")
    assert event.counts["others"] == ("-99",)


def test_a_column_to_split_must_exist():
    with pytest.raises(InputError, match="'drink' is to be split into its answers"):
        read_survey(pl.DataFrame({"drinks": ["a"]}), several={"drink": ["a"]})
