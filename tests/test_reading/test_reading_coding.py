import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.reading import read_survey
from tabsoda.reading.coding import code_column
from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.states import reason_code


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([1, 2, None, 8]),
        pl.Series([1.0, 2.0, None, 8.0]),
        pl.Series(["1", "2", None, "8"]),
        pl.Series(["01", "2.0", "", "8"]),
        pl.Series([1, 2, None, 8], dtype=pl.Decimal(scale=1)),
    ],
)
@pytest.mark.parametrize(("levels", "code"), [((1, 2), 8), (("1", "2"), "8"), ((1.0, 2), 8.0)])
def test_a_code_is_its_number_however_it_is_written(series, levels, code):
    column = Column("q", ColumnKind.NOMINAL, levels, special_codes={code: Reason.REFUSED})
    coded = code_column(series, column)
    np.testing.assert_array_equal(coded.values, [0, 1, np.nan, np.nan])
    assert coded.reasons.tolist() == [0, 0, reason_code(Reason.BLANK), reason_code(Reason.REFUSED)]
    assert coded.unlisted == {}


def test_distinct_texts_stay_distinct():
    column = Column("q", ColumnKind.NOMINAL, ("1", "01", "yes", "Yes"))
    coded = code_column(pl.Series(["01", "1", "Yes", "yes", "YES", "1.0"]), column)
    np.testing.assert_array_equal(coded.values, [1, 0, 3, 2, np.nan, np.nan])
    assert coded.unlisted == {"YES": 1, "1.0": 1}


@given(
    st.lists(st.one_of(st.none(), st.integers(-9, 12), st.sampled_from([97, 98, 99])), min_size=1)
)
def test_coding_inverts_to_the_file(values):
    levels = tuple(range(13))
    special = {-1: Reason.SKIP, 98: Reason.DONT_KNOW}
    column = Column("q", ColumnKind.ORDINAL, levels, special_codes=special)
    coded = code_column(pl.Series(values, dtype=pl.Int64), column)
    for value, number, reason in zip(values, coded.values, coded.reasons, strict=True):
        if value in levels:
            assert levels[int(number)] == value
            assert reason == 0
        else:
            assert np.isnan(number)
            why = Reason.BLANK if value is None else special.get(value, Reason.OTHER)
            assert reason == reason_code(why)
    known = {None, *levels, *special}
    assert sum(coded.unlisted.values()) == sum(value not in known for value in values)


def test_continuous_texts_codes_and_blank_words():
    column = Column("x", ColumnKind.CONTINUOUS, special_codes={-1: Reason.SKIP, ".S": Reason.OTHER})
    coded = code_column(pl.Series(["1.5", " 2", "-1.0", "NA", ".S", "inf", "x"]), column)
    np.testing.assert_array_equal(coded.values, [1.5, 2, *[np.nan] * 5])
    assert coded.reasons[2] == reason_code(Reason.SKIP)
    assert coded.blank_words == {"NA": 1}
    assert coded.unlisted == {"inf": 1, "x": 1}


def test_empty_cells_of_numbers_are_a_dot_and_not_an_empty_text():
    blank = pl.Series([1.0, None])
    skip_on_text = Column("x", ColumnKind.CONTINUOUS, special_codes={"": Reason.SKIP})
    skip_on_any = Column("x", ColumnKind.CONTINUOUS, special_codes={".": Reason.SKIP})
    assert code_column(blank, skip_on_text).reasons[1] == reason_code(Reason.BLANK)
    assert code_column(blank, skip_on_any).reasons[1] == reason_code(Reason.SKIP)
    assert code_column(blank, skip_on_text, blank_is_text=True).reasons[1] == reason_code(
        Reason.SKIP
    )


def test_booleans_and_dates_have_numbers():
    flags = code_column(pl.Series([True, False]), Column("b", ColumnKind.NOMINAL, (0, 1)))
    assert flags.values.tolist() == [1, 0]
    days = pl.Series(["1970-01-02", "1970-02-01"]).str.to_date()
    coded = code_column(days, Column("d", ColumnKind.CONTINUOUS))
    assert coded.values.tolist() == [1, 31]


@pytest.mark.parametrize(
    "codes",
    [
        {"levels": [1, 2], "special_codes": {"1": Reason.REFUSED}},
        {"levels": ["1", "2"], "special_codes": {1.0: Reason.REFUSED}},
        {"special_codes": {9: Reason.REFUSED, "9": Reason.SKIP}},
    ],
)
def test_a_code_has_one_meaning_however_it_is_written(codes):
    levels = tuple(codes.get("levels", (1, 2)))
    with pytest.raises(InputError, match=r"Column 'q' (lists a code both|gives one code two)"):
        Column("q", ColumnKind.NOMINAL, levels, special_codes=codes["special_codes"])


def test_a_level_to_the_letter_is_no_code_that_spells_the_same_number():
    column = Column("q", ColumnKind.NOMINAL, ("07", "1"), special_codes={7: Reason.REFUSED})
    found = code_column(pl.Series("q", ["07", "7", "1", "01"]), column)
    assert found.values[[0, 2, 3]].tolist() == [0, 1, 1]
    assert found.reasons[1] == reason_code(Reason.REFUSED)


def test_levels_are_found_in_single_precision():
    column = Column("q", ColumnKind.ORDINAL, (0.1, 0.2, 0.3))
    found = code_column(pl.Series("q", [0.3, 0.1, None, 0.2], dtype=pl.Float32), column)
    np.testing.assert_array_equal(found.values, [2, 0, np.nan, 1])
    assert not found.unlisted


def test_an_empty_text_has_the_reason_of_texts_before_that_of_any_blank():
    codes = {"": Reason.SKIP, ".": Reason.REFUSED}
    column = Column("q", ColumnKind.NOMINAL, ("a",), special_codes=codes)
    text = code_column(pl.Series("q", ["a", None]), column)
    assert text.reasons[1] == reason_code(Reason.SKIP)
    numbers = Column("q", ColumnKind.NOMINAL, (1,), special_codes=codes)
    assert code_column(pl.Series("q", [1, None]), numbers).reasons[1] == reason_code(Reason.REFUSED)


def test_numbers_beside_texts_are_written_as_a_file_would():
    import pandas as pd

    frame = pd.DataFrame({"q": [1, "1", 1.0, "x", 2.5, None]}, dtype=object)
    assert read_survey(frame).frame["q"].to_list() == ["1", "1", "1", "x", "2.5", None]
