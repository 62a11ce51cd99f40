import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind, ColumnRole, Confidence, Reason, Schema
from tabsoda.schema.codes import plain
from tabsoda.schema.files import load_schema, save_schema
from tabsoda.schema.json_form import parse_json_list
from tabsoda.schema.toml_form import format_toml, parse_description

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
names = texts.filter(lambda name: name != "")
codes = st.one_of(
    st.integers(-(2**40), 2**40), st.floats(allow_nan=False, allow_infinity=False), texts
)


@st.composite
def columns(draw, code=codes):
    kind = draw(st.sampled_from(ColumnKind))
    # 0 and "0" are one code.
    pool = draw(st.lists(code, unique_by=lambda c: str(plain(c)), max_size=8))
    cut = draw(st.integers(0, len(pool))) if kind is not ColumnKind.CONTINUOUS else 0
    return Column(
        draw(names),
        kind,
        tuple(pool[:cut]),
        draw(texts),
        draw(st.dictionaries(st.sampled_from(pool), texts)) if pool else {},
        {c: draw(st.sampled_from(Reason)) for c in pool[cut:]},
        draw(st.sampled_from(ColumnRole)),
        draw(texts),
        draw(texts),
        draw(st.none() | st.sampled_from(Confidence)),
    )


def schemas(code=codes):
    return st.lists(columns(code), min_size=1, max_size=4, unique_by=lambda c: c.name).map(
        lambda found: Schema(tuple(found))
    )


@given(schemas())
def test_toml_comes_back_unchanged(schema):
    again = parse_description(format_toml(schema), "survey.toml").without_data()
    assert again == schema
    for before, after in zip(schema, again, strict=True):
        assert [type(level) for level in before.levels] == [type(level) for level in after.levels]


@given(schemas(st.integers(-99, 99)))
def test_json_comes_back_unchanged(tmp_path_factory, schema):
    path = tmp_path_factory.mktemp("json") / "schema.json"
    save_schema(schema, path)
    again = load_schema(path)
    for before, after in zip(schema, again, strict=True):
        assert (before.name, before.kind, before.levels) == (after.name, after.kind, after.levels)
        assert before.level_labels == after.level_labels
        assert before.confidence is after.confidence
        assert set(before.special_codes) == set(after.special_codes)
        for code, reason in before.special_codes.items():
            # "Missing" without a reason takes the one in its label.
            assert after.special_codes[code] is reason or reason is Reason.OTHER


def test_toml_is_what_a_person_would_write(tmp_path):
    column = Column(
        "AC1002",
        ColumnKind.NOMINAL,
        (1, 2),
        "Ever smoked?",
        {1: "Yes", 2: "No", -1: "Inapplicable"},
        {-1: Reason.SKIP, -7: Reason.REFUSED},
    )
    save_schema(Schema((column,)), tmp_path / "survey.toml")
    text = (tmp_path / "survey.toml").read_text()
    assert text.split("format = 1\n")[1] == (
        '\n[[variable]]\nname = "AC1002"\nlabel = "Ever smoked?"\nkind = "nominal"\n'
        'levels = [\n    { code = 1, label = "Yes" },\n    { code = 2, label = "No" },\n]\n'
        'skip = [{ code = -1, label = "Inapplicable" }]\nrefused = [-7]\n'
    )


def test_the_order_of_the_tables_is_the_questionnaires():
    text = '[[variable]]\nname="b"\nkind="continuous"\n[[variable]]\nname="a"\nrole="weight"\n'
    schema = parse_description(text, "s.toml").without_data()
    assert schema.names == ("b", "a")
    assert schema["a"].kind is ColumnKind.CONTINUOUS


VARIABLE = '[[variable]]\nname = "q"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[variable]\n", ("'s.toml' is not valid TOML", "line 1")),
        ("", ("'s.toml' is not complete", "no variable")),
        (VARIABLE + 'kind = "number"', ("'q'", "kind = 'number'", "'continuous', 'nominal'")),
        (VARIABLE + 'knid = "ordinal"', ("'q'", "Found: knid", "kind, levels")),
        (VARIABLE + 'kind = "nominal"\nlevels = [true]', ("'q'", "levels", "True")),
        (VARIABLE + 'kind = "nominal"\nlevels = [1, 1]', ("'q' repeats a level",)),
        (VARIABLE, ("'q' has no kind", "continuous, nominal or ordinal")),
        (VARIABLE + 'kind = "nominal"\nskip = [1]\nblank = [1]', ("'q'", "skip and as blank")),
        (VARIABLE + 'kind = "nominal"\nlevels = [1]\nskip = [1]', ("'q'", "both as an answer")),
        ("[[variable]]\nkind = 'nominal'", ("Column 'number 1'", "no name")),
        (
            'colour = 1\n[[variable]]\nname = "q"\nkind = "continuous"',
            ("colour", "format, missing, blanks, level_sets, columns, variable"),
        ),
    ],
)
def test_toml_errors_name_the_place(text, words):
    with pytest.raises(InputError) as caught:
        parse_description(text, "s.toml").without_data()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({}, "is not a survey description"),
        ([{"type": "nominal"}], "Entry 1"),
        ([{"name": "q", "type": "number"}], "Found: 'number'"),
        ([{"name": "q", "type": "continuous", "levels": [1]}], "continuous and lists levels"),
        ([{"name": "q", "type": "nominal", "levels": "ab"}], "not a list of codes"),
        ([{"name": "q", "type": "nominal"}] * 2, "Column 'q' is described twice"),
        (
            [{"name": "q", "type": "continuous", "skip_codes": ["-1"], "missing_codes": [-1.0]}],
            "two meanings",
        ),
    ],
)
def test_json_errors_name_the_place(entries, words):
    with pytest.raises(InputError, match=words):
        parse_json_list(entries)


