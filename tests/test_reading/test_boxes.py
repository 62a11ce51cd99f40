"""Boxes of select-all questions: 0 if another is ticked, missing if none is."""

import csv
import json

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tabsoda import TabSODAImputer, read_survey, read_survey_with_form
from tabsoda.cli.main import main
from tabsoda.edits.blocks import find_blocks
from tabsoda.edits.proposals import propose_edits
from tabsoda.errors import InputError
from tabsoda.event_texts import sentence
from tabsoda.exchange import export
from tabsoda.questionnaire.expressions import parse_xpath
from tabsoda.questionnaire.form import Answers, Form, Question
from tabsoda.schema import ColumnKind, ColumnRole, Confidence
from tabsoda.schema.correction_form import parse_settings
from tabsoda.schema.description import Description
from tabsoda.schema.files import load_schema, save_schema
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule
from tabsoda.states.cell_states import CellState

PIES = ("Apple", "Cherry", "Pecan", "None")


def ticks(n=200, k=4, seed=0, blank=0.1):
    """Return who ticked what, shape (n, k); the last box is "none of these"."""
    random = np.random.default_rng(seed)
    chosen = random.random((n, k)) < np.linspace(0.5, 0.2, k)
    chosen[:, -1] = ~chosen[:, :-1].any(axis=1)
    chosen[random.random(n) < blank] = False
    return chosen


def table(chosen, answers=(1,) * 4, names=None):
    """Return boxes as a program exports them, between other questions."""
    n = len(chosen)
    names = names or [f"pies_{number}" for number in range(1, len(answers) + 1)]
    columns = {
        name: [answer if own else None for own in column]
        for name, answer, column in zip(names, answers, chosen.T, strict=True)
    }
    other = {"age": np.arange(n) % 60 + 18.5, "sex": np.arange(n) % 2}
    return pl.DataFrame({"age": other["age"], **columns, "sex": other["sex"]})


def coded(survey, names=None):
    """Return 1, 0 and NaN by respondent and box."""
    names = names or [c.name for c in survey.schema.questions if c.select_all]
    return survey.table.values[:, [survey.table.names.index(name) for name in names]]


def expected(chosen):
    return np.where(chosen.any(axis=1)[:, None], chosen, np.nan).astype(float)


def corrected(*texts, source):
    """Read a table with corrections as after --set."""
    return read_survey(source, Description(None, parse_settings(texts)))


FORMS = [
    ((1,) * 4, None),
    ((1.0,) * 4, None),
    (("Yes",) * 4, None),
    # SPSS multiple categories: the number of the option.
    ((1, 2, 3, 4), None),
    (PIES, None),
    (PIES, [f"Which pies? - {pie}" for pie in PIES]),
]


@pytest.mark.parametrize(("answers", "names"), FORMS)
def test_a_blank_box_is_not_ticked_if_another_is(tmp_path, answers, names):
    chosen = ticks()
    frame = table(chosen, answers, names)
    frame.write_csv(tmp_path / "pies.csv")
    for source in (frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "pies.csv"):
        survey = read_survey(source)
        np.testing.assert_array_equal(coded(survey), expected(chosen))
        columns = [column for column in survey.schema if column.select_all]
        assert len({column.select_all for column in columns}) == 1
        assert {column.kind for column in columns} == {ColumnKind.NOMINAL}
        assert {column.confidence for column in columns} == {Confidence.DOUBTFUL}
        assert [column.level_labels[column.levels[0]] for column in columns] == ["not ticked"] * 4
        (event,) = [one for one in survey.events if one.kind == "boxes_coded"]
        n = int(chosen.any(axis=1).sum())
        counts = {key: event.counts[key] for key in ("boxes", "answered", "blank")}
        assert counts == {"boxes": 4, "answered": n, "blank": 200 - n}
        assert f"{n} respondents answered it" in sentence(event)


