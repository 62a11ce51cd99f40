"""DDI codebooks: conditions become rules, everything else is listed."""

import contextlib
import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda import check, read_survey_with_form
from tabsoda.errors import InputError
from tabsoda.questionnaire.answer_sets import Gate, paths_where
from tabsoda.questionnaire.ddi import _go_to
from tabsoda.questionnaire.expressions import ExpressionError
from tabsoda.questionnaire.reading import read_form
from tabsoda.questionnaire.universe_text import Known, is_everybody, parse_condition
from tabsoda.schema import Column, ColumnKind

KNOWN = Known(
    {"q5": "Q5", "age": "AGE", "smoke": "SMOKE", "v12": "SMOKE"},
    {"SMOKE": {"yes": "1", "no": "2", "used to": "3"}, "Q5": {}},
    {"SMOKE": frozenset({"1", "2", "3"}), "Q5": frozenset("123456")},
)
COLUMNS = {
    "Q5": Column("Q5", ColumnKind.NOMINAL, (1, 2, 3, 4, 5, 6)),
    "SMOKE": Column("SMOKE", ColumnKind.NOMINAL, (1, 2, 3)),
    "AGE": Column("AGE", ColumnKind.CONTINUOUS),
}
AGES = (15, 18, 40, 64, 65)


def who(text, own=None):
    """Return the answers (Q5, SMOKE, AGE) for which a text is true."""
    parsed = parse_condition(text, KNOWN, own)
    paths = paths_where(parsed, lambda name, _: Gate(COLUMNS[name], is_whole=True), true=True)

    def fits(answers):
        return any(
            all(
                answers[name] in one.levels
                if COLUMNS[name].is_categorical
                else any(low < answers[name] <= high for low, high in one.spans)
                for name, one in path.items()
            )
            for path in paths
        )

    every = itertools.product(range(1, 7), range(1, 4), AGES)
    return {a for a in every if fits(dict(zip(("Q5", "SMOKE", "AGE"), a, strict=True)))}


def answers(holds):
    return {a for a in itertools.product(range(1, 7), range(1, 4), AGES) if holds(*a)}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Q5 = 1", lambda q, s, a: q == 1),
        ("q5=1 or 2", lambda q, s, a: q in (1, 2)),
        ("Q5 = 1, 2, or 4", lambda q, s, a: q in (1, 2, 4)),
        ("Q5 = 1-3", lambda q, s, a: q <= 3),
        ("Q5 = 1, 3-5", lambda q, s, a: q in (1, 3, 4, 5)),
        ("Q5 = 2 to 4", lambda q, s, a: 2 <= q <= 4),
        ("Asked if SMOKE in (1,2)", lambda q, s, a: s in (1, 2)),
        ("Respondents with SMOKE = 1 (Yes).", lambda q, s, a: s == 1),
        ("If SMOKE = Yes and AGE >= 18", lambda q, s, a: s == 1 and a >= 18),
        ('SMOKE = "used to" | Q5 <> 1', lambda q, s, a: s == 3 or q != 1),
        ("Only if 18 <= AGE < 65", lambda q, s, a: 18 <= a < 65),
        ("not (Q5 = 1 or AGE < 18)", lambda q, s, a: not (q == 1 or a < 18)),
        ("Q5 = 1 or SMOKE = 2 and AGE > 40", lambda q, s, a: q == 1 or (s == 2 and a > 40)),
        ("AGE between 18 and 64 & Q5 not in (1, 2)", lambda q, s, a: 18 <= a <= 64 and q > 2),
        ("UNIVERSE: V12 = 2", lambda q, s, a: s == 2),
        ("IF Q5 NE 1 ASK:", lambda q, s, a: q != 1),
        ("Q5 ge 4", lambda q, s, a: q >= 4),
        ("Filter: [SMOKE is not 2]", lambda q, s, a: s != 2),
    ],
)
def test_conditions_mean_what_they_say(text, holds):
    assert who(text) == answers(holds)


def test_a_value_alone_is_one_of_the_question_itself():
    assert who("2 or 3", own="Q5") == answers(lambda q, s, a: q in (2, 3))
    assert who("no", own="SMOKE") == answers(lambda q, s, a: s == 2)


