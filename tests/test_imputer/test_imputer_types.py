"""Types of columns that say little, or something else than their answers do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from small_imputers import cells, imputer


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
    assert not any(new.endswith(".0") or new == "nan" for new in estimated)


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
