"""Every kind of table comes back as it came, with nothing but its missing cells changed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from small_imputers import cells, imputer

from tabsoda import InputError, Reason, read_survey
from tabsoda.datasets.synthetic_survey import make_survey

DESCRIPTION = [
    {"name": "case", "type": "nominal", "role": "id"},
    {"name": "age", "type": "continuous"},
    {"name": "weight_kg", "type": "continuous"},
    {"name": "mood", "type": "ordinal", "levels": ["bad", "fair", "good"]},
    {"name": "region", "type": "nominal", "levels": [1, 2, 3]},
    {"name": "smokes", "type": "nominal", "levels": [0, 1]},
]


@pytest.fixture(scope="module")
def columns():
    """Return plain lists, None where there is no answer."""
    rng = np.random.default_rng(0)
    n = 90
    taste = rng.normal(size=n)
    content = {
        "case": [f"c{i:03d}" for i in range(n)],
        "age": np.round(40 + 12 * taste).astype(int).tolist(),
        "weight_kg": (70 + 9 * taste + rng.normal(size=n)).tolist(),
        "mood": [("bad", "fair", "good")[k] for k in np.digitize(taste, [-0.5, 0.5])],
        "region": rng.integers(1, 4, n).tolist(),
        "smokes": rng.integers(0, 2, n).tolist(),
    }
    for position, name in enumerate(list(content)[1:]):
        for row in range(position, n, 7):
            content[name][row] = None
    return content


def polars_frame(columns):
    types = {
        "case": pl.String,
        "age": pl.Int16,
        "weight_kg": pl.Float32,
        "mood": pl.Enum(["bad", "fair", "good"]),
        "region": pl.UInt8,
        "smokes": pl.Int64,
    }
    return pl.DataFrame(columns, schema=types, strict=False)


def pandas_frame(columns):
    frame = pd.DataFrame(columns, index=pd.Index(np.arange(90) * 3 + 5, name="person"))
    order = ["bad", "fair", "good"]
    return frame.astype(
        {
            "age": "Int16",
            "weight_kg": "float64",
            "mood": pd.CategoricalDtype(order, ordered=True),
            "region": "UInt8",
            "smokes": "float64",
        }
    )


KINDS = {
    "polars": polars_frame,
    "pandas": pandas_frame,
    "pyarrow": lambda columns: polars_frame(columns).to_arrow(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_come_back_as_they_came(kind, columns):
    frame = KINDS[kind](columns)
    before = cells(frame)
    fitted = imputer(description=DESCRIPTION).fit(frame)
    result = fitted.impute(frame, m=2)
    for table in (result.point(), result.point("median"), *result, fitted.transform(frame)):
        assert type(table) is type(frame)
        after = cells(table)
        assert list(after) == list(before)
        for name, old in before.items():
            new = after[name]
            assert all(b == a for b, a in zip(old, new, strict=True) if b is not None), name
            assert None not in new
        assert set(after["mood"]) <= {"bad", "fair", "good"}
        assert set(after["region"]) <= {1, 2, 3}
        assert set(after["smokes"]) <= {0, 1}
        assert all(value == int(value) for value in after["age"])
    assert cells(frame) == before


def test_pandas_types_index_and_category_order_survive(columns):
    frame = pandas_frame(columns)
    frame.attrs["source"] = "wave 3"
    result = imputer(description=DESCRIPTION).fit_transform(frame)
    assert result.dtypes.to_dict() == frame.dtypes.to_dict()
    assert result["mood"].cat.categories.tolist() == ["bad", "fair", "good"]
    assert result["mood"].cat.ordered
    assert result.index.equals(frame.index)
    assert result.index.name == "person"
    assert result.attrs == {"source": "wave 3"}


def test_polars_and_pyarrow_types_survive(columns):
    frame = polars_frame(columns)
    assert imputer(description=DESCRIPTION).fit_transform(frame).schema == frame.schema
    arrow = frame.to_arrow()
    assert imputer(description=DESCRIPTION).fit_transform(arrow).schema == arrow.schema


def test_the_library_makes_no_difference(columns):
    results = [
        cells(imputer(description=DESCRIPTION).fit(f).impute(f, m=1).complete(1))
        for f in (
            polars_frame(columns).with_columns(weight_kg=pl.Series(columns["weight_kg"])),
            pandas_frame(columns),
        )
    ]
    assert results[0]["mood"] == results[1]["mood"]
    assert results[0]["region"] == results[1]["region"]
    assert results[0]["age"] == results[1]["age"]


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int8])
def test_an_estimate_outside_a_small_integer_type_is_kept_inside(dtype):
    values = [0, 0, 0, 0, 127, None] * 20
    noise = np.random.default_rng(0).normal(size=120)
    frame = pl.DataFrame({"n": pl.Series(values, dtype=dtype), "x": noise})
    description = [{"name": "n", "type": "continuous"}, {"name": "x", "type": "continuous"}]
    result = imputer(preset="small", description=description).fit(frame).impute(frame, m=5)
    limits = {pl.UInt8: (0, 255), pl.Int8: (-128, 127)}[dtype]
    drawn = np.array([result.values(i)[5::6, 0] for i in range(1, 6)])
    assert (drawn == limits[0]).any() or (drawn == limits[1]).any()
    event = clipped(result)
    assert event.column == "n"
    assert (event.counts["low"], event.counts["high"]) == tuple(map(str, limits))
    for number, table in enumerate(result, start=1):
        assert table["n"].dtype == dtype
        assert table["n"].to_list() == result.values(number)[:, 0].tolist()
    assert result.point()["n"].to_list() == result.point_values()[:, 0].tolist()


@pytest.mark.parametrize("quality", ["fast", "balanced", "best"])
@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_numbers_of_a_wider_fit_are_kept_inside_a_small_integer_type(quality, kind):
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({"n": rng.integers(200, 1000, 120), "x": rng.normal(size=120)})
    description = [{"name": "n", "type": "continuous"}, {"name": "x", "type": "continuous"}]
    fitted = imputer(quality=quality, description=description).fit(wide)
    narrow = wide.with_columns(n=pl.Series([7, None] * 60, dtype=pl.UInt8))
    if kind == "pandas":
        narrow = narrow.to_pandas().astype({"n": "UInt8"})
    result = fitted.impute(narrow, m=3)
    counts = clipped(result).counts
    assert (counts["low"], counts["high"]) == ("0", "255")
    for number, table in enumerate(result, start=1):
        found = cells(table)["n"]
        assert found == result.values(number)[:, 0].tolist()
        assert 255 in found[1::2]
        assert found[::2] == [7] * 60
    assert set(cells(result.point())["n"]) == {7, 255}


@pytest.mark.parametrize("quality", ["fast", "balanced", "best"])
def test_drawn_numbers_are_numbers_that_somebody_answered(quality):
    values = [0, 0, 0, 0, 127, None] * 20
    noise = np.random.default_rng(0).normal(size=120)
    frame = pl.DataFrame({"n": pl.Series(values, dtype=pl.Int8), "x": noise})
    description = [{"name": "n", "type": "continuous"}, {"name": "x", "type": "continuous"}]
    enough = {"training": {"max_steps": 200, "epoch_steps": 50, "learning_rate": 0.01}}
    maker = imputer(enough, quality=quality, description=description)
    result = maker.fit(frame).impute(frame, m=5)
    drawn = [v for table in result for v in table["n"].to_list()[5::6]]
    assert set(drawn) == {0, 127}
    # One in five answers is 127, and nothing else predicts which.
    assert 0.05 < np.mean(np.array(drawn) == 127) < 0.4
    assert all(0 <= value <= 127 for value in result.point()["n"].to_list())


def clipped(result):
    [event] = [e for e in result.events if e.kind == "imputed_numbers_clipped"]
    return event


def test_narrow_integers_of_pandas_are_kept_inside_too():
    values = [0, 0, 0, 0, 127, None] * 20
    noise = np.random.default_rng(0).normal(size=120)
    frame = pd.DataFrame({"n": pd.array(values, dtype="UInt8"), "x": noise})
    description = [{"name": "n", "type": "continuous"}, {"name": "x", "type": "continuous"}]
    result = imputer(preset="small", description=description).fit(frame).impute(frame, m=5)
    assert clipped(result).column == "n"
    for number, table in enumerate(result, start=1):
        assert table["n"].dtype == "UInt8"
        assert table["n"].tolist() == result.values(number)[:, 0].tolist()


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_integers_with_fractional_imputations_become_floats_and_this_is_logged(kind):
    rng = np.random.default_rng(0)
    old = pl.DataFrame({"n": rng.normal(size=80), "x": rng.normal(size=80)})
    description = [{"name": "n", "type": "continuous"}, {"name": "x", "type": "continuous"}]
    fitted = imputer(description=description).fit(old)
    new = pl.DataFrame({"n": pl.Series([0, None, 1, None], dtype=pl.Int16), "x": [0.1, 1, 2, 3]})
    given = {
        "polars": new,
        "pandas": pd.DataFrame({"n": pd.array(new["n"].to_list(), dtype="Int16"), "x": new["x"]}),
        "pyarrow": new.to_arrow(),
    }[kind]
    result = fitted.impute(given, m=2)
    [event] = [e for e in result.events if e.kind == "integers_become_float"]
    assert event.column == "n"
    for number, table in enumerate(result, start=1):
        found = cells(table)["n"]
        assert found == result.values(number)[:, 0].tolist()
        assert any(value != round(value) for value in found)


def test_plain_arrays_come_back_as_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[::5, 1] = np.nan
    result = imputer().fit_transform(X)
    assert result.dtype == np.float64
    assert not np.isnan(result).any()
    assert np.array_equal(result[~np.isnan(X)], X[~np.isnan(X)])


def test_plain_arrays_of_float32_come_back_as_such():
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    X[::5, 1] = np.nan
    result = imputer().fit(X).impute(X, m=1)
    for table in (result.point(), result.complete(1), imputer().fit_transform(X)):
        assert table.dtype == np.float32
        assert np.array_equal(table[~np.isnan(X)], X[~np.isnan(X)])
        assert not np.isnan(table).any()


def test_described_arrays_come_back_as_arrays_of_their_codes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([10, 20, 30], 80), rng.normal(size=80)])
    X[::4, 0] = np.nan
    described = [
        {"name": "x0", "type": "ordinal", "levels": [10, 20, 30]},
        {"name": "x1", "type": "continuous"},
    ]
    result = imputer(description=described).fit_transform(X)
    assert isinstance(result, np.ndarray)
    assert result.dtype == X.dtype
    assert set(result[:, 0]) <= {10, 20, 30}
    assert np.array_equal(result[~np.isnan(X)], X[~np.isnan(X)])


def test_a_described_array_of_texts():
    rng = np.random.default_rng(0)
    X = rng.choice(["low", "mid", "high"], (80, 2)).astype(object)
    X[::4, 0] = None
    X[::12, 0] = np.nan
    levels = ["low", "mid", "high"]
    described = [{"name": f"x{i}", "type": "ordinal", "levels": levels} for i in (0, 1)]
    result = imputer(description=described).fit_transform(X)
    assert result.dtype == object
    assert set(result[:, 0]) <= set(levels)
    assert np.array_equal(result[:, 1], X[:, 1])


@pytest.fixture(scope="module")
def survey():
    return make_survey(200, 14, seed=2, spelled_out=(Reason.SKIP, Reason.REFUSED))


def test_a_survey_keeps_its_skip_codes_and_columns_that_are_not_questions(survey):
    read = read_survey(survey.to_frame(), survey.schema())
    states = read.states
    assert states.skipped.any()
    assert states.missing.any()
    result = imputer().fit(read).impute(read, m=2)
    for table in (result.point(), result.complete(2)):
        assert table.columns == read.frame.columns
        assert table["CASEID"].equals(read.frame["CASEID"])
        assert table["FINALWGT"].equals(read.frame["FINALWGT"])
        for position, column in enumerate(read.table.columns):
            old, new = read.frame[column.name], table[column.name]
            kept = pl.Series(~states.missing[:, position])
            assert new.filter(kept).equals(old.filter(kept)), column.name
            filled = new.filter(~kept)
            assert filled.null_count() == 0
            if column.is_categorical:
                assert set(filled) <= set(column.levels)


def test_the_mask_holds_in_fit_transform_too(survey):
    values = survey.observed.copy()
    mask = survey.true_table.states.skipped
    result = imputer().fit_transform(values, skip_mask=mask)
    assert np.array_equal(np.isnan(result), mask)


@pytest.mark.parametrize("form", ["array", "frame"])
def test_rules_mask_and_codes_leave_skips_empty(form, survey):
    blank = make_survey(200, 14, seed=2)
    frame, schema = blank.to_frame(), blank.schema()
    mask = blank.skip_frame()
    skipped = mask.to_numpy()
    given = skipped if form == "array" else mask
    point = imputer(description=schema).fit_transform(frame, skip_mask=given)
    empty = point.select(blank.names).select(pl.all().is_null()).to_numpy()
    assert np.array_equal(empty, skipped)
    kept = imputer(description=schema, rules=blank.rules, gate_policy="keep")
    by_rules = kept.fit_transform(frame)
    empty = by_rules.select(blank.names).select(pl.all().is_null()).to_numpy()
    states = blank.rules.apply(read_survey(frame, schema).table)
    assert np.array_equal(empty, states.skipped)
    assert states.skipped.any()


def test_mined_rules_are_applied_to_new_rows():
    old = make_survey(1200, 12, seed=2, nonresponse=0.02, breakoff=0.0, violations=0.0)
    new = make_survey(
        200, 12, seed=7, questionnaire_seed=2, nonresponse=0.02, breakoff=0.0, violations=0.0
    )
    maker = imputer(description=old.schema(), skips="mine", gate_policy="keep")
    fitted = maker.fit(old.to_frame())
    assert len(fitted.rules_) > 0
    result = fitted.transform(new.to_frame())
    expected = fitted.rules_.apply(read_survey(new.to_frame(), new.schema()).table)
    empty = result.select(new.names).select(pl.all().is_null()).to_numpy()
    assert expected.skipped.any()
    assert np.array_equal(empty, expected.skipped)


def test_mining_with_rules_given_is_refused(survey):
    both = imputer(description=survey.schema(), skips="mine", rules=survey.rules)
    with pytest.raises(InputError, match="skips='mine' cannot be combined with rules"):
        both.fit(survey.to_frame())


def test_skips_is_one_of_two_words():
    with pytest.raises(InputError, match="skips"):
        imputer(skips="guess").fit(np.ones((5, 2)))
