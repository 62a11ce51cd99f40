"""Round trips of every file format: what is written with its own tool comes back as it was."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tabsoda.errors import InputError
from tabsoda.events import Event
from tabsoda.reading import files, read_survey
from tabsoda.schema import ColumnKind, Reason
from tabsoda.states import CellState

LABELS = {1: "Yes", 2: "No", -1: "Inapplicable", -7: "Refused", -8: "Don't know"}
SCALE = {1: "Never", 2: "Sometimes", 3: "Always"}


def write_spss(path, **options):
    frame = pd.DataFrame(
        {
            "gate": [1, 2, -7, -8, np.nan],
            "often": [3, -1, 2, 1, 1],
            "city": ["Oslo", "Rome", "zz", "Oslo", ""],
            "income": [10.5, 20, 99997, 99999, 30],
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"gate": "Ever smoked?", "often": "How often?"},
        variable_value_labels={"gate": LABELS, "often": {**SCALE, -1: "Legitimate skip"}},
        missing_ranges={
            "gate": [{"lo": -9, "hi": -1}],
            "often": [-1],
            "city": ["zz"],
            "income": [{"lo": 99990, "hi": 99999}],
        },
        variable_measure={"gate": "nominal", "often": "ordinal", "income": "scale"},
        **options,
    )


@pytest.mark.parametrize(("name", "options"), [("a.sav", {}), ("a.zsav", {"compress": True})])
def test_spss_keeps_labels_measures_and_every_missing_reason(tmp_path, name, options):
    write_spss(tmp_path / name, **options)
    survey = read_survey(tmp_path / name)
    gate, often = survey.schema["gate"], survey.schema["often"]
    assert (gate.label, gate.kind, gate.levels) == ("Ever smoked?", ColumnKind.NOMINAL, (1, 2))
    assert gate.level_labels[2] == "No"
    assert gate.special_codes == {-1: Reason.SKIP, -7: Reason.REFUSED, -8: Reason.DONT_KNOW}
    assert (often.kind, often.levels) == (ColumnKind.ORDINAL, (1, 2, 3))
    assert survey.schema["income"].kind is ColumnKind.CONTINUOUS
    assert [survey.states.reason_of(row, "gate") for row in range(5)] == [
        None,
        None,
        Reason.REFUSED,
        Reason.DONT_KNOW,
        Reason.BLANK,
    ]
    assert survey.states.reason_of(1, "often") is Reason.SKIP
    # A range declares codes that no label names: both fall to "other".
    assert [survey.states.reason_of(row, "income") for row in (2, 3)] == [Reason.OTHER] * 2
    assert survey.states.reason_of(2, "city") is Reason.OTHER
    assert survey.states.reason_of(4, "city") is Reason.BLANK
    np.testing.assert_array_equal(survey.table.values[:, 1], [2, np.nan, 1, 0, 0])
    # The frame keeps what is in the file, codes included.
    assert survey.frame["gate"].to_list() == [1.0, 2.0, -7.0, -8.0, None]


def write_stata(path):
    frame = pd.DataFrame(
        {
            "q": pd.Series([1, 2, "a", None, "r", 1], dtype=object),
            "score": [1.5, 2.5, np.nan, 4.0, 5.0, 6.0],
            "town": ["x", "", "y", "z", "x", "y"],
        }
    )
    pyreadstat.write_dta(
        frame,
        path,
        column_labels={"q": "Ever?"},
        missing_user_values={"q": ["a", "r"]},
        variable_value_labels={"q": {1: "Yes", 2: "No", "a": "Inapplicable", "r": "Refused"}},
    )


def test_stata_system_missing_among_tagged_missings_is_not_zero(tmp_path):
    write_stata(tmp_path / "a.dta")
    # pyreadstat 1.3.7 gives 0 in row 3 when it builds a pandas frame from this file.
    survey = read_survey(tmp_path / "a.dta")
    assert survey.frame["q"].to_list() == [1, 2, None, None, None, 1]
    assert survey.states.reason_of(3, "q") is Reason.BLANK
    assert survey.tags["q"].tolist() == [None, None, ".a", None, ".r", None]


def test_stata_letters_carry_their_labels_reason(tmp_path):
    write_stata(tmp_path / "a.dta")
    survey = read_survey(tmp_path / "a.dta")
    column = survey.schema["q"]
    assert column.special_codes == {".a": Reason.SKIP, ".r": Reason.REFUSED}
    assert (column.label, column.levels, column.level_labels[1]) == ("Ever?", (1, 2), "Yes")
    assert survey.states.states[:, 0].tolist() == [0, 0, 2, 1, 1, 0]
    np.testing.assert_array_equal(survey.table.values[:, 1], [1.5, 2.5, np.nan, 4, 5, 6])


def test_a_description_may_name_the_letters_itself(tmp_path):
    write_stata(tmp_path / "a.dta")
    described = [
        {"name": "q", "type": "nominal", "levels": [1, 2], "skip_codes": [".R"]},
        {"name": "score", "type": "continuous"},
    ]
    survey = read_survey(tmp_path / "a.dta", described)
    # .R and .r are one letter; .a, not described, keeps what its label says.
    assert survey.states.reason_of(4, "q") is Reason.SKIP
    assert survey.states.reason_of(2, "q") is Reason.SKIP
    assert [e.column for e in survey.events if e.kind == "column_not_described"] == ["town"]


def test_sas_transport_keeps_labels_and_says_what_it_loses(tmp_path):
    frame = pd.DataFrame({"q": [1.0, 2.0, np.nan, 2.0], "name": ["a", "b", "", "b"]})
    pyreadstat.write_xport(frame, tmp_path / "a.xpt", column_labels={"q": "Ever?"})
    survey = read_survey(tmp_path / "a.xpt")
    assert survey.schema["q"].label == "Ever?"
    np.testing.assert_array_equal(survey.table.values[:, 0], [0, 1, np.nan, 1])
    assert Event("missing_reasons_not_read", None, {"ending": ".xpt"}) in list(survey.events)


def test_spss_portable_is_read(tmp_path):
    pyreadstat.write_por(pd.DataFrame({"Q": [1.0, 2.0, np.nan]}), tmp_path / "a.por")
    survey = read_survey(tmp_path / "a.por")
    np.testing.assert_array_equal(survey.table.values[:, 0], [0, 1, np.nan])


def test_sas7bdat_goes_to_its_reader(tmp_path, monkeypatch):
    # pyreadstat cannot write this format, so the reader itself is replaced; a frozen program reads
    # in the same process.
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    seen = {}
    source = tmp_path / "a.sas7bdat"
    source.write_bytes(files._SAS_MAGIC + bytes(64))
    write_stata(tmp_path / "a.dta")

    def stand_in(path, **options):
        seen.update(options, path=path)
        content, meta = pyreadstat.read_dta(str(tmp_path / "a.dta"), **options)
        content["q"] = [v.upper() if isinstance(v, str) else v for v in content["q"]]
        return content, meta

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", stand_in)
    survey = read_survey(source)
    assert seen["user_missing"] is True
    assert seen["output_format"] == "dict"
    assert survey.tags["q"][2] == ".a"


def test_a_broken_sas7bdat_is_refused(tmp_path):
    source = tmp_path / "a.sas7bdat"
    source.write_bytes(files._SAS_MAGIC + bytes(64))
    with pytest.raises(InputError, match=r"a\.sas7bdat.*SAS"):
        read_survey(source)


def test_parquet_keeps_an_enums_order(tmp_path):
    levels = ["low", "mid", "high"]
    frame = pl.DataFrame({"q": pl.Series(["mid", "low", None], dtype=pl.Enum(levels))})
    frame.write_parquet(tmp_path / "a.parquet")
    survey = read_survey(tmp_path / "a.parquet")
    assert survey.schema["q"].levels == tuple(levels)
    assert survey.schema["q"].kind is ColumnKind.ORDINAL
    np.testing.assert_array_equal(survey.table.values[:, 0], [1, 0, np.nan])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_csv_of_any_delimiter_and_encoding(tmp_path, delimiter, encoding):
    rows = [
        ["id", "größe", "ort"],
        ["a01", "1.5", "Köln"],
        ["a02", "", "Bonn"],
        ["a03", "2", "Köln"],
    ]
    text = "\n".join(delimiter.join(row) for row in rows) + "\n"
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    survey = read_survey(tmp_path / "a.csv")
    assert survey.frame["größe"].to_list() == [1.5, None, 2.0]
    assert survey.frame["ort"].to_list() == ["Köln", "Bonn", "Köln"]
    assert bool(encodings(survey)) == (encoding != "utf-8")


def encodings(survey):
    """Return the encodings that were logged because they are not plain UTF-8."""
    kinds = ("encoding_given_by_byte_order_mark", "text_not_utf8")
    return [event.counts["encoding"] for event in survey.events if event.kind in kinds]


def test_csv_decimal_commas_are_read_where_semicolons_part_the_cells(tmp_path):
    rows = ["w;n;list;whole", "1,5;2;1,2,3;7", "-0,25;;4,5;8", "3; ,5;;9"]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    survey = read_survey(tmp_path / "a.csv")
    assert survey.frame["w"].to_list() == [1.5, -0.25, 3.0]
    assert survey.frame["n"].to_list() == [2.0, None, 0.5]
    # More than one comma is a list of something.
    assert survey.frame["list"].to_list() == ["1,2,3", "4,5", None]
    assert survey.frame["whole"].to_list() == [7, 8, 9]
    commas = {e.column: dict(e.counts) for e in survey.events if e.kind == "decimal_commas_read"}
    assert commas == {
        "w": {"numbers": 2, "example": "1,5"},
        "n": {"numbers": 1, "example": ",5"},
    }


@pytest.mark.parametrize("delimiter", ["|", "\t"])
def test_csv_commas_stay_texts_elsewhere(tmp_path, delimiter):
    (tmp_path / "a.csv").write_text(f"w{delimiter}v\n1,5{delimiter}2\n2,5{delimiter}3\n")
    assert read_survey(tmp_path / "a.csv").frame["w"].to_list() == ["1,5", "2,5"]


def test_ids_that_repeat_and_weights_that_are_texts_are_flagged():
    frame = pl.DataFrame(
        {
            "id": [1, 2, 3, 3, 3, None],
            "weight": ["1.5", "2", "high", "1", None, "3"],
            "q": [1, 2, 1, 2, 1, 2],
        }
    )
    description = [{"name": "id", "role": "id"}, {"name": "weight", "role": "weight"}]
    description = [{**one, "type": "nominal"} for one in description]
    description += [{"name": "q", "type": "nominal", "levels": [1, 2]}]

    def flags(given):
        events = read_survey(given, description).events
        kinds = {"id": "repeated_ids", "weight": "weights_not_numeric"}
        return {e.column: dict(e.counts) for e in events if e.kind == kinds.get(e.column)}

    assert flags(frame) == {
        "id": {"different": 3, "rows": 5, "example": "3", "times": 3},
        "weight": {"cells": 1, "of_cells": 5, "example": "high"},
    }
    # SPSS and Stata keep whole numbers as floats.
    assert flags(frame.with_columns(pl.col("id").cast(pl.Float64)))["id"]["example"] == "3"
    good = frame.with_columns(id=pl.int_range(6), weight=pl.lit("2.5"))
    assert flags(good) == {}


def test_csv_quotes_protect_delimiters_and_line_breaks(tmp_path):
    (tmp_path / "a.csv").write_text('q,t\n1,"a, b"\n2,"c\nd"\n')
    survey = read_survey(tmp_path / "a.csv")
    assert survey.frame["t"].to_list() == ["a, b", "c\nd"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        # Windows' ellipsis and apostrophe.
        (b"q,t\n1,wait\x85\n2,don\x92t\n", ("wait\u2026", "don\u2019t", "Windows-1252")),
        # Windows has no byte 81, so 85 is a control character, which ends no line.
        (b"q,t\n1,wait\x85x\n2,\x81\n", ("wait\u0085x", "\u0081", "latin-1")),
        ("q,t\n1,a\u0085b\n2,c\u2028d\n".encode(), ("a\u0085b", "c\u2028d", "")),
    ],
)
def test_csv_of_windows_and_lines_that_only_line_ends_end(tmp_path, content, told):
    (tmp_path / "a.csv").write_bytes(content)
    survey = read_survey(tmp_path / "a.csv")
    assert survey.frame["t"].to_list() == [*told[:2]]
    assert encodings(survey) == [told[2]] * bool(told[2])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_csv_empty_lines_are_no_respondents(tmp_path, end, quote):
    text = f"q,t{end}1,{quote}a{quote}{end}{end}{end}2,{quote}b{quote}{end},{end}{end}"
    (tmp_path / "a.csv").write_bytes(text.encode())
    survey = read_survey(tmp_path / "a.csv")
    # The last line has its delimiter: a respondent who answered nothing.
    assert survey.frame["q"].to_list() == [1, 2, None]
    assert Event("empty_lines_dropped", None, {"lines": 3}) in list(survey.events)


def test_csv_empty_lines_within_quotes_and_in_a_single_column_stay(tmp_path):
    (tmp_path / "a.csv").write_text('q,t\n1,"a\n\nb"\n')
    assert read_survey(tmp_path / "a.csv").frame["t"].to_list() == ["a\n\nb"]
    (tmp_path / "b.csv").write_text("q\n1\n\n2\n")
    assert read_survey(tmp_path / "b.csv").frame["q"].to_list() == [1, None, 2]


def test_csv_leading_zeros_stay_but_match_the_number(tmp_path):
    (tmp_path / "a.csv").write_text("q\n01\n02\n01\n")
    survey = read_survey(tmp_path / "a.csv", [{"name": "q", "type": "nominal", "levels": [1, 2]}])
    assert survey.frame["q"].to_list() == ["01", "02", "01"]
    assert survey.table.values[:, 0].tolist() == [0, 1, 0]


def test_csv_blank_is_the_code_that_means_blank(tmp_path):
    (tmp_path / "a.csv").write_text("g,q\n1,5\n2,\n1,9\n")
    described = [
        {"name": "g", "type": "nominal", "levels": [1, 2]},
        {"name": "q", "type": "continuous", "skip_codes": [""], "missing_codes": ["9"]},
    ]
    survey = read_survey(tmp_path / "a.csv", described)
    assert survey.states.states[:, 1].tolist() == [
        CellState.ANSWERED,
        CellState.SKIPPED,
        CellState.MISSING,
    ]
