"""Rules files: what is saved comes back, and errors name what is wrong."""

import re
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.presence import Absence
from tabsoda.skips.rule_files import dump_rules
from tabsoda.skips.rule_set import Provenance, RuleSet
from tabsoda.skips.rules import (
    NAMED_REASONS,
    Condition,
    Decision,
    Evidence,
    Rival,
    RuleStatus,
    SkipRule,
)

# Lone surrogates cannot be written as UTF-8; no reader of ours produces them.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
codes = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), texts
)
shares = st.floats(0, 1)
counts = st.integers(0, 10**9)
numbers = st.floats(-1e300, 1e300)
decisions = st.builds(Decision, texts.filter(bool), texts, texts, texts, texts)


@st.composite
def columns(draw, name):
    kind = draw(st.sampled_from(ColumnKind))
    if kind is ColumnKind.CONTINUOUS:
        return Column(name, kind, label=draw(texts), universe=draw(texts))
    levels = tuple(draw(st.lists(codes, min_size=1, max_size=5, unique=True)))
    labels = draw(st.dictionaries(st.sampled_from(levels), texts.filter(bool)))
    return Column(name, kind, levels, draw(texts), labels, universe=draw(texts))


@st.composite
def conditions(draw, gate):
    skipped, blank = draw(st.booleans()), draw(st.booleans())
    reasons = tuple(draw(st.sets(st.sampled_from(NAMED_REASONS))))
    if gate.is_categorical:
        levels = tuple(draw(st.lists(st.sampled_from(gate.levels), min_size=1, unique=True)))
        return Condition(gate.name, levels, None, None, skipped, blank, reasons)
    above = draw(numbers)
    up_to = draw(st.one_of(st.none(), numbers.filter(lambda number: number > above)))
    return Condition(gate.name, (), above, up_to, skipped, blank, reasons)


@st.composite
def rule_sets(draw):
    names = draw(st.lists(texts.filter(bool), min_size=2, max_size=6, unique=True))
    described = tuple(draw(columns(name)) for name in names)
    rules = []
    for position in range(draw(st.integers(0, 4))):
        target = draw(st.integers(1, len(names) - 1))
        paths = st.lists(
            st.lists(
                st.sampled_from(described[:target]).flatmap(conditions), min_size=1, max_size=3
            ),
            min_size=1,
            max_size=3,
        )
        rules.append(
            SkipRule(
                f"r{position:03}",
                names[target],
                tuple(tuple(path) for path in draw(paths)),
                Evidence(*(draw(counts) for _ in range(4)), *(draw(shares) for _ in range(6))),
                draw(st.one_of(st.none(), texts)),
                draw(st.sampled_from(RuleStatus)),
                draw(texts),
                draw(texts),
                draw(texts),
                tuple(draw(st.lists(decisions, max_size=3))),
                tuple(
                    Rival(tuple(map(tuple, found)), draw(counts), draw(counts))
                    for found in draw(st.lists(paths, max_size=2))
                ),
            )
        )
    settings = draw(st.dictionaries(st.sampled_from(["depth", "z"]), st.integers(0, 9)))
    mined = Provenance(draw(texts), draw(counts), "purity", "0.1", settings)
    absence = st.builds(Absence, st.integers(1, 50), shares)
    return RuleSet(tuple(rules), described, mined, draw(st.none() | absence))


@given(rule_sets())
def test_what_is_saved_comes_back_unchanged(tmp_path_factory, rules):
    path = tmp_path_factory.getbasetemp() / "rules.toml"
    rules.to_toml(path)
    again = RuleSet.from_toml(path)
    assert again == rules
    for column, same in zip(rules.columns, again.columns, strict=True):
        # Equality alone would let 1 come back as 1.0.
        assert list(map(type, column.levels)) == list(map(type, same.levels))
    assert dump_rules(again) == dump_rules(rules)


