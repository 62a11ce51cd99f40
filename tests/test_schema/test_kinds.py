"""Kinds from small files whose declared levels are wrong, missing or the same everywhere."""

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tabsoda._internal.randomness import numpy_generator
from tabsoda.reading import read_survey
from tabsoda.schema import ColumnKind, Reason
from tabsoda.schema.column import Confidence
from tabsoda.schema.facts import ColumnFacts
from tabsoda.schema.file_evidence import declared_weights, find_batteries
from tabsoda.schema.files import load_schema, save_schema
from tabsoda.schema.kinds import guess_kind, guess_kinds
from tabsoda.schema.scales.questions import asked_for

ROWS = 240
AGREE = {1: "Strongly agree", 2: "Agree", 3: "Disagree", 4: "Strongly disagree", 9: "Don't know"}
COMPARE = {1: "Better", 2: "Worse", 3: "About the same"}
OPINION = {1: "Favor", 2: "Neutral", 3: "Oppose", 4: "No opinion"}
YES = {1: "Yes", 2: "No"}
REGION = {1: "North", 2: "South", 3: "East", 4: "West"}
LADDER = {0: "Not at all satisfied", 10: "Completely satisfied"}
CHILDREN = {0: "None", 8: "8 or more"}


def draws(name, codes):
    return numpy_generator(3, name).choice(codes, ROWS).astype(float)


def columns():
    return {
        "q1_a": draws("q1_a", [1, 2, 3, 4, 9]),
        "q1_b": draws("q1_b", [1, 2, 3, 4, 9]),
        "outlook": draws("outlook", [1, 2, 3]),
        "policy": draws("policy", [1, 2, 3, 4]),
        "ever": draws("ever", [1, 2]),
        "region": draws("region", [1, 2, 3, 4]),
        "ladder": draws("ladder", range(11)),
        "children": draws("children", range(9)),
        "age": draws("age", range(18, 90)),
        "agegroup": draws("agegroup", [1, 2, 3]),
        "op1": draws("op1", range(1, 6)),
        "op2": draws("op2", range(1, 6)),
        "op3": draws("op3", range(1, 6)),
        "total": draws("total", range(5, 36)),
    }


LABELS = {
    "q1_a": AGREE,
    "q1_b": AGREE,
    "outlook": COMPARE,
    "policy": OPINION,
    "ever": YES,
    "region": REGION,
    "ladder": LADDER,
    "children": CHILDREN,
    "agegroup": {1: "18 - 29", 2: "30 - 49", 3: "50+"},
}
QUESTIONS = {"children": "How many children do you have?", "total": "Sum of the scale"}
TRUE_KINDS = {
    "q1_a": "ordinal",
    "q1_b": "ordinal",
    "outlook": "ordinal",
    "policy": "ordinal",
    "ever": "nominal",
    "region": "nominal",
    "ladder": "ordinal",
    "children": "continuous",
    "age": "continuous",
    "agegroup": "ordinal",
    "op1": "ordinal",
    "op2": "ordinal",
    "op3": "ordinal",
    "total": "continuous",
}


def write_sav(path, measure):
    frame = pd.DataFrame(columns())
    pyreadstat.write_sav(
        frame,
        path,
        column_labels=QUESTIONS,
        variable_value_labels=LABELS,
        variable_measure=dict.fromkeys(frame.columns, measure),
    )
    return path


@pytest.mark.parametrize("measure", ["nominal", "scale", "ordinal"])
def test_an_spss_file_that_declares_one_level_for_all(tmp_path, measure):
    survey = read_survey(write_sav(tmp_path / "a.sav", measure))
    assert {column.name: column.kind.value for column in survey.schema} == TRUE_KINDS
    declared = "continuous" if measure == "scale" else measure
    overruled = {e.column for e in survey.events if e.kind == "declared_kind_not_used"}
    assert overruled == {name for name, kind in TRUE_KINDS.items() if kind != declared}


def test_a_stata_file_without_levels(tmp_path):
    pyreadstat.write_dta(
        pd.DataFrame(columns()),
        tmp_path / "a.dta",
        column_labels=QUESTIONS,
        variable_value_labels=LABELS,
    )
    survey = read_survey(tmp_path / "a.dta")
    assert {column.name: column.kind.value for column in survey.schema} == TRUE_KINDS
    assert not [e for e in survey.events if e.kind == "declared_kind_not_used"]