@given(st.integers(0, 2**32), st.integers(3, 6), st.sampled_from([1, 2.0, "Yes", "NA of them"]))
def test_ticks_are_never_lost_and_answers_never_changed(seed, k, answer):
    chosen = ticks(60, k, seed)
    frame = table(chosen, (answer,) * k)
    description = [
        {"name": name, "type": "nominal", "select_all": "pies"} for name in frame.columns[1:-1]
    ]
    survey = read_survey(frame, description)
    np.testing.assert_array_equal(coded(survey), expected(chosen))
    # A column without any cell has no type to keep.
    kept = {name: kind for name, kind in frame.schema.items() if kind != pl.Null}
    assert {name: survey.frame.schema[name] for name in kept} == kept
    for name in frame.columns:
        given_cells = frame[name].is_not_null()
        assert survey.frame[name].filter(given_cells).equals(frame[name].filter(given_cells))
        new = survey.frame[name].filter(~given_cells).drop_nulls().cast(pl.String)
        assert set(new) <= {"0", "0.0"}
    # What was coded reads the same again.
    again = read_survey(survey.frame, survey.schema)
    assert_frame_equal(again.frame, survey.frame)
    np.testing.assert_array_equal(again.table.values, survey.table.values)


def test_a_block_in_which_everybody_ticked_a_box_has_no_missing_answer():
    chosen = ticks(blank=0)
    survey = read_survey(table(chosen))
    np.testing.assert_array_equal(coded(survey), chosen)
    assert not survey.states.missing.any()


def test_a_box_that_all_ticked_and_one_that_nobody_ticked():
    chosen = ticks(k=5)
    chosen[:, 0] = True
    frame = table(chosen, (1,) * 5)
    np.testing.assert_array_equal(coded(read_survey(frame)), chosen)
    chosen = ticks(k=5)
    chosen[:, 1] = False
    frame = table(chosen, (1,) * 5)
    survey = read_survey(frame)
    assert survey.schema["pies_2"].select_all == ""
    np.testing.assert_array_equal(coded(survey), expected(chosen)[:, [0, 2, 3, 4]])
    # A description says that it is a box.
    save = [{"name": name, "select_all": "pies"} for name in frame.columns[1:-1]]
    np.testing.assert_array_equal(coded(read_survey(frame, save)), expected(chosen))


@pytest.mark.parametrize("n", [4, 12])
def test_other_to_specify_shows_that_the_question_was_answered(n):
    chosen = ticks(k=5, blank=0.3)
    text = [None] * 200
    unticked = np.flatnonzero(~chosen.any(axis=1))
    for row in unticked[:n]:
        text[row] = f"something with {row} berries"
    frame = table(chosen, (1,) * 5).insert_column(4, pl.Series("pies_other", text))
    survey = read_survey(frame)
    column = survey.schema["pies_other"]
    assert (column.role, column.select_all) == (ColumnRole.IGNORE, "pies")
    wanted = expected(chosen)
    wanted[unticked[:n]] = 0
    np.testing.assert_array_equal(coded(survey), wanted)
    assert survey.frame["pies_other"].to_list() == text
    # A person may still call the texts a question of their own.
    column = corrected("pies_other.role=question", source=frame).schema["pies_other"]
    assert (column.role, column.select_all, column.n_levels) == (ColumnRole.QUESTION, "", n)


