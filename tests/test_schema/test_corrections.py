"""Describing many columns at once: patterns, level sets and codes of the whole file."""

import re

import polars as pl
import pytest

from tabsoda import InputError, read_survey
from tabsoda.cli.main import main
from tabsoda.schema import Column, ColumnKind, ColumnRole, Reason, Schema
from tabsoda.schema.correction_form import parse_settings
from tabsoda.schema.description import Description
from tabsoda.schema.files import load_schema, save_schema

ROWS = 40


def frame():
    """Three agreement items, a number with codes, a gate, a follower, an interviewer number."""
    agree = [1, 2, 3, 4, 5, 9, -9, 3] * 5
    return pl.DataFrame(
        {
            "Q12_a": agree,
            "Q12_b": agree[::-1],
            "Q12_c": agree[3:] + agree[:3],
            "Q12_text": ["low", "high"] * 20,
            "AGE": [*(20 + row % 15 for row in range(37)), 97, -9, 30],
            "GATE": [1, 2] * 20,
            "FOLLOW": [None, 7] * 20,
            "INTNUM": [100 + row % 12 for row in range(ROWS)],
        }
    )


def survey(text, tmp_path, data=None):
    path = tmp_path / "survey.toml"
    path.write_text(text, encoding="utf-8")
    return read_survey(frame() if data is None else data, path)


def test_a_pattern_describes_all_columns_that_match(tmp_path):
    found = survey(
        """
        format = 1
        [level_sets]
        agree = [
            { code = 5, label = "Agree" }, { code = 4, label = "Rather" },
            { code = 3, label = "Neither" }, 2, 1,
        ]
        [columns."Q12_?"]
        kind = "ordinal"
        levels = "agree"
        missing = { 9 = "dont_know", -9 = "refused" }
        [columns."Q12_b"]
        label = "The second item"
        [columns."INT*"]
        role = "ignore"
        """,
        tmp_path,
    )
    for name in ("Q12_a", "Q12_b", "Q12_c"):
        column = found.schema[name]
        assert column.kind is ColumnKind.ORDINAL
        assert column.levels == (5, 4, 3, 2, 1)
        assert column.level_labels[5] == "Agree"
        assert column.special_codes == {9: Reason.DONT_KNOW, -9: Reason.REFUSED}
    assert found.schema["Q12_b"].label == "The second item"
    assert found.schema["Q12_text"].kind is ColumnKind.NOMINAL
    assert found.schema["INTNUM"].role is ColumnRole.IGNORE
    assert "INTNUM" not in found.table.names
    # Everything else is guessed as without a description.
    assert found.schema["GATE"] == read_survey(frame()).schema["GATE"]
    applied = [e.counts for e in found.events if e.kind == "correction_applied"]
    assert dict(applied[0]) == {
        "where": "Q12_?",
        "changed": 3,
        "columns": ("Q12_a", "Q12_b", "Q12_c"),
    }


def test_codes_of_the_whole_file_apply_where_they_occur(tmp_path):
    found = survey('missing = { -9 = "refused" }\nblanks = "skip"\n', tmp_path)
    for name in ("Q12_a", "Q12_b", "Q12_c", "AGE"):
        assert found.schema[name].special_codes[-9] is Reason.REFUSED
        assert -9 not in found.schema[name].levels
    assert -9 not in found.schema["GATE"].special_codes
    follow = found.table.names.index("FOLLOW")
    assert found.states.skipped[:, follow].sum() == 20
    assert found.states.skipped.sum() == 20
    age = found.table.names.index("AGE")
    assert found.states.reason_of(38, "AGE") is Reason.REFUSED
    assert found.table.values[37, age] == 97


def test_an_answer_is_an_answer_again(tmp_path):
    described = """
    [[variable]]
    name = "AGE"
    kind = "continuous"
    other = [97, -9]
    [columns.AGE]
    missing = { 97 = "answer" }
    """
    found = survey(described, tmp_path)
    assert found.schema["AGE"].special_codes == {-9: Reason.OTHER}
    assert found.table.values[37, 0] == 97