@pytest.mark.parametrize(
    "text",
    [
        "Women who smoke",
        "All respondents except Q5 = 1",
        "Female respondents with Q5 = 1",
        "Q5 = 1 at wave 2",
        "Q9 = 1",
        "SMOKE = 1 (No)",
        "SMOKE = 7",
        "SMOKE = often",
        "Q5 = 1 and",
        "Q5 in 1, 2",
        "(Q5 = 1",
        "Persons aged 15+",
        "Q5 = 3-1",
        "Q5",
        "Q5 = SMOKE",
        "__import__('os')",
        "(" * 200 + "Q5 = 1" + ")" * 200,
        "Q5 = 1 or " * 200,
        "SMOKE = 1 ('Yes)'",
        "Q5 > not 1",
        "Q5 != not 1",
    ],
)
def test_what_is_not_wholly_a_condition_is_rejected(text):
    with pytest.raises(ExpressionError):
        parse_condition(text, KNOWN)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from([*"=(),-.12", "Q5", "AGE", "<>", "in", "or", "and", "not", "if", "Yes"]),
        max_size=12,
    ).map(" ".join)
)
def test_any_text_is_parsed_or_rejected(text):
    with contextlib.suppress(ExpressionError):
        parse_condition(text, KNOWN)


def test_everybody():
    assert all(map(is_everybody, ("", "All respondents", "All persons.", "Everyone")))
    assert not any(map(is_everybody, ("All women", "Persons 15 and over", "Q5 = 1")))


CODEBOOK = """<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
<var ID="V1" name="AGE" intrvl="contin"><universe>All respondents</universe></var>
<var ID="V2" name="SMOKE" intrvl="discrete"><labl>Smokes now</labl>
  <qstn><ivuInstr>If 2 go to DRINK</ivuInstr></qstn>
  <catgry><catValu>1</catValu><labl>Yes</labl></catgry>
  <catgry><catValu>2</catValu><labl>No</labl></catgry></var>
<var ID="V3" name="A_DAY" intrvl="contin"><universe clusion="I">AGE &gt;= 18</universe></var>
<var ID="V4" name="QUIT" intrvl="discrete"><qstn><ivuInstr>Read the list aloud</ivuInstr></qstn>
  <catgry><catValu>1</catValu><labl>Yes</labl></catgry>
  <catgry><catValu>2</catValu><labl>No</labl></catgry></var>
<var ID="V5" name="DRINK" intrvl="discrete"><universe clusion="E">AGE &lt; 16</universe>
  <catgry><catValu>1</catValu><labl>Yes</labl></catgry>
  <catgry><catValu>2</catValu><labl>No</labl></catgry>
  <catgry missing="Y"><catValu>9</catValu><labl>Refused</labl></catgry></var>
<var ID="V6" name="BEER" intrvl="contin"><qstn><preQTxt>IF DRINK = Yes ASK:</preQTxt></qstn></var>
<var ID="V7" name="WINE" intrvl="contin"><universe>Drinkers who like wine</universe></var>
<var ID="V8" name="GIN" intrvl="contin">
  <notes type="relevant" subject="xlsform-xpath">${BEER} &gt; 3</notes></var>
</dataDscr></codeBook>"""


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    n = 300
    age, smoke = random.integers(14, 80, n), random.integers(1, 3, n)
    drink = np.where(age < 16, None, np.where(random.random(n) < 0.1, 9, random.integers(1, 3, n)))
    beer = np.where(drink == 1, random.integers(1, 9, n), None)
    pl.DataFrame(
        {
            "AGE": age,
            "SMOKE": smoke,
            "A_DAY": list(np.where((smoke == 1) & (age >= 18), random.integers(1, 30, n), None)),
            "QUIT": list(np.where(smoke == 1, random.integers(1, 3, n), None)),
            "DRINK": list(drink),
            "BEER": list(beer),
            "WINE": random.integers(0, 9, n),
            "GIN": [random.integers(0, 9) if b is not None and b > 3 else None for b in beer],
        }
    ).write_csv(tmp_path / "data.csv")
    (tmp_path / "codebook.xml").write_text(CODEBOOK)
    return tmp_path


def test_a_codebook_gives_rules_that_the_data_follow(files):
    found = read_survey_with_form(files / "data.csv", files / "codebook.xml")
    assert found.form.kind == "DDI codebook"
    assert list(found.rules.sentences()) == [
        "A_DAY is skipped when AGE is at most 17, or when SMOKE is 2 'No'",
        "QUIT is skipped when SMOKE is 2 'No'",
        "DRINK is skipped when AGE is at most 15",
        "BEER is skipped when DRINK is 2 'No', refused or was itself skipped",
        "GIN is skipped when BEER is 1, 2 or 3 or was itself skipped",
    ]
    assert [(one.question, one.text) for one in found.untranslated] == [
        ("WINE", "Drinkers who like wine")
    ]
    totals = check(found.survey.table, found.rules).totals
    assert totals["answered_although_skipped"] == 0
    assert totals["unexplained"] == 0
    # Missing codes and labels come from the codebook as well.
    column = found.survey.schema["DRINK"]
    assert column.levels == (1, 2)
    assert (column.level_labels[1], column.special_codes[9].value) == ("Yes", "refused")
    assert {one.status.value for one in found.rules} == {"approved"}