def test_levels_are_in_the_order_of_the_scale_and_answers_beside_it_set_apart(tmp_path):
    schema = read_survey(write_sav(tmp_path / "a.sav", "nominal")).schema
    assert schema["outlook"].levels == (1, 3, 2)
    assert "the words give the order" in schema["outlook"].note
    assert schema["policy"].levels == (1, 2, 3)
    assert schema["policy"].special_codes == {4: Reason.DONT_KNOW}
    assert schema["q1_a"].levels == (1, 2, 3, 4)
    assert schema["q1_a"].special_codes == {9: Reason.DONT_KNOW}
    assert schema["ladder"].levels == tuple(range(11))


def test_texts_of_a_csv_file(tmp_path):
    levels = {
        "agree": ["Strongly agree", "Agree", "Neither agree nor disagree", "Disagree"],
        "age": ["18-24", "25-34", "35-44", "45+"],
        "often": ["Never", "Rarely", "Often", "Always"],
        "steps": ["1 - Not at all", "2", "3", "4", "5 - Very much"],
        "unclear": ["Somewhat", "Moderately", "Very", "Not at all"],
        "city": ["Rome", "Paris", "Berlin", "Madrid"],
    }
    frame = pl.DataFrame(
        {name: [texts[n % len(texts)] for n in range(ROWS)] for name, texts in levels.items()}
    )
    frame.write_csv(tmp_path / "a.csv")
    schema = read_survey(tmp_path / "a.csv").schema
    for name in ("agree", "age", "often", "steps"):
        assert schema[name].kind is ColumnKind.ORDINAL
        assert list(schema[name].levels) in (levels[name], levels[name][::-1])
        assert schema[name].confidence is Confidence.LIKELY
        assert "the order is read from the words" in schema[name].note
    assert schema["unclear"].kind is ColumnKind.NOMINAL
    assert "their order is unclear" in schema["unclear"].note
    assert schema["city"].kind is ColumnKind.NOMINAL


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_confidence_is_kept_in_descriptions(tmp_path, ending):
    schema = read_survey(write_sav(tmp_path / "a.sav", "nominal")).schema
    save_schema(schema, tmp_path / f"a.{ending}")
    again = load_schema(tmp_path / f"a.{ending}")
    assert {c.name: c.confidence for c in again} == {c.name: c.confidence for c in schema}
    assert {c.confidence for c in schema} > {Confidence.CERTAIN}


def labelled(name, *texts, measure="", question=""):
    codes = tuple(range(1, len(texts) + 1))
    return ColumnFacts(
        name, question, codes, (50,) * len(texts), dict(zip(codes, texts, strict=True)), measure
    )


def test_labels_that_many_columns_share_are_a_scale_in_any_language():
    words = ("Hapana kabisa", "Kidogo", "Wastani", "Sana")
    alone = guess_kind(labelled("a", *words))
    assert (alone.kind, alone.confidence) == (ColumnKind.NOMINAL, Confidence.DOUBTFUL)
    battery = guess_kinds([labelled(f"a{n}", *words) for n in range(8)])
    assert {guess.kind for guess in battery} == {ColumnKind.ORDINAL}
    assert "8 columns share" in battery[0].reason
    # Codes in the order of the alphabet are an accident.
    alphabetical = [labelled(f"b{n}", *sorted(words)) for n in range(8)]
    assert {guess.kind for guess in guess_kinds(alphabetical)} == {ColumnKind.NOMINAL}


def test_a_declared_level_counts_where_it_is_right_elsewhere():
    agree = ("Agree", "Neither", "Disagree")
    unknown = ("Hapana", "Kidogo", "Sana")
    right = [labelled(f"r{n}", *agree, measure="ordinal") for n in range(8)]
    right += [labelled(f"y{n}", "Yes", "No", measure="nominal") for n in range(8)]
    guess = guess_kinds([*right, labelled("u", *unknown, measure="ordinal")])[-1]
    assert guess.kind is ColumnKind.ORDINAL
    assert "declares it ordinal" in guess.reason
    wrong = [labelled(f"w{n}", "Yes", "No", measure="ordinal") for n in range(16)]
    wrong += [labelled("n", "Yes", "No", measure="nominal")]
    guess = guess_kinds([*wrong, labelled("u", *unknown, measure="ordinal")])[-1]
    assert guess.kind is ColumnKind.NOMINAL