def test_codes_and_letters_stay_what_they_are(tmp_path):
    chosen = ticks(120)
    values = np.where(chosen, 1.0, np.nan)
    values[:3] = -1.0
    values[3] = [-1.0, np.nan, np.nan, np.nan]
    frame = pd.DataFrame(values, columns=[f"pies_{n}" for n in range(1, 5)])
    frame["age"] = np.arange(120.0) + 0.5
    letters = [*frame["pies_1"].astype(object)]
    letters[5:8] = ["a"] * 3
    path = tmp_path / "pies.dta"
    frame = frame.assign(pies_1=letters)
    pyreadstat.write_dta(frame, path, missing_user_values={"pies_1": ["a"]}, version=15)
    description = [
        *(
            {"name": f"pies_{n}", "levels": [0, 1], "skip_codes": [-1], "select_all": "pies"}
            for n in range(1, 5)
        ),
        {"name": "age", "type": "continuous"},
    ]
    survey = read_survey(path, description)
    states = survey.states.states[:, :4]
    assert (states[:3] == CellState.SKIPPED).all()
    assert states[3].tolist() == [CellState.SKIPPED, *[CellState.MISSING] * 3]
    assert (states[5:8, 0] == CellState.MISSING).all()
    assert survey.frame["pies_1"][5:8].null_count() == 3
    wanted = expected(chosen)
    wanted[:4] = np.nan
    found = coded(survey)
    np.testing.assert_array_equal(found[:4], wanted[:4])
    np.testing.assert_array_equal(found[8:], wanted[8:])
    # A letter is not a tick; the other boxes of the row are known from their own ticks.
    for row in (5, 6, 7):
        others = chosen[row, 1:]
        np.testing.assert_array_equal(found[row, 1:], others if others.any() else [np.nan] * 3)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_boxes_of_statistics_programs(tmp_path, ending):
    chosen = ticks()
    names = [f"media_{n}" for n in range(4)]
    frame = pd.DataFrame(np.where(chosen, 1.0, np.nan), columns=names)
    frame["sex"] = [1.0, 2.0] * 100
    path = tmp_path / f"media.{ending}"
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    labels = ["Which media? - " + what for what in ("TV", "Radio", "Papers", "None of these")]
    write(
        frame,
        path,
        column_labels=[*labels, "Sex"],
        variable_value_labels={name: {1: "Yes"} for name in names},
    )
    survey = read_survey(path)
    np.testing.assert_array_equal(coded(survey, names), expected(chosen))
    column = survey.schema["media_0"]
    assert column.select_all == "Which media?"
    assert (column.levels, dict(column.level_labels)) == ((0, 1), {0: "not ticked", 1: "Yes"})
    (block,) = find_blocks(survey.schema)
    assert (block.kind, block.names, block.text) == ("select-all", tuple(names), "Which media?")


def test_none_of_these_is_proposed_as_an_edit_whatever_the_ticks():
    survey = read_survey(table(ticks(800), PIES, [f"Which pies? - {pie}" for pie in PIES]))
    rules = [one.edit.rule for one in propose_edits(survey.schema, survey.table)]
    boxes = [f"`Which pies? - {pie}` == '{pie}'" for pie in PIES]
    assert f"not ({boxes[3]} and ({' or '.join(boxes[:3])}))" in rules


def test_a_routed_question_is_skipped_where_its_rule_says_so():
    chosen = ticks(400)
    eats = np.arange(400) % 4 != 0
    chosen[~eats] = False
    frame = table(chosen).insert_column(0, pl.Series("eats", np.where(eats, 1, 2)))
    survey = read_survey(frame)
    targets = [f"pies_{n}" for n in range(1, 5)]
    rules = RuleSet(
        tuple(
            SkipRule(f"r{n}", name, ((Condition("eats", (2,)),),), status=RuleStatus.APPROVED)
            for n, name in enumerate(targets)
        ),
        survey.schema.questions,
    )
    applied = rules.apply(survey.table)
    states = applied.states[:, [applied.names.index(name) for name in targets]]
    assert (states[~eats] == CellState.SKIPPED).all()
    answered = chosen.any(axis=1)
    assert (states[answered] == CellState.ANSWERED).all()
    assert (states[eats & ~answered] == CellState.MISSING).all()


def test_the_written_description_reads_the_same_and_new_rows(tmp_path, capsys):
    chosen = ticks()
    names = [f"Which pies? - {pie}" for pie in PIES]
    frame = table(chosen, PIES, names)
    frame.write_csv(tmp_path / "pies.csv")
    main(["inspect", str(tmp_path / "pies.csv"), "-o", str(tmp_path / "survey.toml")])
    shown = " ".join(capsys.readouterr().out.split())
    assert "boxes of a select-all question coded" in shown
    assert "Asked together: select-all" in shown
    assert "Check these first (4 doubtful kinds)" in shown
    survey = read_survey(tmp_path / "pies.csv")
    again = read_survey(tmp_path / "pies.csv", tmp_path / "survey.toml")
    assert again.schema == survey.schema
    assert_frame_equal(again.frame, survey.frame)
    save_schema(survey.schema, tmp_path / "schema.json")
    assert load_schema(tmp_path / "schema.json")["Which pies? - Apple"].select_all == "Which pies?"
    # Five rows would not be recognised; a box of them is blank in every row.
    few = ticks(5, seed=3)
    few[:, 2] = False
    new = read_survey(table(few, PIES, names), tmp_path / "survey.toml")
    np.testing.assert_array_equal(coded(new, names), expected(few))


