"""Scales are recognised by their labels, and never put in the wrong order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scale_labels import IN_THE_ORDER_OF_CODES, LISTS, SCALES

from tabsoda.schema import ColumnKind
from tabsoda.schema.facts import ColumnFacts
from tabsoda.schema.kinds import guess_kind
from tabsoda.schema.scales import recognize_scale
from tabsoda.schema.scales.label_text import without_codes

ALL = [(language, labels) for language, sets in SCALES.items() for labels in sets]


@pytest.mark.parametrize(("language", "labels"), ALL)
def test_labels_in_the_order_of_their_codes(language, labels):
    for given_labels in (labels, labels[::-1]):
        scale = recognize_scale(given_labels)
        assert scale is not None
        assert scale.order == tuple(range(len(labels)))
        assert scale.follows_codes
        assert scale.is_certain
    if not any(map(str.isdigit, "".join(labels))):
        assert scale.language == language


@pytest.mark.parametrize("labels", IN_THE_ORDER_OF_CODES)
def test_codes_decide_where_words_leave_it_open(labels):
    scale = recognize_scale(labels)
    assert scale is not None
    assert scale.order == tuple(range(len(labels)))
    texts = recognize_scale(labels, in_order=False)
    assert texts is None or texts.order is None or scale.is_certain


@pytest.mark.parametrize("labels", LISTS)
def test_lists_are_not_scales(labels):
    scale = recognize_scale(labels)
    assert scale is None or scale.order is None
    facts = ColumnFacts("q", labels=dict(enumerate(labels, 1)))
    assert guess_kind(facts).kind is ColumnKind.NOMINAL


def _orders(labels):
    return [list(labels), list(labels[::-1])]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_shuffled_codes_never_give_a_wrong_order(data):
    _, labels = data.draw(st.sampled_from(ALL))
    shuffled = data.draw(st.permutations(labels))
    coded = ColumnFacts("q", labels=dict(enumerate(shuffled, 1)))
    guess = guess_kind(coded)
    if guess.kind is ColumnKind.ORDINAL:
        assert [coded.labels[code] for code in guess.levels] in _orders(labels)
    texts = guess_kind(ColumnFacts("q", answers=tuple(sorted(labels))))
    if texts.kind is ColumnKind.ORDINAL:
        assert list(texts.levels) in _orders(labels)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_shuffled_codes_of_unclear_scales_keep_what_is_certain(data):
    labels = data.draw(st.sampled_from(IN_THE_ORDER_OF_CODES))
    shuffled = tuple(data.draw(st.permutations(labels)))
    scale = recognize_scale(shuffled)
    if scale is not None and scale.order is not None and not scale.follows_codes:
        assert [shuffled[i] for i in scale.order] in _orders(labels)


def test_most_scales_survive_a_shuffle_of_their_codes():
    moved = [(*labels[1:], labels[0]) for _, labels in ALL]
    found = [recognize_scale(labels) for labels in moved]
    share = sum(scale is not None and scale.order is not None for scale in found) / len(found)
    assert share > 0.9


@pytest.mark.parametrize(
    ("labels", "order", "unsure"),
    [
        # The middle is coded last, or first.
        (("Agree", "Disagree", "Neither agree nor disagree"), (0, 2, 1), ()),
        (("Better", "Worse", "About the same"), (0, 2, 1), ()),
        (("Neutral", "Satisfied", "Dissatisfied"), (1, 0, 2), ()),
        # Not an answer on the scale at the end; a middle answer in the middle.
        (("Agree", "Neutral", "Disagree", "No opinion"), (0, 1, 2), (3,)),
        (("Very good", "Good", "Bad", "Not sure"), (0, 1, 2), (3,)),
        (("Strongly agree", "Agree", "Undecided", "Disagree"), (0, 1, 2, 3), ()),
        # Alphabetical codes.
        (("Agree", "Disagree", "Strongly agree", "Strongly disagree"), (2, 0, 1, 3), ()),
        (("5 - Strongly agree", "4", "3", "2", "1 - Strongly disagree"), (4, 3, 2, 1, 0), ()),
    ],
)
def test_levels_out_of_order_and_beside_the_scale(labels, order, unsure):
    scale = recognize_scale(labels)
    assert scale.order == order
    assert scale.unsure == unsure


@pytest.mark.parametrize(
    "labels",
    [
        # The place of the last is not known.
        ("Very proud", "Quite proud", "Not at all proud", "I am not (nationality)"),
        ("Less than 250,000", "250,000 - 499,999", "500,000 or more", "Not in a city"),
        # Bands that overlap.
        ("$0 to $4,999", "$5,000 to $9,999", "$20,000 and Over", "Under $20,000"),
        # A negation, contracted or not, is on the side of the other one.
        ("I did not go", "I wanted to go but wasn't able to", "I definitely went"),
        # "None" after the longest time may be the least or the most.
        ("Under 1 hour", "1 to 2 hours", "More than 2 hours", "None"),
    ],
)
def test_a_scale_whose_order_is_not_clear_has_none(labels):
    scale = recognize_scale(labels)
    assert scale is not None
    assert scale.order is None


@pytest.mark.parametrize(
    "labels",
    [
        ("Under 10 minutes", "10 to 30 minutes", "Over 30 minutes", "None there, never comes"),
        ("Moins d'un jour", "1 à 7 jours", "Plus de 7 jours", "Aucun bus, il ne vient jamais"),
        ("Menos de 1 hora", "Entre 1 y 3 horas", "Más de 3 horas", "No hay, no llegaría nunca"),
    ],
)
def test_never_ends_a_scale_of_waiting_times_whatever_stands_beside_it(labels):
    assert recognize_scale(labels).order == (0, 1, 2, 3)


@pytest.mark.parametrize(
    "first",
    [
        "I did not drink regular soda yesterday",
        "I didn't drink 100% fruit juice yesterday",
        "Ich habe gestern keine Limonade getrunken",
    ],
)
def test_a_sentence_that_denies_is_none_of_an_amount(first):
    others = ("1 can or less (1 cup=8oz)", "2 cans", "3 cans (4.5 cups)", "4 or more cans")
    if first.startswith("Ich"):
        others = ("bis zu 1 Dose", "2 Dosen", "3 Dosen", "4 Dosen oder mehr")
    scale = recognize_scale((first, *others))
    assert (scale.name, scale.order) == ("number bands", (0, 1, 2, 3, 4))
    # "Not sure" is too short for a sentence, and a denial after the highest band is unclear.
    assert recognize_scale((*others, "Not sure")).order is None
    assert recognize_scale((*others, first)).order is None


@pytest.mark.parametrize("negated", ["wasn't", "couldn’t", "haven't", "was not"])
def test_negations_turn_a_word_round_contracted_or_not(negated):
    labels = (f"It {negated} helpful", "It was somewhat helpful", "It was very helpful")
    assert recognize_scale(labels, in_order=False).order in ((0, 1, 2), (2, 1, 0))


def test_codes_in_front_of_labels():
    labels = ["1. Roman Catholic", "2. Baptist", "03 Methodist"]
    assert without_codes(labels, [1, 2, 3]) == ("Roman Catholic", "Baptist", "Methodist")
    assert without_codes(["1-5", "6-10", "3 or more"], [1, 2, 3]) == ("1-5", "6-10", "3 or more")
    ends = ["(00) Left", "(01)", "[2]", "03.", "(04) Right"]
    assert without_codes(ends, [0, 1, 2, 3, 4]) == ("Left", "", "", "", "Right")
    others = ["(02)", "(03)", "(04)"]
    assert without_codes(others, [1, 2, 3]) == tuple(others)


@pytest.mark.parametrize(
    "labels",
    [
        ("1. Dezil", "2. Dezil", "3. Dezil"),
        ("1st quintile", "2nd quintile", "3rd quintile"),
        ("Quartil 1", "Quartil 2", "Quartil 3"),
        ("1er décile", "2e décile", "3e décile"),
        ("1º quintil", "2º quintil", "3º quintil"),
    ],
)
def test_quantiles_are_in_the_order_of_their_numbers(labels):
    codes = range(1, 4)
    assert recognize_scale(without_codes(labels, codes)).order == (0, 1, 2)
    moved = (labels[2], labels[0], labels[1])
    assert recognize_scale(moved).order == (1, 2, 0)


def test_numbered_districts_are_names():
    assert (
        recognize_scale(without_codes(["1. Bezirk", "2. Bezirk", "3. Bezirk"], [1, 2, 3])) is None
    )