def test_columns_that_only_a_pattern_names_join_described_ones_in_file_order(tmp_path):
    text = """
    [columns."Q12_?"]
    kind = "ordinal"
    [[variable]]
    name = "AGE"
    kind = "continuous"
    [[variable]]
    name = "Q12_b"
    kind = "nominal"
    levels = [1, 2, 3, 4, 5, 9, -9]
    """
    with pytest.raises(InputError, match="'DROPPED'"):
        survey(text.replace('"AGE"', '"DROPPED"'), tmp_path)
    found = survey(text, tmp_path)
    assert set(found.schema.names) == {"Q12_a", "Q12_b", "Q12_c", "AGE"}
    assert found.schema.names.index("Q12_a") < found.schema.names.index("Q12_b")
    assert found.schema["Q12_b"].kind is ColumnKind.ORDINAL
    logged = {e.column for e in found.events if e.kind == "column_not_described"}
    assert logged == {"Q12_text", "GATE", "FOLLOW", "INTNUM"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[columns."Q13_*"]\nkind = "ordinal"', r"'Q13_\*'.*matches no column.*Q12"),
        ('[columns."Q12_a"]\nlevels = "agree"', "level set that is not in the description"),
        ('[columns."Q12_text"]\nkind = "ordinal"', "'Q12_text'.*ordinal without an order"),
        ('[columns."Q12_a"]\nkind = "ordered"', "Q12_a"),
        ('[columns."Q12_a"]\nkinds = "ordinal"', "kinds"),
        ('missing = { -9 = "nothing" }', "-9"),
        ("format = 1", "not complete"),
    ],
)
def test_what_is_wrong_is_named(text, message, tmp_path):
    with pytest.raises(InputError) as caught:
        survey(text, tmp_path)
    assert re.search(message, " ".join(str(caught.value).split()))


def test_a_pattern_with_brackets_is_a_name_first(tmp_path):
    data = pl.DataFrame({"Q1[SQ001]": [1, 2] * 20, "Q1S": [1, 2] * 20})
    found = survey('[columns."Q1[SQ001]"]\nkind = "ordinal"', tmp_path, data)
    assert found.schema["Q1[SQ001]"].kind is ColumnKind.ORDINAL


def test_set_on_the_command_line_writes_the_whole_description(tmp_path, capsys):
    data = tmp_path / "data.csv"
    frame().write_csv(data)
    out = tmp_path / "survey.toml"
    main(
        [
            "inspect", str(data), "-o", str(out),
            "--set", "Q12_?.kind=ordinal", "--set", "Q12_?.levels=1,2,3,4,5",
            "--set", "missing.-9=refused", "--set", "Q12_?.missing.9=dont_know",
            "--set", "blanks=skip", "--set", "INTNUM.role=ignore",
        ]
    )  # fmt: skip
    schema = load_schema(out)
    assert schema["Q12_b"].levels == (1, 2, 3, 4, 5)
    assert schema["Q12_b"].special_codes == {-9: Reason.REFUSED, 9: Reason.DONT_KNOW}
    assert schema["INTNUM"].role is ColumnRole.IGNORE
    again = read_survey(data, out)
    assert again.states.skipped.sum() == 20
    capsys.readouterr()
    for wrong in ("Q12_a=ordinal", "kind=ordinal", "Q12_a.kind=ordered", "missing.9=never"):
        with pytest.raises(SystemExit) as stop:
            main(["inspect", str(data), "--set", wrong])
        assert stop.value.code == 2
        assert wrong in " ".join(capsys.readouterr().err.split())


def test_a_kind_and_its_levels_are_set_together(tmp_path):
    data = tmp_path / "data.csv"
    # Without the levels, an ordinal of these texts is not valid.
    pl.DataFrame({"colour": ["red", "blue", "green"] * 20}).write_csv(data)
    settings = ["colour.kind=ordinal", "colour.levels=red,green,blue"]
    for given in (settings, settings[::-1]):
        out = tmp_path / "survey.toml"
        main(
            ["inspect", str(data), "--set", given[0], "--set", given[1], "-o", str(out), "--force"]
        )
        found = load_schema(out)["colour"]
        assert (found.kind, found.levels) == (ColumnKind.ORDINAL, ("red", "green", "blue"))
    # A later text has priority.
    (one,) = parse_settings(["a.kind=nominal", "a.missing.9=skip", "a.missing.9=answer"])
    assert (one.kind, one.codes) == (ColumnKind.NOMINAL, {9: None})