def test_notes_with_constraints_are_edits_and_never_routing(files):
    note = '<notes type="{}" subject="xlsform-xpath">{}</notes>'
    notes = note.format("cdl:constraint", ". &lt; ${AGE}") + note.format(
        "calculation", "${AGE} * 2"
    )
    wrong = note.format("cdl:constraint", "regex(., '^1')")
    codebook = CODEBOOK.replace(
        '<universe clusion="I">AGE &gt;= 18</universe>',
        '<universe clusion="I">AGE &gt;= 18</universe>' + notes,
    ).replace("<universe>Drinkers who like wine</universe>", wrong)
    (files / "codebook.xml").write_text(codebook)
    found = read_survey_with_form(files / "data.csv", files / "codebook.xml")
    assert found.rules.sentences()[0] == (
        "A_DAY is skipped when AGE is at most 17, or when SMOKE is 2 'No'"
    )
    assert [edit.rule for edit in found.survey.schema.edits] == ["(A_DAY < AGE)"]
    assert [(one.question, one.part, one.why) for one in found.untranslated] == [
        ("WINE", "constraint", "the function regex() is not translated")
    ]


def test_jumps_to_unknown_or_earlier_questions_are_listed(files):
    path = files / "codebook.xml"
    path.write_text(CODEBOOK.replace("go to DRINK", "go to AGE"))
    found = read_survey_with_form(files / "data.csv", path)
    assert ("SMOKE", "go to", "'AGE' is not a later question") in [
        (one.question, one.part, one.why) for one in found.untranslated
    ]
    assert "QUIT" not in [rule.target for rule in found.rules]


def test_names_stand_before_ids_and_must_be_unique(tmp_path):
    path = tmp_path / "codebook.xml"
    names = ("AGE", "V1", "V2", "one", "ONE", "last")
    variables = "".join(f'<var ID="V{n}" name="{name}"/>' for n, name in enumerate(names, 1))
    last = '<var ID="V9" name="X"><universe>V1 = 1</universe><universe>V4 = 1</universe>'
    last += "<universe>one = 1</universe></var>"
    path.write_text(f"<codeBook><dataDscr>{variables}{last}</dataDscr></codeBook>")
    form = read_form(path)
    assert [one.left.name for one in form.questions[-1].shown_when] == ["V1", "one"]
    assert [(one.text, one.why) for one in form.untranslated] == [
        ("one = 1", "'one' is not a question of the codebook")
    ]


@pytest.mark.parametrize(("n_numbers", "is_listed"), [(4, False), (40, True)])
def test_conditions_on_many_numbers_do_not_fill_the_memory(n_numbers, is_listed, tmp_path):
    # Skipped where no number is 1: two intervals of each, in all combinations.
    names = [f"N{number}" for number in range(n_numbers)]
    universe = " or ".join(f"{name} = 1" for name in names)
    variables = "".join(f'<var name="{name}" intrvl="contin"/>' for name in names)
    last = f'<var name="X" intrvl="contin"><universe>{universe}</universe></var>'
    path = tmp_path / "codebook.xml"
    path.write_text(f"<codeBook><dataDscr>{variables}{last}</dataDscr></codeBook>")
    generator = np.random.default_rng(0)
    answers = pl.DataFrame({name: generator.normal(3, 2, 60) for name in [*names, "X"]})
    answers.write_csv(tmp_path / "data.csv")
    found = read_survey_with_form(tmp_path / "data.csv", path)
    listed = [(one.question, one.why) for one in found.untranslated]
    assert listed == [("X", "it has more than 64 alternatives")] * is_listed
    assert len(found.rules) == (0 if is_listed else 1)


def test_long_texts_are_not_searched_for_conditions():
    long = "all" + ". " * 200_000 + "x"
    assert not is_everybody(long)
    assert _go_to("if 2 go to " + "." * 200_000 + "!") is None


def test_files_that_are_no_codebook(tmp_path):
    path = tmp_path / "codebook.xml"
    path.write_text("<codeBook></codeBook>")
    with pytest.raises(InputError, match="describes no variable"):
        read_form(path)
    path.write_text("<codeBook>")
    with pytest.raises(InputError, match="not valid XML"):
        read_form(path)