EVER = Column("AC1002", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Yes", 2: "No"})
AGE = Column("AGE", ColumnKind.CONTINUOUS)
NOW = Column("AC1003", ColumnKind.ORDINAL, (1, 2, 3), "Do you now smoke?")
RULES = RuleSet(
    (
        SkipRule(
            "r001",
            "AC1003",
            ((Condition("AC1002", (2,)),), (Condition("AGE", above=14, up_to=44),)),
            Evidence(90, 1, 10, 400, 0.06, 0.01, 0.2, 1e-300, 1e-299, 0.9),
        ),
    ),
    (EVER, AGE, NOW),
)


def test_the_file_is_pleasant_to_read():
    text = dump_rules(RULES)
    assert "sentence = \"AC1003 is skipped when AC1002 is 2 'No', or when AGE is above 14" in text
    assert 'when = [\n  [{ gate = "AC1002", is = [2] }],\n  [{ gate = "AGE", above = 14,' in text
    assert "counts = { fired_blank = 90, fired_answered = 1, silent_blank = 10," in text
    assert tomllib.loads(text)["rule"][0]["p_value"] == 1e-300


def _edited(tmp_path, old, new):
    text = dump_rules(RULES)
    assert old in text
    path = tmp_path / "rules.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_the_sentence_is_for_people_alone(tmp_path):
    path = _edited(tmp_path, "AC1003 is skipped when", "Nobody is ever asked when")
    assert RuleSet.from_toml(path) == RULES


def test_a_file_may_say_when_skips_are_withheld(tmp_path):
    block = "[absence]\nquiet_run = {}\nmax_present_share = 0.05\n"
    rules = RuleSet.from_toml(_edited(tmp_path, "[[rule]]", block.format(5) + "[[rule]]"))
    assert rules == replace(RULES, absence=Absence(5, 0.05))
    assert RuleSet.from_toml(_edited(tmp_path, "[[rule]]", "[[rule]]")).absence is None
    with pytest.raises(InputError, match=r"'absence\.quiet_run'.*greater than or equal to 1"):
        RuleSet.from_toml(_edited(tmp_path, "[[rule]]", block.format(0) + "[[rule]]"))


def test_reasons_are_read_and_written_beside_the_flags_of_older_files(tmp_path):
    new = 'is = [2], or_skipped = true, or_blank = true, reasons = ["dont_know", "refused"]'
    rules = RuleSet.from_toml(_edited(tmp_path, "is = [2]", new))
    both = (Reason.REFUSED, Reason.DONT_KNOW)
    assert rules["r001"].any_of[0] == (Condition("AC1002", (2,), None, None, True, True, both),)
    assert 'or_blank = true, reasons = ["refused", "dont_know"] }' in dump_rules(rules)
    alone = RuleSet.from_toml(_edited(tmp_path, "is = [2]", 'reasons = ["other"]'))
    assert alone.sentences()[0].startswith(
        "AC1003 is skipped when AC1002 is missing for another reason"
    )


def test_only_reasons_for_a_missing_answer_make_a_condition():
    rule = SkipRule("r", "AC1003", ((Condition("AC1002", reasons=(Reason.SKIP,)),),))
    with pytest.raises(InputError, match=r"'reasons' is wrong.*'skip' for 'AC1002'.*'refused'"):
        RuleSet((rule,), (EVER, NOW))


def test_a_rule_written_by_hand_needs_three_fields(tmp_path):
    hand = '[[rule]]\nid = "mine"\ntarget = "AC1003"\nwhen = [[{ gate = "AC1002", is = [1] }]]\n\n'
    rules = RuleSet.from_toml(_edited(tmp_path, "[[column]]", hand + "[[column]]"))
    assert rules["mine"].any_of == ((Condition("AC1002", (1,)),),)
    assert rules["mine"].evidence.p_value == 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"proposed"', '"perhaps"', ["'r001'", "'status'", "'perhaps'", "'approved'"]),
        ("is = [2]", 'is = ["2"]', ["'r001'", "'is'", "'2'", "1, 2"]),
        ("is = [2]", "is = 2", ["'r001'", "'when.1.1.is'", "2", "list"]),
        ("is = [2]", "is = []", ["'r001'", "nothing asked of 'AC1002'"]),
        ("is = [2]", "equals = [2]", ["'r001'", "'when.1.1.equals'", "does not exist"]),
        ("is = [2]", 'reasons = ["skip"]', ["'r001'", "'when.1.1.reasons.1'", "'skip'"]),
        ("is = [2]", "is = [true]", ["'r001'", "True"]),
        ('"AGE", above = 14', '"AGE", above = 99', ["'r001'", "'up_to'", "44", "above 99"]),
        ('"AGE", above = 14', '"AGE", above = nan', ["'r001'", "'when.2.1.above'", "finite"]),
        (
            '"AGE", above = 14',
            '"AGE", above = "x"',
            ["'r001'", "'when.2.1.above'", "'x'", "number"],
        ),
        ('target = "AC1003"', 'target = "AC9"', ["'r001'", "'AC9'"]),
        ('target = "AC1003"', "", ["'r001'", "'target'", "nothing"]),
        ('id = "r001"', "", ["rule no. 1", "'id'"]),
        ("fired_blank = 90", "fired_blank = -1", ["'r001'", "'counts.fired_blank'", "-1"]),
        (
            "coverage = 0.9",
            "coverage = 7",
            ["'r001'", "'coverage'", "7", "less than or equal to 1"],
        ),
        ("coverage = 0.9", "status = 1", ["not TOML", "line 39"]),
        ('kind = "nominal"', 'kind = "colour"', ["'AC1002'", "'kind'", "'colour'"]),
        ('["Yes", "No"]', '["Yes"]', ["'AC1002'", "one label for each of the 2 levels"]),
        ("levels = [1, 2]", "levels = [1, 1]", ["'AC1002'", "repeats a level", "1 twice"]),
        ("format = 1", "format = 99", ["format = 99", "format = 1"]),
        ("format = 1", "", ["no 'format'"]),
        ("[mined]", "[minded]", ["minded", "does not exist"]),
        ("[[column]]", "[[column", ["not TOML", "line"]),
    ],
)
def test_nonsense_names_rule_field_found_and_expected(tmp_path, old, new, expected):
    with pytest.raises(InputError) as caught:
        RuleSet.from_toml(_edited(tmp_path, old, new))
    message = str(caught.value)
    for part in ["rules.toml", *expected]:
        assert part in message, message


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a,b\n1,2\n", b'{"rule": []}'])
def test_other_files_are_refused_as_rules_files(tmp_path, content):
    path = tmp_path / "rules.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"rules\.toml"):
        RuleSet.from_toml(path)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(InputError, match=re.escape("tabsoda mine DATA -o rules.toml")):
        RuleSet.from_toml(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        RuleSet.from_toml(tmp_path)


def test_numpy_values_are_written_as_plain_ones(tmp_path):
    import numpy as np

    gate = Column("G", ColumnKind.NOMINAL, (np.int64(1), np.int64(2)))
    rule = SkipRule("r", "AGE", ((Condition("G", (np.int64(2),)),),))
    RuleSet((rule,), (gate, AGE)).to_toml(tmp_path / "rules.toml")
    assert RuleSet.from_toml(tmp_path / "rules.toml")["r"].any_of[0][0].levels == (2,)


def test_keys_that_need_quotes_get_them(tmp_path):
    settings = {"a b": 1, "c.d": 2.5, "plain": "x"}
    origin = Provenance("a.csv", 9, "purity", "0", settings)
    rules = RuleSet(RULES.rules, RULES.columns, origin)
    rules.to_toml(tmp_path / "rules.toml")
    assert RuleSet.from_toml(tmp_path / "rules.toml") == rules


def test_a_byte_order_mark_does_not_matter(tmp_path):
    (tmp_path / "rules.toml").write_text(dump_rules(RULES), encoding="utf-8-sig")
    assert RuleSet.from_toml(tmp_path / "rules.toml") == RULES


def test_a_column_that_is_described_twice_is_named():
    with pytest.raises(InputError, match="Column 'AGE' is described twice"):
        RuleSet(RULES.rules, (AGE, EVER, AGE, NOW))
