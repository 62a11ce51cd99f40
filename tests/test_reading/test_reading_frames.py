"""Frames of any kind go in and come back as they were."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tabsoda.reading import read_survey
from tabsoda.reading.frames import like_input, to_polars
from tabsoda.schema import ColumnKind


def pandas_frame() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(["mid", None, "low"], ["low", "mid", "high"], ordered=True),
            "code": pd.Categorical([2, 1, 2], [2, 1]),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "whole": np.array([1, 2, 3], dtype="int16"),
            "real": [0.5, np.nan, 1.5],
            "flag": [True, False, True],
            "text": ["a", None, "b"],
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
        },
        index=pd.Index(["r3", "r1", "r2"], name="who"),
    )
    frame.attrs["wave"] = 3
    return frame


def test_pandas_comes_back_unchanged():
    frame = pandas_frame()
    back = like_input(to_polars(frame), frame)
    pd.testing.assert_frame_equal(back, frame)
    assert back.attrs == frame.attrs
    assert back["grade"].cat.categories.tolist() == ["low", "mid", "high"]


def test_pandas_index_and_category_order_reach_a_changed_table():
    frame = pandas_frame()
    table = to_polars(frame).with_columns(pl.lit("high").alias("grade"))
    back = like_input(table, frame)
    assert back.index.equals(frame.index)
    assert back["grade"].dtype == frame["grade"].dtype
    assert (back["grade"] > "mid").all()


def test_polars_and_arrow_come_back_unchanged():
    frame = pl.DataFrame(
        {
            "q": pl.Series(["a", None], dtype=pl.Enum(["b", "a"])),
            "n": pl.Series([1, 2], dtype=pl.Int8),
        }
    )
    assert like_input(to_polars(frame), frame).equals(frame)
    assert like_input(to_polars(frame), frame).schema == frame.schema
    arrow = pa.table(
        {
            "q": pa.array(["a", None, "b"]).dictionary_encode(),
            "n": pa.array([1, 2, None], type=pa.int16()),
        }
    )
    back = like_input(to_polars(arrow), arrow)
    assert back.schema == arrow.schema
    assert back.to_pylist() == arrow.to_pylist()


def test_reading_changes_no_frame():
    frame = pandas_frame()
    copy = frame.copy(deep=True)
    read_survey(frame)
    pd.testing.assert_frame_equal(frame, copy)


def test_ordered_categories_are_ordinal_and_unordered_ones_are_not():
    survey = read_survey(pandas_frame())
    assert survey.schema["grade"].kind is ColumnKind.ORDINAL
    assert survey.schema["grade"].levels == ("low", "mid", "high")
    assert survey.schema["code"].kind is ColumnKind.NOMINAL
    np.testing.assert_array_equal(survey.table.values[:, 0], [1, np.nan, 0])


@pytest.mark.parametrize("value", [[1, 2.5, "x"], ["1", 2, None]])
def test_object_columns_of_mixed_types_are_texts(value):
    table = to_polars(pd.DataFrame({"q": pd.Series(value, dtype=object)}))
    assert table["q"].to_list() == [None if v is None else str(v) for v in value]


def test_nan_is_blank_in_polars():
    survey = read_survey(
        pl.DataFrame({"x": [1.0, float("nan")]}), [{"name": "x", "type": "continuous"}]
    )
    assert survey.states.missing[:, 0].tolist() == [False, True]
