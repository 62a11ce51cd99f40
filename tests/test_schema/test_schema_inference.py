import numpy as np
import polars as pl
import pytest

from tabsoda._internal.randomness import numpy_generator
from tabsoda.schema import ColumnKind, ColumnRole, Reason
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.inference import propose_column, propose_schema
from tabsoda.schema.reasons import reason_from_label
from tabsoda.schema.suspicion import suspicious_codes

ROWS = 400


def integers(low, high, name="q"):
    return pl.Series(name, numpy_generator(1, name, low, high).integers(low, high + 1, ROWS))


def labelled(texts):
    return ColumnHints(level_labels=dict(enumerate(texts, 1)))


@pytest.mark.parametrize(
    ("series", "hints", "kind"),
    [
        (integers(1, 4), labelled(["Never", "Rarely", "Often", "Always"]), "ordinal"),
        (integers(1, 4), labelled(["North", "South", "East", "West"]), "nominal"),
        (integers(1, 2), labelled(["Yes", "No"]), "nominal"),
        (integers(1, 5), ColumnHints(), "nominal"),
        (integers(0, 60), ColumnHints(), "continuous"),
        (integers(1, 5), ColumnHints(measure="ordinal"), "ordinal"),
        (integers(1, 5), ColumnHints(measure="scale"), "continuous"),
        (integers(1, 7), ColumnHints(level_labels={1: "No pain", 7: "Worst"}), "ordinal"),
        (integers(0, 80), ColumnHints(level_labels={0: "None"}), "continuous"),
        (pl.Series("q", ["a", "b"] * 200), ColumnHints(), "nominal"),
        (pl.Series("q", ["1", "2", "NA", "40"] * 100), ColumnHints(), "nominal"),
        (pl.Series("q", [str(n % 50) for n in range(ROWS)]), ColumnHints(), "continuous"),
        (pl.Series("q", np.linspace(0, 1, 30)), ColumnHints(), "continuous"),
        (pl.Series("q", [None, None], dtype=pl.Int8), ColumnHints(), "continuous"),
    ],
)
def test_kinds(series, hints, kind):
    column = propose_column(series, hints)
    assert column.kind == ColumnKind(kind)
    assert column.note


def test_levels_come_from_labels_and_answers_in_the_order_of_the_codes():
    column = propose_column(
        pl.Series("q", [3, 10, 2]),
        ColumnHints(level_labels={2: "b", 1: "a", 3: "c"}, measure="nominal"),
    )
    assert column.levels == (1, 2, 3, 10)


def test_words_give_the_order_of_texts_and_confirm_that_of_codes():
    column = propose_column(pl.Series("q", ["Never", "Often", "Rarely"] * 10))
    assert column.kind is ColumnKind.ORDINAL
    assert column.levels == ("Never", "Rarely", "Often")
    falling = labelled(["Always", "Often", "Rarely", "Never"])
    assert propose_column(integers(1, 4), falling).levels == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("series", "role"),
    [
        (pl.Series("SEQN", range(1000, 1000 + ROWS)), "id"),
        (pl.Series("who", [f"p{n}" for n in range(ROWS)]), "id"),
        (pl.Series("income", (np.arange(ROWS) * 37 + 11)), "question"),
        (pl.Series("FINALWGT", np.linspace(0.3, 9.7, ROWS)), "weight"),
        (pl.Series("weight", 50 + numpy_generator(1).integers(0, 60, ROWS)), "question"),
        (pl.Series("height", np.linspace(1.5, 1.9, ROWS)), "question"),
        (integers(1, 30, "stratumid"), "stratum"),
        (integers(1, 2, "SDMVPSU"), "cluster"),
    ],
)
def test_roles(series, role):
    assert propose_column(series).role is ColumnRole(role)


def test_special_codes_need_a_declaration():
    hints = ColumnHints(
        level_labels={1: "Yes", 2: "No", 8: "REFUSED", 9: "Not ascertained"},
        missing_codes=(7,),
        missing_ranges=((-9, -1),),
    )
    column = propose_column(pl.Series("q", [1, 2, 7, 8, 9, -3, 99]), hints)
    assert column.special_codes == {
        7: Reason.OTHER,
        8: Reason.REFUSED,
        9: Reason.BLANK,
        -3: Reason.OTHER,
    }
    # Nobody declared 99: it stays an answer, and the note says that it looks odd.
    assert 99 in column.levels
    assert "99" in column.note