def test_a_description_leaves_boxes_alone_or_names_them():
    chosen = ticks(k=5)
    frame = table(chosen, (1,) * 5, ["smokes", "drinks", "runs", "sings", "other"])
    assert not any(column.select_all for column in read_survey(frame).schema)

    names = (f"{name}.select_all=habits" for name in frame.columns[1:-1])
    survey = corrected(*names, source=frame)
    np.testing.assert_array_equal(coded(survey), expected(chosen))
    column = survey.schema["smokes"]
    assert (column.role, column.levels) == (ColumnRole.QUESTION, (0, 1))
    assert column.confidence is None
    assert "select_all set by you" in column.note
    # The other way round: of recognised boxes, all or one are left alone.
    boxes = table(chosen, (1,) * 5)
    alone = corrected("pies_*.role=ignore", source=boxes)
    assert alone.table.names == ("age", "sex")
    assert_frame_equal(alone.frame, boxes)
    assert not any(one.kind == "boxes_coded" for one in alone.events)
    # Who ticked the one that is left alone has answered.
    one = corrected("pies_5.role=ignore", source=boxes)
    np.testing.assert_array_equal(coded(one), expected(chosen)[:, :4])
    assert one.frame["pies_5"].equals(boxes["pies_5"])
    # Boxes that are taken apart are questions of their own; blanks are missing.
    apart = corrected("pies_*.select_all=", source=boxes)
    np.testing.assert_array_equal(
        np.isnan(coded(apart, [f"pies_{n}" for n in range(1, 6)])), ~chosen
    )


def test_codes_for_the_whole_file_leave_boxes_as_they_are():
    chosen = ticks()
    frame = table(chosen).with_columns(sex=pl.col("sex").replace({1: 2, 0: 1}))
    zeros = frame.with_columns(sex=pl.when(pl.col("age") < 20).then(0).otherwise("sex"))
    survey = corrected("missing.0=refused", source=zeros)
    np.testing.assert_array_equal(coded(survey), expected(chosen))
    assert survey.schema["sex"].levels == (1, 2)
    # Blanks that are skips stay skips where no box is ticked.
    survey = corrected("blanks=skip", source=frame)
    np.testing.assert_array_equal(coded(survey), expected(chosen))
    boxes = [survey.table.names.index(f"pies_{n}") for n in range(1, 5)]
    skipped = survey.states.skipped[:, boxes]
    np.testing.assert_array_equal(skipped, np.repeat(~chosen.any(axis=1)[:, None], 4, axis=1))


def test_what_is_no_box_cannot_be_called_one(tmp_path):
    frame = pl.DataFrame({"a": [1, 2, None] * 10, "b": [1, None, None] * 10})
    (tmp_path / "s.toml").write_text('[columns."*"]\nselect_all = "a"\n')
    with pytest.raises(InputError, match="'a' is called a box of a select-all question, but holds"):
        read_survey(frame, tmp_path / "s.toml")
    description = [
        {"name": "a", "type": "nominal", "levels": [1, 2], "select_all": "a"},
        {"name": "b", "type": "nominal", "levels": [1], "select_all": "a"},
    ]
    with pytest.raises(InputError, match="its levels lack 0"):
        read_survey(frame, description)