def test_names_with_dots_can_be_set():
    (one,) = parse_settings(["a.b.missing.-1.5=skip"])
    assert (one.pattern, dict(one.codes)) == ("a.b", {-1.5: Reason.SKIP})


def test_levels_that_many_share_are_written_once(tmp_path):
    path = tmp_path / "survey.toml"
    columns = []
    for name in "abcd":
        labels = {1: "Agree", 2: "Neither", 3: "Disagree", 9: "Don't know"}
        special = {9: Reason.DONT_KNOW}
        columns.append(Column(name, ColumnKind.ORDINAL, (1, 2, 3), "", labels, special))
    columns.append(Column("e", ColumnKind.NOMINAL, (1, 2), "", {1: "Yes", 2: "No"}))
    schema = Schema(tuple(columns))
    save_schema(schema, path)
    text = path.read_text(encoding="utf-8")
    assert text.count('"Neither"') == 1
    assert text.count('levels = "set_1"') == 4
    assert load_schema(path) == schema


def test_a_description_with_patterns_needs_its_data(tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text('[columns."Q*"]\nkind = "nominal"\n', encoding="utf-8")
    with pytest.raises(InputError, match="read_survey"):
        load_schema(path)


def test_a_correction_keeps_what_was_guessed_and_why(tmp_path, capsys):
    frame().write_csv(tmp_path / "a.csv")
    guess = read_survey(frame()).schema
    argv = ["inspect", str(tmp_path / "a.csv"), "-o", str(tmp_path / "s.toml")]
    main([*argv, "--set", "GATE.kind=ordinal", "--set", "INTNUM.role=question"])
    shown = " ".join(capsys.readouterr().out.split())
    found = load_schema(tmp_path / "s.toml")
    for name, what in (("GATE", "kind"), ("INTNUM", "role")):
        assert found[name].note == f"{what} set by you for '{name}'"
        assert not found[name].is_guess
    reason = guess["GATE"].note.removeprefix("guess: ")
    assert found["GATE"].guessed == f"nominal: {reason}"
    assert found["INTNUM"].guessed == f"ignore: {guess['INTNUM'].note.removeprefix('guess: ')}"
    assert f"GATE: kind set by you for 'GATE'; guessed nominal: {reason}" in shown
    assert "role guessed" not in shown

    # A later correction, and the JSON form, keep the first guess.
    again = read_survey(
        tmp_path / "a.csv", Description(found, parse_settings(["GATE.kind=nominal"]))
    )
    assert again.schema["GATE"].guessed == found["GATE"].guessed
    save_schema(again.schema, tmp_path / "s.json")
    assert load_schema(tmp_path / "s.json")["GATE"].guessed == found["GATE"].guessed


def test_a_guessed_kind_stays_a_guess_where_only_codes_are_set():
    before = read_survey(frame()).schema["Q12_a"]
    settings = parse_settings(["missing.-9=refused", "Q12_a.missing.9=dont_know"])
    after = read_survey(frame(), Description(None, settings)).schema["Q12_a"]
    assert after.is_guess
    assert after.confidence is before.confidence
    assert after.note.startswith(before.note)
    assert "set by you for the whole file" in after.note
    assert after.note.endswith("missing codes set by you for 'Q12_a'")
    assert after.guessed == ""


def test_codes_that_were_set_first_are_not_part_of_the_guess():
    reason = read_survey(frame()).schema["Q12_a"].note.removeprefix("guess: ")
    settings = parse_settings(["missing.-9=refused", "Q12_a.kind=nominal"])
    after = read_survey(frame(), Description(None, settings)).schema["Q12_a"]
    codes = "missing codes set by you for the whole file"
    assert after.note.startswith(codes)
    assert after.note.endswith("; kind set by you for 'Q12_a'")
    assert after.guessed.endswith(reason)
    assert "set by you" not in after.guessed


def test_a_role_that_is_confirmed_is_not_listed_as_a_guess():
    guessed = read_survey(frame())
    assert guessed.schema["INTNUM"].role is ColumnRole.IGNORE
    assert any(e.kind == "role_guessed" for e in guessed.events)
    settings = parse_settings(["INTNUM.role=ignore"])
    confirmed = read_survey(frame(), Description(None, settings))
    assert not confirmed.schema["INTNUM"].is_guess
    assert not any(e.kind == "role_guessed" for e in confirmed.events)