def test_letters_are_missing_with_or_without_a_label():
    tags = np.array([None, ".a", ".b"], dtype=object)
    hints = ColumnHints(level_labels={".a": "Valid skip"})
    column = propose_column(pl.Series("q", [1, None, None]), hints, tags)
    assert column.special_codes == {".a": Reason.SKIP, ".b": Reason.OTHER}


def test_the_proposal_keeps_the_order_of_the_file():
    frame = pl.DataFrame({"b": [1, 2], "a": [1, 2]})
    assert propose_schema(frame).names == ("b", "a")


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, 2, 9], (9,)),
        ([1, 2, 7, 8, 9], (7, 8, 9)),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], ()),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], ()),
        ([1, 2, 3, 97, 98, 99], (97, 98, 99)),
        ([*range(90), 91, 95, 99], ()),
        ([*range(80), 997, 998, 999], (997, 998, 999)),
        ([1, 2, 77, 99], (77, 99)),
        ([*range(31), 91, 93], (91, 93)),
        ([*range(1, 367), 991, 993, 994], (991, 993, 994)),
        ([*range(31), 83, 85, 91, 94, 97, 98], (83, 85, 91, 94, 97, 98)),
        ([*range(200), 981, 985, 991], (981, 985, 991)),
        ([0, 14, 61, 85], ()),
        ([0, 14, 61, 85, 999], (999,)),
        ([*range(13), 18, 24, 30, 90], ()),
        ([*range(86), 91, 92], ()),
        ([-1, -9, 0, 3], (-9, -1)),
        ([-30, -9, -1, 4], ()),
        ([-3, -2, -1], ()),
        ([1, ".a", ".S", "S"], (".S", ".a")),
        (["1", "2", "9"], (9,)),
        ([], ()),
    ],
)
def test_suspicious_codes(values, codes):
    assert suspicious_codes(values) == codes


@pytest.mark.parametrize(
    ("shares", "codes"),
    [
        ({1: 0.4, 2: 0.3, 30: 0.1, 666: 0.2}, (666,)),
        # A code below another one, of either sort.
        ({1: 0.4, 2: 0.3, 30: 0.1, 666: 0.1, 9999: 0.1}, (666, 9999)),
        ({1: 0.4, 2: 0.3, 3: 0.1, 9: 0.1, 5555: 0.1}, (9, 5555)),
        # An outlier, a heavy tail, two levels, and percentages by tens.
        ({1: 0.5, 2: 0.3, 30: 0.19, 666: 0.01}, ()),
        ({100: 0.2, 300: 0.3, 1000: 0.3, 2000: 0.2}, ()),
        ({0: 0.5, 100: 0.5}, ()),
        (dict.fromkeys(range(0, 101, 10), 1 / 11), ()),
        ({1: 0.5, 2: 0.3, 3: 0.1, 12: 0.1}, ()),
    ],
)
def test_a_far_value_that_many_have_is_suspicious(shares, codes):
    assert suspicious_codes(shares, shares) == codes


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("INAP.", Reason.SKIP),
        ("Valid Skip", Reason.SKIP),
        ("Appropriate skip", Reason.SKIP),
        ("Question not asked", Reason.SKIP),
        ("NIU", Reason.SKIP),
        ("Refusal", Reason.REFUSED),
        ("I prefer not to answer", Reason.REFUSED),
        ("I don’t know", Reason.DONT_KNOW),
        ("DK", Reason.DONT_KNOW),
        ("Missing", Reason.BLANK),
        ("Invalid skip", Reason.BLANK),
        ("Skipped in error", Reason.BLANK),
        ("Non-interview", Reason.BLANK),
        ("Not applicable / refused", Reason.OTHER),
        ("None", None),
        ("Never", None),
        ("No", None),
        ("Ran out of money", None),
        ("Skipping school", None),
        ("Missed the bus", None),
    ],
)
def test_reasons_from_labels(label, reason):
    assert reason_from_label(label) is reason