def test_what_a_declared_level_is_worth():
    nominal, ordinal = ColumnKind.NOMINAL, ColumnKind.ORDINAL
    often_wrong = declared_weights([("nominal", ordinal)] * 70 + [("nominal", nominal)] * 30)
    assert often_wrong["nominal"] == 0
    assert declared_weights([("ordinal", ordinal)] * 50)["ordinal"] > 2


def test_a_label_that_no_answer_has_does_not_hide_a_scale():
    facts = ColumnFacts(
        "q",
        answers=(1, 2, 3),
        labels={0: "Cannot be harmonised", 1: "Low", 2: "Medium", 3: "High"},
    )
    guess = guess_kind(facts)
    assert (guess.kind, guess.levels) == (ColumnKind.ORDINAL, (1, 2, 3))
    seen = ColumnFacts("q", answers=(0, 1, 2, 3), labels=facts.labels)
    assert guess_kind(seen).kind is ColumnKind.NOMINAL


def test_a_scale_of_unclear_order_is_never_certain_to_be_nominal():
    labels = {1: "Bachelor's degree", 2: "High school diploma", 3: "Some college", 4: "Less"}
    columns = [
        ColumnFacts("education", answers=(1, 2, 3, 4), labels=labels, measure="nominal"),
        *(
            ColumnFacts(f"sex{i}", answers=(1, 2), labels={1: "Man", 2: "Woman"}, measure="nominal")
            for i in range(20)
        ),
        ColumnFacts("age", answers=tuple(range(80)), measure="scale"),
    ]
    guess = guess_kinds(columns)[0]
    assert (guess.kind, guess.confidence.value) == (ColumnKind.NOMINAL, "doubtful")


def test_words_cannot_place_an_answer_without_a_label():
    facts = ColumnFacts("q", answers=(1, 2, 3, 4), labels=COMPARE)
    assert guess_kind(facts).kind is ColumnKind.NOMINAL
    beyond = ColumnFacts("q", answers=(1, 2, 3, 4, 9), labels={k: AGREE[k] for k in (1, 2, 3, 4)})
    guess = guess_kind(beyond)
    assert (guess.kind, guess.confidence) == (ColumnKind.ORDINAL, Confidence.DOUBTFUL)
    # A 9 beside 1 to 4 would be taken for the end of the scale.
    assert (guess.levels, guess.set_apart) == ((1, 2, 3, 4), {9: Reason.OTHER})
    near = ColumnFacts("q", answers=(1, 2, 3, 4, 5), labels=beyond.labels)
    assert guess_kind(near).levels == (1, 2, 3, 4, 5)
    assert "no label" in guess_kind(near).reason


def test_negative_steps_of_a_scale_are_answers():
    ends = ColumnFacts("q", answers=tuple(range(-3, 4)), labels={-3: "Bad", 3: "Good"})
    guess = guess_kind(ends)
    assert (guess.kind, guess.levels) == (ColumnKind.ORDINAL, tuple(range(-3, 4)))
    items = [ColumnFacts(f"q{n}", answers=tuple(range(-2, 3))) for n in range(4)]
    assert {guess.levels for guess in guess_kinds(items)} == {(-2, -1, 0, 1, 2)}
    coded = ColumnFacts("q", answers=(-9, 1, 2, 3), labels={1: "Low", 2: "Medium", 3: "High"})
    assert guess_kind(coded).set_apart == {-9: Reason.OTHER}


def test_labels_on_two_sides_of_zero_are_a_scale():
    sides = ("very unfair", "unfair", "slightly unfair")
    labels = {-3 + n: f"Too low, {text}" for n, text in enumerate(sides)}
    labels |= {3 - n: f"Too high, {text}" for n, text in enumerate(sides)} | {0: "Fair"}
    facts = ColumnFacts("pay", answers=tuple(range(-3, 4)), labels=labels)
    guess = guess_kind(facts)
    assert (guess.kind, guess.levels) == (ColumnKind.ORDINAL, tuple(range(-3, 4)))
    assert "from -3 to 3" in guess.reason
    one_side = {code + 3: text for code, text in labels.items()}
    shifted = ColumnFacts("pay", answers=tuple(range(7)), labels=one_side)
    assert guess_kind(shifted).kind is ColumnKind.NOMINAL