@pytest.mark.parametrize(("key", "near"), [("lables", "label"), ("Kind", "kind"), ("zzz", "")])
def test_unknown_keys_give_the_same_error_in_json_and_toml(key, near, tmp_path):
    (tmp_path / "s.toml").write_text(VARIABLE + f'kind = "nominal"\n{key} = "x"\n')
    (tmp_path / "s.json").write_text(json.dumps([{"name": "q", "type": "nominal", key: "x"}]))
    step = f"Did you mean '{near}'? Correct the key or remove it." if near else "Remove it."
    for name in ("s.toml", "s.json"):
        with pytest.raises(InputError) as caught:
            load_schema(tmp_path / name)
        start = f"Column 'q' has an unknown key in '{name}'. Found: {key}. Expected: one of name, "
        assert str(caught.value).startswith(start)
        assert str(caught.value).endswith(step)


def test_an_unknown_key_is_named_before_what_it_leaves_out():
    with pytest.raises(InputError, match=r"'number 1' has an unknown key.*'name'") as caught:
        parse_json_list([{"nmae": "q", "type": "nominal"}])
    assert caught.value.found == "nmae"
    with pytest.raises(InputError, match=r"'number 1' has an unknown key.*'name'"):
        parse_description('[[variable]]\nnmae = "q"\nkind = "nominal"', "s.toml")


def test_an_unknown_key_of_a_level_is_named_with_its_place():
    text = VARIABLE + 'kind = "nominal"\nlevels = [{ code = 1, lable = "Yes" }]'
    with pytest.raises(InputError, match=r"under levels in 's.toml'.*lable.*code, label.*'label'"):
        parse_description(text, "s.toml")
    with pytest.raises(InputError, match=r"'Q12_.' has an unknown key.*kidn.*'kind'"):
        parse_description('[columns."Q12_*"]\nkidn = "ordinal"', "s.toml")


def test_json_codes_written_as_texts_are_numbers_beside_numbers():
    entry = {
        "name": "q",
        "type": "nominal",
        "levels": [1, 2],
        "level_labels": {"1": "Yes", "9": "Refused"},
        "skip_codes": ["", "-1.0"],
        "missing_codes": ["8", "9", ".N"],
    }
    column = parse_json_list([entry])["q"]
    assert column.special_codes == {
        "": Reason.SKIP,
        -1: Reason.SKIP,
        8: Reason.OTHER,
        9: Reason.REFUSED,
        ".N": Reason.OTHER,
    }
    assert column.level_labels == {1: "Yes", 9: "Refused"}
    as_texts = parse_json_list(
        [{**entry, "levels": ["1", "2"], "skip_codes": ["8"], "missing_codes": []}]
    )
    assert as_texts["q"].special_codes == {"8": Reason.SKIP}


def test_absent_and_odd_files(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_schema(tmp_path / "no.toml")
    with pytest.raises(InputError, match=r"\.toml or \.json"):
        load_schema(tmp_path / "no.yaml")
    (tmp_path / "bad.json").write_text("[1,")
    with pytest.raises(InputError, match="not valid JSON"):
        load_schema(tmp_path / "bad.json")
    (tmp_path / "latin.toml").write_bytes(b'x = "\xe9"')
    with pytest.raises(InputError, match="not UTF-8"):
        load_schema(tmp_path / "latin.toml")


def test_real_descriptions_survive_both_forms(surveys, tmp_path):
    for path in sorted(surveys.glob("*/schema.json")):
        schema = load_schema(path)
        assert len(schema) == len(json.loads(path.read_text()))
        for ending in ("toml", "json"):
            save_schema(schema, tmp_path / f"s.{ending}")
            assert load_schema(tmp_path / f"s.{ending}") == schema
