"""Bounds, edits and derived variables of a description: read, written, checked, contradicted."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tabsoda import CodedTable, Column, ColumnKind, InputError, Schema, read_survey
from tabsoda.cli.main import main
from tabsoda.edits.checking import check_edits, refuse_contradictions
from tabsoda.edits.edit_set import EditSet
from tabsoda.schema import Derivation, Edit
from tabsoda.schema.files import load_description, load_schema, save_schema

NUMBER = ColumnKind.CONTINUOUS


def columns(*names: str, **keys: object) -> tuple[Column, ...]:
    return tuple(Column(name, NUMBER, **keys) for name in names)


def edit_set(names: str, values: list, *rules: str, derive: tuple[str, ...] = ()) -> tuple:
    own = columns(*names.split())
    table = CodedTable.from_values(own, np.array(values, dtype=float))
    schema = Schema(own, tuple(map(Edit, rules)), tuple(map(Derivation.of, derive)))
    return EditSet.of(schema, table), table


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_description_with_edits_is_read_as_it_was_written(tmp_path: Path, ending: str) -> None:
    schema = Schema(
        (*columns("KILOS", "HEIGHT"), Column("AGE", NUMBER, minimum=14, maximum=99.5)),
        (
            Edit("AGE <= HEIGHT", "short", "a label"),
            Edit("KILOS > 0", approved=False),
        ),
        (Derivation("BMI", "KILOS / (HEIGHT / 100) ** 2", "Body mass", 0.05),),
    )
    save_schema(schema, tmp_path / f"survey.{ending}")
    assert load_schema(tmp_path / f"survey.{ending}") == schema


def test_corrections_alone_may_have_edits(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text('[[edit]]\nrule = "A <= B"\n[[derive]]\nformula = "C = A + B"\n')
    survey = read_survey(pl.DataFrame({"A": [1.5, 2, 3.25], "B": [2.5, 3, 4]}), path)
    assert survey.schema.edits == (Edit("A <= B"),)
    assert survey.frame["C"].to_list() == [4.0, 5.0, 7.25]


def test_the_line_of_an_edit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text('# first line\n\n[[edit]]\nrule = "A > 0"\n\n[[edit]]\nrule = "A >> 0"\n')
    with pytest.raises(InputError, match=r"'survey[.]toml', line 6"):
        read_survey(pl.DataFrame({"A": [1.5, 2, 3.25]}), path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[edit]]\nrul = "A > 0"', "edit number 1 in 'survey.toml'.*Did you mean 'rule'"),
        ('[[edit]]\nname = "x"', "edit number 1 in no rule"),
        ('[columns.A]\nminimum = "x"', "Found: minimum = 'x'. Expected: a number"),
        ('[[derive]]\nformula = "A + B"', "no name"),
        ('[[derive]]\nname = "C"\nformula = "D = A + B"', "two names"),
        ('[[edit]]\nrule = "A > 0"\napproved = "yes"', "valid boolean"),
        ('[[derive]]\nformula = "C = A"\ntolerance = -1', "greater than or equal to 0"),
    ],
)
def test_wrong_keys_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=f"(?s){said}"):
        load_description(path)


def test_bounds_belong_to_numbers_and_are_in_order() -> None:
    with pytest.raises(InputError, match="not continuous"):
        Column("A", ColumnKind.NOMINAL, (1, 2), minimum=1)
    with pytest.raises(InputError, match="that exclude every answer"):
        Column("A", NUMBER, minimum=2, maximum=1)


def test_derived_variables_follow_each_other_and_never_themselves() -> None:
    edits, table = edit_set("A B C D", [[1, 2, np.nan, np.nan]], derive=("D = C * 2", "C = A + B"))
    everywhere = {name: np.array([True]) for name in "CD"}
    found = edits.derive(edits.named(table.values), everywhere)
    assert (found["C"][0], found["D"][0]) == (3, 6)
    assert edits.derived["D"].parts == {"A", "B"}
    for circle in (("C = D", "D = C"), ("C = C + 1",)):
        with pytest.raises(InputError, match="circle"):
            edit_set("A B C D", [[1, 2, 3, 4]], derive=circle)
    with pytest.raises(InputError, match="second time"):
        edit_set("A B C", [[1, 2, 3]], derive=("C = A", "C = B"))


def test_a_derived_variable_is_unknown_where_a_part_is_unknown() -> None:
    edits, table = edit_set("A B C", [[1, np.nan, 0]], derive=("C = count(A == 1 or B == 1)",))
    found = edits.derive(edits.named(table.values), {"C": np.array([True])})
    assert np.isnan(found["C"][0])


def test_observed_values_may_differ_from_the_formula_by_their_own_rounding() -> None:
    rows = [[70, 175, 22.9], [80, 175, 26.1], [90, 175, 29.5]]
    edits, table = edit_set("KILOS CM BMI", rows, derive=("BMI = KILOS / (CM / 100) ** 2",))
    (finding,) = check_edits(edits, table)
    # 90 / 1.75 ** 2 = 29.39
    assert (finding.known, finding.violated, finding.example_rows) == (3, 1, (3,))


def test_check_counts_respondents_with_known_answers_only() -> None:
    edits, table = edit_set("A B", [[1, 2], [3, 2], [np.nan, 2], [5, 1]], "A <= B")
    (finding,) = check_edits(edits, table)
    assert (finding.known, finding.violated, finding.example_rows) == (3, 2, (2, 4))


def test_edits_that_contradict_each_other_or_the_data_are_refused() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=(100, 2))
    edits, table = edit_set("A B", values, "A < B", "A > B")
    with pytest.raises(InputError, match="'A < B' and 'A > B' contradict each other"):
        refuse_contradictions(edits, table)
    edits, table = edit_set("A B", values, "A > 100")
    with pytest.raises(InputError, match=r"contradicts the data.*none of 100"):
        refuse_contradictions(edits, table)
    refuse_contradictions(*edit_set("A B", values, "A < B", "A > -100"))


def test_contradictions_are_named_as_they_are_written() -> None:
    values = np.random.default_rng(0).normal(size=(100, 1))
    (bounded,) = columns("A", minimum=9)
    table = CodedTable.from_values((bounded,), values)
    with pytest.raises(InputError, match=r"^The bounds '9 <= A' contradict the data\."):
        refuse_contradictions(EditSet.of(Schema((bounded,)), table), table)


def test_check_says_which_edits_contradict_each_other(tmp_path: Path, capsys) -> None:
    ages = [20.5 + n for n in range(60)]
    pl.DataFrame({"A": ages, "B": ages[::-1]}).write_csv(tmp_path / "data.csv")
    description = tmp_path / "survey.toml"
    arguments = ["check", str(tmp_path / "data.csv"), "--survey", str(description)]
    description.write_text('[[edit]]\nrule = "A < B"\n[[edit]]\nrule = "A >= B"\n')
    main(arguments)
    printed = " ".join(capsys.readouterr().out.split())
    said = "The constraints 'A < B' and 'A >= B' contradict each other."
    assert f"tabsoda impute stops here: {said}" in printed
    main([*arguments, "--json"])
    assert json.loads(capsys.readouterr().out)["contradiction"].startswith(said)
    description.write_text('[[edit]]\nrule = "A < B"\n')
    main([*arguments, "--json"])
    assert json.loads(capsys.readouterr().out)["contradiction"] is None


def test_proposals_and_equal_names() -> None:
    own = columns("A", "B")
    assert not EditSet.of(Schema(own, (Edit("A < B", approved=False),)), None)
    with pytest.raises(InputError, match="name of another edit"):
        EditSet.of(Schema(own, (Edit("A < B", "x"), Edit("A < 3", "x"))), None)


def test_inspect_counts_edits_and_names_derived_variables(tmp_path: Path, capsys) -> None:
    (tmp_path / "a.csv").write_text("A,B\n1.5,2\n2.5,3\n3.25,4\n")
    (tmp_path / "a.toml").write_text(
        '[[edit]]\nrule = "A <= B"\n[[edit]]\nrule = "A > 0"\napproved = false\n'
        '[[derive]]\nformula = "C = A + B"\n'
    )
    main(["inspect", str(tmp_path / "a.csv"), "--survey", str(tmp_path / "a.toml")])
    shown = capsys.readouterr().out
    assert "Edits: 1 approved, 1 proposed\nDerived: C\n" in shown


def test_a_derived_variable_that_is_not_in_the_file_is_added_as_a_question(tmp_path: Path) -> None:
    frame = pl.DataFrame({"KILOS": [70.0, None, -1, 80], "CM": [175.0, 180, 170, 180]})
    path = tmp_path / "survey.toml"
    path.write_text(
        '[[variable]]\nname = "KILOS"\nkind = "continuous"\nskip = [-1]\n'
        '[[variable]]\nname = "CM"\nkind = "continuous"\n'
        '[[derive]]\nformula = "BMI = KILOS / (CM / 100) ** 2"\n'
    )
    survey = read_survey(frame, path)
    place = survey.table.names.index("BMI")
    assert survey.states.states[:, place].tolist() == [0, 1, 2, 0]
    assert survey.frame["BMI"].to_list()[0] == pytest.approx(70 / 1.75**2)
    # The description of the result also describes the derived column, which new data lack.
    save_schema(survey.schema, tmp_path / "whole.toml")
    again = read_survey(frame, tmp_path / "whole.toml")
    assert again.schema == survey.schema
    assert again.frame.equals(survey.frame)
