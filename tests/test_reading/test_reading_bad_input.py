"""Every refusal names what is wrong, what was found, what was expected, and what to do."""

import io
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tabsoda.errors import InputError
from tabsoda.event_texts import stage
from tabsoda.events import Event
from tabsoda.reading import read_survey
from tabsoda.reading.inspection import WORTH_A_LOOK
from tabsoda.skips.rule_set import RuleSet

GATE = {"name": "g", "type": "nominal", "levels": [1, 2]}


def complaint(*args, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_survey(*args, **options)
    return str(caught.value)


def test_absent_file(tmp_path):
    message = complaint(tmp_path / "none.csv")
    assert "none.csv" in message
    assert "does not exist" in message
    assert "Check the path" in message


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.sav", "a.dta", "a.xpt", "a.sas7bdat"])
def test_empty_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    message = complaint(tmp_path / name)
    assert name in message
    assert "is empty" in message
    assert "Found: 0 bytes" in message


def test_unknown_ending(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK\x03\x04")
    message = complaint(tmp_path / "a.docx")
    assert "Found: .docx" in message
    assert ".parquet" in message


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt", ".por", ".parquet"])
def test_truncated_file(tmp_path, ending):
    frame = pd.DataFrame({"q": np.arange(2000.0) % 7, "t": ["some text"] * 2000})
    path = tmp_path / f"a{ending}"
    if ending == ".parquet":
        pl.DataFrame({"q": range(100)}).write_parquet(path)
    else:
        write = {
            ".sav": "write_sav",
            ".dta": "write_dta",
            ".xpt": "write_xport",
            ".por": "write_por",
        }
        getattr(pyreadstat, write[ending])(frame, path)
    path.write_bytes(path.read_bytes()[:-700])
    message = complaint(path)
    assert path.name in message
    assert "Expected: a complete" in message
    assert "truncated" in message


@pytest.mark.parametrize(
    ("name", "content", "actual"),
    [
        ("a.csv", b"PAR1....", ".parquet"),
        ("a.sav", b"<stata_dta><header>", ".dta"),
        ("a.parquet", b"$FL2@(#) SPSS", ".sav"),
        ("a.dta", b"HEADER RECORD*******LIBRARY", ".xpt"),
    ],
)
def test_wrong_extension(tmp_path, name, content, actual):
    (tmp_path / name).write_bytes(content)
    message = complaint(tmp_path / name)
    assert f"the first bytes of a {actual} file" in message
    assert "Rename it" in message


@pytest.mark.parametrize("name", ["a.sav", "a.dta", "a.parquet", "a.xpt", "a.sas7bdat", "a.por"])
def test_text_under_a_binary_ending(tmp_path, name):
    (tmp_path / name).write_text("q,t\n1,2\n")
    message = complaint(tmp_path / name)
    assert name in message
    assert "Expected: a complete" in message


def test_binary_under_a_text_ending(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"abc\x00\x01\x02,def\n")
    assert "is not text" in complaint(tmp_path / "a.csv")


def test_csv_cut_off_in_its_last_line(tmp_path):
    (tmp_path / "a.csv").write_text("q,r,s\n1,2,3\n4,5")
    message = complaint(tmp_path / "a.csv")
    assert "Line 3 of 'a.csv'" in message
    assert "truncated" in message
    assert "Found: 2 fields. Expected: 3 fields" in message


def test_csv_with_a_short_line_in_the_middle(tmp_path):
    (tmp_path / "a.csv").write_text("q,r,s\n1,2,3\n4,5\n6,7,8\n")
    assert "Line 3" in complaint(tmp_path / "a.csv")


def test_csv_ending_within_quotes(tmp_path):
    (tmp_path / "a.csv").write_text('q,r\n1,"two\n3,4\n')
    assert "ends within quotes" in complaint(tmp_path / "a.csv")


def test_csv_of_a_header_alone(tmp_path):
    (tmp_path / "a.csv").write_text("q,r\n")
    assert "holds no rows" in complaint(tmp_path / "a.csv")


def test_mixed_encodings(tmp_path):
    (tmp_path / "a.csv").write_bytes("q\nKöln\n".encode() + "Köln\n".encode("latin-1"))
    message = complaint(tmp_path / "a.csv")
    assert "mixes encodings" in message
    assert "UTF-8 in line 2 and another encoding in line 3" in message
    assert "Export the file again" in message


def test_repeated_column_names(tmp_path):
    """A text file cannot be helped otherwise; a frame can be renamed where it is made."""
    (tmp_path / "a.csv").write_text(',q,"a ""b""\nc",q,q (2)\n1,2,3,4,5\n2,5,7,8,9\n')
    survey = read_survey(tmp_path / "a.csv")
    assert survey.frame.columns == ["column_1", "q", 'a "b"\nc', "q (3)", "q (2)"]
    assert survey.frame["q (3)"].to_list() == [4, 8]
    events = [event for event in survey.events if stage(event) == "read"]
    assert events == [
        Event("column_without_name", "column_1", {"position": 1, "name": "column_1"}),
        Event("repeated_column_name", "q (3)", {"position": 4, "name": "q (3)"}),
    ]
    frame = pd.DataFrame([[1, 2]], columns=["q", "q"])
    assert "Column 'q' occurs twice" in complaint(frame)


def test_a_stata_file_whose_texts_are_not_in_its_encoding(tmp_path):
    """Old Stata files have no encoding; Á in UTF-8 holds a byte that Windows-1252 has not."""
    path = tmp_path / "a.dta"
    frame = pd.DataFrame({"city": ["QQvila", "Lugo"], "q": [1, 2]})
    pyreadstat.write_dta(frame, str(path), version=10)
    path.write_bytes(path.read_bytes().replace(b"QQvila", "Ávila".encode()))
    survey = read_survey(path)
    assert survey.frame["city"].to_list() == ["Ávila", "Lugo"]
    assert Event("declared_encoding_not_used", None, {"encoding": "UTF-8"}) in list(survey.events)
    path.write_bytes(path.read_bytes().replace("Á".encode(), b"\x81\xe9"))
    assert read_survey(path).frame["city"][0] == "\x81évila"


def test_described_column_is_absent():
    message = complaint(pl.DataFrame({"g": [1]}), [GATE, {"name": "h", "type": "continuous"}])
    assert "Column 'h' is described but not in the data" in message
    assert "the data has g" in message
    frame = pl.DataFrame({f"q{number}": [1] for number in range(8)})
    message = complaint(frame, [{"name": "h", "type": "continuous"}])
    assert "the data has q0, q1, q2, q3, q4 and 3 more. Expected" in message


def test_level_left_out_of_the_description():
    message = complaint(pl.DataFrame({"g": [1, 2, 3, 3]}), [GATE])
    assert "Column 'g' has values that are not in the description" in message
    assert "Found: '3' (2x)" in message
    assert "Expected: levels 1, 2" in message
    assert "Add them to its levels" in message
    assert "unlisted='missing' in Python, --unlisted missing on the command line." in message


def test_left_out_level_may_count_as_missing_on_request():
    survey = read_survey(pl.DataFrame({"g": [1, 2, 3]}), [GATE], unlisted="missing")
    assert survey.states.missing[:, 0].tolist() == [False, False, True]
    counts = {"values": ["3"], "cells": [1]}
    assert Event("unlisted_values_taken_as_missing", "g", counts) in list(survey.events)


def test_repeated_level():
    message = complaint(pl.DataFrame({"g": [1]}), [{**GATE, "levels": [1, 2, 1]}])
    assert "Column 'g' repeats a level" in message
    assert "1 twice" in message


def test_ordinal_without_an_order():
    message = complaint(pl.DataFrame({"g": [1, 2]}), [{"name": "g", "type": "ordinal"}])
    assert "Column 'g' is ordinal without an order" in message
    assert "Expected: the levels, from one end to the other" in message


def test_text_in_a_numeric_column():
    frame = pl.DataFrame({"age": ["40", "forty", "41"]})
    message = complaint(frame, [{"name": "age", "type": "continuous"}])
    assert "Column 'age' is continuous and contains text" in message
    assert "Found: 'forty' (1x). Expected: numbers" in message


def test_infinity_is_no_answer():
    message = complaint(pl.DataFrame({"x": [1.0, np.inf]}), [{"name": "x", "type": "continuous"}])
    assert "Column 'x' contains an answer that is not a finite number" in message


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.zeros((3, 1), bool), "Found: 3 x 1. Expected: 2 rows x 1 columns"),
        (pl.DataFrame({"g": [True]}), "Found: 1 rows. Expected: 2 rows"),
        (pl.DataFrame({"h": [True, False]}), "no column 'g'"),
        (pl.DataFrame({"g": [False, False], "h": [True, False]}), "a column 'h'"),
        (pl.DataFrame({"g": ["yes", "no"]}), "values other than true and false"),
        (pl.DataFrame({"g": [True, False]}), "Column 'g' is answered in a cell"),
    ],
)
def test_mask_that_does_not_fit(mask, words):
    assert words in complaint(pl.DataFrame({"g": [1, None]}), [GATE], skip_mask=mask)