def test_ratings_whose_steps_are_labelled_with_their_numbers(tmp_path):
    """Ends in words, steps as "(05)", and a code for a party that nobody knows."""
    steps = {float(n): f"({n:02d})" for n in range(11)}
    steps |= {0.0: "(00) Não gosta de jeito nenhum", 10.0: "(10) Gosta muito"}
    codes = {96.0: "Não conhece o partido", 97.0: "Não respondeu", 98.0: "Não sabe avaliar"}
    values = [float(n % 11) for n in range(60)] + [96.0] * 20 + [97.0, 98.0]
    path = tmp_path / "parties.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"q15": values}), path, variable_value_labels={"q15": steps | codes}
    )
    column = read_survey(path).schema["q15"]
    assert (column.kind, column.levels) == (ColumnKind.ORDINAL, tuple(range(11)))
    reasons = {96: Reason.DONT_KNOW, 97: Reason.REFUSED, 98: Reason.DONT_KNOW}
    assert dict(column.special_codes) == reasons


def yes_no_with(codes, counts, name="q"):
    return ColumnFacts(name, answers=(1, 2, *codes), counts=(60, 40, *counts))


def test_unlabelled_codes_that_stand_apart_in_several_columns_are_missing():
    columns = [yes_no_with((7, 9), (1, 2), f"q{n}") for n in range(3)]
    hours = ColumnFacts("hours", answers=(*range(30), 99), counts=(3,) * 31)
    first, *_, last = guess_kinds([*columns, hours])
    for guess, kind in ((first, ColumnKind.NOMINAL), (last, ColumnKind.CONTINUOUS)):
        assert (guess.kind, guess.confidence) == (kind, Confidence.DOUBTFUL)
        assert "taken as missing" in guess.reason
    assert (first.levels, first.set_apart) == ((1, 2), {7: Reason.OTHER, 9: Reason.OTHER})
    assert last.set_apart == {99: Reason.OTHER}
    negative = [ColumnFacts(f"q{n}", answers=(-8, 1, 2), counts=(3, 60, 40)) for n in range(3)]
    assert guess_kinds(negative)[0].set_apart == {-8: Reason.OTHER}


def test_unlabelled_codes_without_a_convention_stay_answers():
    two = [yes_no_with((9,), (2,), f"q{n}") for n in range(2)]
    assert guess_kinds(two)[0].levels == (1, 2, 9)
    frequent = [yes_no_with((9,), (40,), f"q{n}") for n in range(3)]
    assert guess_kinds(frequent)[0].levels == (1, 2, 9)
    # "97 Something else" is an answer in many files.
    other = [yes_no_with((97,), (2,), f"q{n}") for n in range(3)]
    assert guess_kinds(other)[0].levels == (1, 2, 97)
    labels = {1: "Yes", 2: "No", 9: "Maybe"}
    labelled = [
        ColumnFacts(f"q{n}", answers=(1, 2, 9), counts=(60, 40, 2), labels=labels) for n in range(3)
    ]
    assert all(9 in guess.levels for guess in guess_kinds(labelled))


def test_batteries_need_neighbours_of_one_range():
    five = [ColumnFacts(f"q{n}", answers=(1, 2, 3, 4, 5)) for n in (1, 2)]
    seven = [ColumnFacts(f"q{n}", answers=tuple(range(1, 8))) for n in (3, 4)]
    assert find_batteries([*five, *seven]) == {}
    names = ["calm", "quiet", "loud", "kind", "sad"]
    unnamed = [ColumnFacts(name, answers=(1, 2, 3, 4, 5)) for name in names]
    assert set(find_batteries(unnamed)) == set(names)
    assert find_batteries(unnamed[:4]) == {}


@pytest.mark.parametrize(
    ("question", "name", "asked"),
    [
        ("How many cigarettes a day?", "q", "count"),
        ("# of children in HH", "q", "count"),
        ("Número de personas en el hogar", "q12c", "count"),
        ("Combien d'enfants avez-vous ?", "q", "count"),
        ("Wie viele Personen leben in Ihrem Haushalt?", "q", "count"),
        ("Quantos anos você tem?", "q", "count"),
        ("Сколько вам лет?", "q", "count"),
        ("年龄", "a1", "count"),
        ("", "age", "count"),
        ("", "hhAge", "count"),
        ("How often do you smoke?", "q", "rating"),
        ("¿Con qué frecuencia fuma?", "q", "rating"),
        ("Which party did you vote for?", "q", "list"),
        ("Estado civil", "q11", "list"),
        ("", "region", "list"),
    ],
)
def test_what_questions_ask_for(question, name, asked):
    assert asked_for(question, name) == {asked}


@pytest.mark.parametrize("name", ["village", "stage", "engaged", "manage"])
def test_parts_of_words_ask_for_nothing(name):
    assert asked_for("", name) == frozenset()
