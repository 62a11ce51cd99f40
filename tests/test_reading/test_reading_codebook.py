import math

import polars as pl

from tabsoda.events import Event
from tabsoda.reading import read_survey
from tabsoda.reading.codebook import read_codebook
from tabsoda.schema import ColumnKind, Reason

DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
  <var name="Q1" nature="ordinal">
    <labl>How often?</labl>
    <qstn><qstnLit>How often do you smoke?</qstnLit></qstn>
    <universe>Those who ever smoked</universe>
    <invalrng><range min="-9" max="-1"/><item VALUE="96"/></invalrng>
    <catgry><catValu>1</catValu><labl>Alpha</labl></catgry>
    <catgry><catValu>2</catValu><labl>Beta</labl></catgry>
    <catgry><catValu>3</catValu><labl>Gamma</labl></catgry>
    <catgry missing="Y"><catValu>97</catValu><labl>Refused</labl></catgry>
    <catgry><catValu>-1</catValu><labl>Legitimate skip</labl></catgry>
  </var>
  <var name="Q2"><qstn><qstnLit>How many?</qstnLit></qstn>
    <invalrng><range min="900"/><range/></invalrng></var>
  <var name="Q9"><labl>Not in the file</labl></var>
</dataDscr></codeBook>
"""


def test_ddi_says_labels_categories_ranges_and_universe(tmp_path):
    (tmp_path / "c.xml").write_text(DDI)
    hints = read_codebook(tmp_path / "c.xml")
    first, second = hints["Q1"], hints["Q2"]
    assert (first.label, first.measure) == ("How often?", "ordinal")
    assert first.universe == "Those who ever smoked"
    assert first.level_labels == {
        1: "Alpha",
        2: "Beta",
        3: "Gamma",
        97: "Refused",
        -1: "Legitimate skip",
    }
    assert set(first.missing_codes) == {96, 97}
    assert first.missing_ranges == ((-9.0, -1.0),)
    assert second.label == "How many?"
    assert second.missing_ranges == ((900.0, math.inf),)


def test_codebook_describes_a_bare_file(tmp_path):
    (tmp_path / "c.xml").write_text(DDI)
    # The file writes its names in lower case, as many exports do.
    frame = pl.DataFrame({"q1": [1, 2, 97, -1, -5], "Q2": [3, 950, 12, 899, None]})
    survey = read_survey(frame, codebook=tmp_path / "c.xml")
    column = survey.schema["q1"]
    assert (column.kind, column.levels) == (ColumnKind.ORDINAL, (1, 2, 3))
    assert column.universe == "Those who ever smoked"
    reasons = [survey.states.reason_of(row, "q1") for row in range(5)]
    assert reasons == [None, None, Reason.REFUSED, Reason.SKIP, Reason.OTHER]
    assert survey.states.missing[:, 1].tolist() == [False, True, False, False, True]


def test_codebook_fills_only_the_gaps_of_a_description(tmp_path):
    (tmp_path / "c.xml").write_text(DDI)
    frame = pl.DataFrame({"Q1": [1, 2, 97]})
    described = [{"name": "Q1", "type": "nominal", "levels": [1, 2, 97], "label": "Mine"}]
    survey = read_survey(frame, described, codebook=tmp_path / "c.xml")
    column = survey.schema["Q1"]
    assert (column.label, column.kind) == ("Mine", ColumnKind.NOMINAL)
    assert column.level_labels[2] == "Beta"
    # The description calls 97 an answer, and it has the last word.
    assert survey.states.answered.all()
    assert Event("code_kept_as_answer", "Q1", {"code": "97"}) in list(survey.events)