@pytest.mark.parametrize("answers", [(1,) * 4, PIES])
def test_conditions_of_a_form_use_boxes(answers):
    chosen = ticks(300)
    codes = ("apple", "cherry", "pecan", "none")
    names = [f"pies_{code}" for code in codes]
    slices = np.where(chosen[:, 0], 3.0, np.nan)
    frame = table(chosen, answers, names).with_columns(slices=pl.Series(slices).fill_nan(None))
    pies = Question("pies", Answers.SEVERAL, label="Pies", options=dict.fromkeys(codes, ""))
    shown = "selected(${pies}, 'apple')"
    asked = Question("slices", Answers.WHOLE, shown_when=(parse_xpath(shown),), shown_text=shown)
    found = read_survey_with_form(frame, Form("form.xlsx", "XLSForm", (pies, asked)))
    np.testing.assert_array_equal(coded(found.survey), expected(chosen))
    assert found.untranslated == ()
    (rule,) = found.rules.sentences()
    assert rule == "slices is skipped when pies_apple is 0 'not ticked'"


@pytest.mark.parametrize(("answers", "names"), [((1,) * 4, None), (PIES, None)])
def test_completed_tables_have_ticks_as_in_the_file_and_0(tmp_path, answers, names):
    chosen = ticks(120)
    frame = table(chosen, answers, names)
    imputer = TabSODAImputer(quality="tiny", random_state=1).fit(frame)
    result = imputer.impute(frame, 2)
    boxes = [f"pies_{n}" for n in range(1, 5)]
    for completed in (result.complete(1), result.point()):
        assert completed.schema == frame.schema
        for name, answer in zip(boxes, answers, strict=True):
            zero = "0" if isinstance(answer, str) else 0
            assert set(completed[name]) == {zero, answer}
            ticked = frame[name].is_not_null()
            assert set(completed[name].filter(ticked)) == {answer}
            known = pl.Series(chosen.any(axis=1)) & ~ticked
            assert set(completed[name].filter(known)) == {zero}
    # A model codes the boxes of new rows as well.
    new = ticks(12, seed=5)
    again = imputer.impute(table(new, answers, names), 1)
    observed = coded(again.survey, boxes)
    np.testing.assert_array_equal(observed, expected(new))
    result.save(tmp_path / "out")
    loaded = TabSODAImputer.load(tmp_path / "out" / "model")
    observed = coded(loaded.impute(table(new, answers, names), 1).survey, boxes)
    np.testing.assert_array_equal(observed, expected(new))
    record = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "boxes_coded" in [one["kind"] for one in record["events"]]
    export(result, "stata", tmp_path / "stata")


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_boxes_of_a_qualtrics_export(tmp_path, ending):
    chosen = ticks(k=5)
    text = ["something else" if row % 7 == 0 and own[3] else None for row, own in enumerate(chosen)]
    options = ("TV", "Radio", "Papers", "Other (please specify):", "None - I use no media")
    asked = "Which media do you use? - "
    names = ["Q7_1", "Q7_2", "Q7_4", "Q7_5", "Q7_5_TEXT", "Q7_99"]
    labels = [f"{asked}Selected Choice - {option}" for option in options]
    labels.insert(4, f"{asked}Other (please specify): - Text")
    columns = [["1" if own else None for own in column] for column in chosen.T]
    columns.insert(4, text)
    rows = [
        ["ResponseId", *names, "Q8"],
        ["Response ID", *labels, "Do you vote?"],
        *[[f'{{"ImportId":"{name}"}}' for name in ("_recordId", *names, "QID8")]],
        *(
            [f"R_{n:04d}x", *cells, str(1 + n % 2)]
            for n, cells in enumerate(zip(*columns, strict=True))
        ),
    ]
    path = tmp_path / f"q.{ending}"
    if ending == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    else:
        workbook = openpyxl.Workbook()
        for row in rows:
            workbook.active.append(row)
        workbook.save(path)
    survey = read_survey(path)
    boxes = [name for name in names if name != "Q7_5_TEXT"]
    np.testing.assert_array_equal(coded(survey, boxes), expected(chosen))
    assert {survey.schema[name].select_all for name in boxes} == {survey.schema["Q7_1"].select_all}
    assert survey.table.names == (*boxes, "Q8")