def test_odd_columns_are_events_and_no_errors():
    n = 12_000
    frame = pl.DataFrame(
        {
            "empty": pl.Series([None] * n, dtype=pl.Int64),
            "same": [1] * n,
            "name": [f"x{i}" for i in range(n)],
            "many": [f"y{i % 10_000}" for i in range(n)],
        }
    )
    described = [
        {"name": "empty", "type": "continuous"},
        {"name": "same", "type": "nominal", "levels": [1, 2]},
        {"name": "name", "type": "nominal"},
        {"name": "many", "type": "nominal"},
    ]
    survey = read_survey(frame, described)
    assert {e for e in survey.events if e.kind in WORTH_A_LOOK} == {
        Event("column_all_blank", "empty"),
        Event("column_constant", "same", {"answers": n}),
        Event("column_id_like", "name", {"levels": n, "answers": n}),
        Event("column_with_very_many_levels", "many", {"levels": 10_000}),
    }


def test_codebook_that_is_no_codebook(tmp_path):
    (tmp_path / "c.xml").write_text("<a><b></a>")
    assert "is not valid XML" in complaint(pl.DataFrame({"g": [1]}), codebook=tmp_path / "c.xml")
    (tmp_path / "c.xml").write_text("<a/>")
    assert "describes no variable" in complaint(
        pl.DataFrame({"g": [1]}), codebook=tmp_path / "c.xml"
    )


