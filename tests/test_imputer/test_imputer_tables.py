"""Every kind of table comes back as it came, with nothing but its missing cells changed."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tabsoda import InputError, Reason, TabSODAImputer, read_survey
from tabsoda.datasets.synthetic_survey import make_survey

TINY = {
    "backbone": {"width": 16},
    "training": {"max_steps": 8, "min_epoch_steps": 4},
    "sampler": {"steps": 3, "chains": 2},
}
DESCRIPTION = [
    {"name": "case", "type": "nominal", "role": "id"},
    {"name": "age", "type": "continuous"},
    {"name": "weight_kg", "type": "continuous"},
    {"name": "mood", "type": "ordinal", "levels": ["bad", "fair", "good"]},
    {"name": "region", "type": "nominal", "levels": [1, 2, 3]},
    {"name": "smokes", "type": "nominal", "levels": [0, 1]},
]


def imputer(changes=None, **options):
    # The paper's network has no trees beside it.
    trees = {} if options.get("preset") else {"experts": {"trees": "quick"}}
    return TabSODAImputer(settings=TINY | trees | (changes or {}), random_state=1, **options)


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


def cells(frame):
    """Return plain lists by column, None where empty, whatever the library."""
    if isinstance(frame, pd.DataFrame):
        return {
            name: [None if pd.isna(value) else value for value in frame[name]] for name in frame
        }
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return {name: frame[name].to_list() for name in frame.columns}


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
    assert event.detail.endswith(f"to between {limits[0]} and {limits[1]}")
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
    assert clipped(result).detail.endswith("to between 0 and 255")
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
    enough = {"training": {"max_steps": 200, "min_epoch_steps": 50, "learning_rate": 0.01}}
    maker = imputer(enough, quality=quality, description=description)
    result = maker.fit(frame).impute(frame, m=5)
    drawn = [v for table in result for v in table["n"].to_list()[5::6]]
    assert set(drawn) == {0, 127}
    # One in five answers is 127, and nothing else tells which.
    assert 0.05 < np.mean(np.array(drawn) == 127) < 0.4
    assert all(0 <= value <= 127 for value in result.point()["n"].to_list())


def clipped(result):
    [event] = [e for e in result.events if e.decision.startswith("imputed numbers clipped")]
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
def test_integers_that_get_broken_numbers_become_floats_and_it_is_told(kind):
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
    [event] = [e for e in result.events if e.decision == "integers become Float64"]
    assert event.column == "n"
    for number, table in enumerate(result, start=1):
        found = cells(table)["n"]
        assert found == result.values(number)[:, 0].tolist()
        assert any(value != round(value) for value in found)


def mixed_frame():
    rng = np.random.default_rng(3)
    taste = rng.normal(size=120)
    frame = pd.DataFrame(
        {
            "x": taste + 0.3 * rng.normal(size=120),
            "pet": np.where(taste > 0, "cat", "dog"),
            "likes": np.clip(np.round(1.2 * taste + 3), 1, 5),
        }
    )
    for position, name in enumerate(frame):
        frame.loc[position::7, name] = None
    return frame


BLANK = {
    "pandas, numbers": lambda rows, name: rows.assign(**{name: np.nan}),
    "pandas, objects": lambda rows, name: rows.assign(**{name: None}),
    "pandas, texts": lambda rows, name: rows.assign(
        **{name: pd.array([None] * len(rows), dtype="string")}
    ),
    "pandas, categories": lambda rows, name: rows.assign(
        **{name: pd.Categorical([None] * len(rows))}
    ),
    "polars": lambda rows, name: pl.from_pandas(rows).with_columns(pl.lit(None).alias(name)),
    "pyarrow": lambda rows, name: (
        pl.from_pandas(rows).with_columns(pl.lit(None).alias(name)).to_arrow()
    ),
}


@pytest.fixture(scope="module")
def mixed_fit():
    return imputer(quality="fast").fit(mixed_frame())


@pytest.mark.parametrize("kind", BLANK)
@pytest.mark.parametrize("name", ["x", "pet", "likes"])
def test_a_column_that_is_blank_throughout_has_no_type_and_is_imputed(kind, name, mixed_fit):
    rows = mixed_frame().iloc[10:20]
    rows.loc[10:12, name] = None
    # A row's imputation depends on the row alone: beside others the column has a type.
    expected = mixed_fit.impute(rows, m=1)
    result = mixed_fit.impute(BLANK[kind](rows[:3], name), m=1)
    for found, wanted in (
        (result.point(), expected.point()),
        (result.complete(1), expected.complete(1)),
    ):
        imputed, given = cells(found)[name], cells(wanted)[name][:3]
        if name != "pet":
            # A column of texts holds its numbers as texts.
            imputed, given = [float(one) for one in imputed], pytest.approx(given, rel=1e-6)
        assert imputed == given


NUMBERS = [None if i % 5 == 0 else str(i * 7 % 37 * 3) for i in range(120)]


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"code": pd.Categorical(NUMBERS)}),
        pd.DataFrame({"code": pd.Categorical([v and int(v) for v in NUMBERS])}),
        pd.DataFrame({"code": pd.Categorical([v and int(v) / 2 for v in NUMBERS])}),
        pl.DataFrame({"code": pl.Series(NUMBERS, dtype=pl.Categorical)}),
        pl.DataFrame({"code": pl.Series(NUMBERS, dtype=pl.Categorical)}).to_arrow(),
    ],
    ids=["texts", "integers", "fractions", "polars", "pyarrow"],
)
def test_categories_without_an_order_are_names_even_where_they_are_numbers(given):
    result = imputer(quality="fast").fit(given).impute(given, m=1)
    before = cells(given)["code"]
    for table in (result.point(), result.complete(1)):
        after = cells(table)["code"]
        assert set(after) == set(before) - {None}
        assert type(table) is type(given)
    assert result.table.columns[0].kind == "nominal"


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"code": pd.Categorical(NUMBERS)}),
        pl.DataFrame({"code": pl.Series(NUMBERS, dtype=pl.Categorical)}),
        pl.DataFrame({"code": pl.Series(NUMBERS, dtype=pl.Enum(sorted({*NUMBERS} - {None})))}),
        pl.DataFrame({"code": NUMBERS}),
    ],
    ids=["pandas", "polars", "enum", "texts"],
)
def test_numbers_held_as_texts_stay_texts_and_whole_ones_have_no_fraction(given):
    numeric = imputer(description=[{"name": "code", "type": "continuous"}], quality="fast")
    result = numeric.fit(given).impute(given, m=1)
    drawn = cells(result.complete(1))["code"]
    assert set(drawn) == set(NUMBERS) - {None}
    estimated = cells(result.point())["code"]
    assert [new for new, old in zip(estimated, NUMBERS, strict=True) if old is not None] == [
        old for old in NUMBERS if old is not None
    ]
    assert all(float(new) == float(new) and not new.endswith(".0") for new in estimated)


def test_integers_of_128_bits():
    given = pl.DataFrame({"a": [None if i % 5 == 0 else 3 * i for i in range(120)]})
    given = given.with_columns(pl.col("a").cast(pl.Int128))
    result = imputer(quality="fast").fit(given).impute(given, m=1).complete(1)["a"]
    assert result.dtype == pl.Int128
    assert result.null_count() == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_what_a_masked_array_masks_is_blank(dtype):
    values = np.round(np.random.default_rng(0).normal(0, 50, size=(60, 3))).astype(dtype)
    masked = np.ma.masked_less(values, -50)
    blank = np.where(masked.mask, np.nan, values).astype(np.result_type(dtype, np.float16))
    np.testing.assert_array_equal(imputer().fit_transform(masked), imputer().fit_transform(blank))


def test_a_described_masked_array_of_texts_and_pandas_na():
    description = [
        {"name": "x0", "type": "continuous"},
        {"name": "x1", "type": "nominal", "levels": ["a", "b"]},
    ]
    values = np.array([[1.0, "a"], [2.0, "b"], [4.0, "a"]] * 20, dtype=object)
    hidden = np.zeros(values.shape, dtype=bool)
    hidden[0, 0] = hidden[4, 1] = True
    with_na = np.where(hidden, pd.NA, values)
    results = [
        imputer(description=description).fit_transform(given)
        for given in (with_na, np.ma.MaskedArray(values, hidden))
    ]
    assert np.array_equal(*results)
    assert np.array_equal(results[0][~hidden], values[~hidden])
    assert results[0][4, 1] in ("a", "b")


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


def test_a_survey_keeps_its_skip_codes_and_columns_that_are_no_questions(survey):
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
    with pytest.raises(InputError, match="skips='mine' looks for rules, but rules are given"):
        both.fit(survey.to_frame())


def test_skips_is_one_of_two_words():
    with pytest.raises(InputError, match="skips"):
        imputer(skips="guess").fit(np.ones((5, 2)))