@pytest.mark.parametrize("encoding", ["klingon", "utf-7"])
def test_a_codebook_in_an_encoding_that_xml_cannot_have(encoding, tmp_path):
    (tmp_path / "c.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?><codeBook/>')
    assert "is not valid XML" in complaint(pl.DataFrame({"g": [1]}), codebook=tmp_path / "c.xml")


@pytest.mark.parametrize("entity", ['"aaaa"', 'SYSTEM "file:///etc/passwd"'])
def test_a_codebook_with_entities_is_not_read(entity, tmp_path):
    text = f'<!DOCTYPE d [<!ENTITY x {entity}>]><codeBook><var name="g"><labl>&x;</labl></var>'
    (tmp_path / "c.xml").write_text(f"{text}</codeBook>")
    found = complaint(pl.DataFrame({"g": [1]}), codebook=tmp_path / "c.xml")
    assert "declares entities" in found
    assert "Found: x" in found


@pytest.mark.parametrize("value", ["[" * 50_000 + "]" * 50_000, "9" * 5_000])
def test_a_description_that_is_too_deep_or_too_long_for_its_parser(value, tmp_path):
    (tmp_path / "survey.toml").write_text(f"format = {value}")
    assert "is not valid TOML" in complaint(pl.DataFrame({"g": [1]}), tmp_path / "survey.toml")
    (tmp_path / "survey.json").write_text(value)
    assert "survey.json" in complaint(pl.DataFrame({"g": [1]}), tmp_path / "survey.json")
    with pytest.raises(InputError, match="is not TOML"):
        RuleSet.from_toml(tmp_path / "survey.toml")


def test_a_workbook_that_unpacks_to_several_hundred_times_its_size_is_not_opened(tmp_path):
    path = tmp_path / "bomb.xlsx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("xl/worksheets/sheet1.xml", "w") as part,
    ):
        for _ in range(210):
            part.write(bytes(1_000_000))
    assert "unpack to 210 MB" in complaint(path)


def test_a_source_of_no_known_kind():
    assert "neither a path nor a data frame" in complaint(io.BytesIO(b"abc"))


def test_a_variable_that_is_no_table_is_named(tmp_path):
    (tmp_path / "survey.toml").write_text('format = 1\nvariable = ["x"]\n')
    with pytest.raises(InputError, match="Column 'number 1' is not described correctly"):
        read_survey(pl.DataFrame({"x": [1, 2]}), tmp_path / "survey.toml")
