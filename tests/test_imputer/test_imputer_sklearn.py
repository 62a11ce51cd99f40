"""The estimator as scikit-learn meets it."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tabsoda import InputError, TabSODAImputer, read_survey
from tabsoda.datasets.synthetic_survey import make_survey


# No check is expected to fail; one that does would have to be named here with its reason.
@parametrize_with_checks([TabSODAImputer(quality="tiny")], expected_failed_checks=lambda _: {})
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(name="X")
def array():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 3))
    values[::6, 1] = np.nan
    return values


def test_parameters_are_kept_as_given_and_cloned(X):
    settings = {"em": {"rounds": 2}}
    imputer = TabSODAImputer(preset="nsduh", settings=settings, n_imputations=3, random_state=7)
    copy = clone(imputer)
    assert copy.get_params() == imputer.get_params()
    assert copy.get_params()["settings"] == settings
    assert copy.set_params(preset="path", device="cpu").preset == "path"
    fitted = TabSODAImputer(quality="tiny").fit(X)
    assert not hasattr(clone(fitted), "engine_")


def test_the_resolved_settings_are_kept(X):
    changes = {"training": {"max_steps": 4}}
    fitted = TabSODAImputer(quality="tiny", settings=changes).fit(X)
    assert fitted.settings_["trees"]["effort"] == "quick"
    assert fitted.settings_["training"]["max_steps"] == 4
    assert json.loads(json.dumps(fitted.settings_)) == fitted.settings_


def test_feature_names(X):
    fitted = TabSODAImputer(quality="tiny").fit(X)
    assert fitted.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert fitted.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="length"):
        fitted.get_feature_names_out(["a"])
    named = TabSODAImputer(quality="tiny").fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert named.get_feature_names_out().tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature_names_in_"):
        named.get_feature_names_out(["c", "b", "a"])


@pytest.mark.parametrize("wanted", ["pandas", "polars"])
@pytest.mark.parametrize("given", ["array", "pandas", "polars"])
def test_set_output(wanted, given, X):
    names = ["a", "b", "c"]
    table = {
        "array": X,
        "pandas": pd.DataFrame(X, columns=names, index=np.arange(60) + 100),
        "polars": pl.DataFrame(X, schema=names),
    }[given]
    result = TabSODAImputer(quality="tiny").set_output(transform=wanted).fit_transform(table)
    assert isinstance(result, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[wanted])
    assert list(result.columns) == (["x0", "x1", "x2"] if given == "array" else names)
    assert not np.isnan(result.to_numpy()).any()
    assert np.array_equal(result.to_numpy()[~np.isnan(X)], X[~np.isnan(X)])
    if (given, wanted) == ("pandas", "pandas"):
        assert result.index.tolist() == table.index.tolist()


MIXED = ["mood", "moved", "age", "town"]


@pytest.fixture
def mixed():
    """Return one table with types that get lost easily, as pandas and as polars."""
    rng = np.random.default_rng(0)
    content = {
        "mood": rng.choice(["good", "fair", "bad"], 60).tolist(),
        "moved": rng.choice([True, False], 60).tolist(),
        "age": rng.integers(18, 90, 60).tolist(),
        "town": rng.choice(["ulm", "bonn"], 60).tolist(),
    }
    for position, name in enumerate(content):
        content[name][position::7] = [None] * len(content[name][position::7])
    order = ["bad", "fair", "good"]
    pandas = pd.DataFrame(
        {
            "mood": pd.Categorical(content["mood"], categories=order, ordered=True),
            "moved": pd.array(content["moved"], dtype="boolean"),
            "age": pd.array(content["age"], dtype="Int16"),
            "town": pd.array(content["town"], dtype="string"),
        },
        index=np.arange(60) + 100,
    )
    types = (pl.Enum(order), pl.Boolean, pl.Int16, pl.String)
    polars = pl.DataFrame(content, schema=dict(zip(content, types, strict=True)))
    return {"pandas": pandas, "polars": polars}


@pytest.mark.parametrize("wanted", ["pandas", "polars"])
@pytest.mark.parametrize("given", ["pandas", "polars", "pyarrow"])
def test_set_output_keeps_types(given, wanted, mixed):
    table = mixed["polars"].to_arrow() if given == "pyarrow" else mixed[given]
    fitted = TabSODAImputer(quality="tiny").fit(table)
    plain = fitted.transform(table)
    result = fitted.set_output(transform=wanted).transform(table)
    if wanted == "polars":
        assert result.schema == mixed[wanted].schema
        rows = result.rows()
    else:
        assert result.dtypes.to_dict() == mixed[wanted].dtypes.to_dict()
        rows = list(result.itertuples(index=False, name=None))
    if given == "pandas":
        assert rows == list(plain.itertuples(index=False, name=None))
        if wanted == "pandas":
            assert result.index.equals(table.index)
    else:
        assert rows == pl.DataFrame(plain).rows()


@pytest.mark.parametrize("kind", ["path", "survey"])
def test_names_after_fitting_on_a_file_or_a_survey(kind, mixed, tmp_path):
    frame = mixed["polars"].with_columns(pl.col("mood").cast(pl.String))
    frame.write_parquet(tmp_path / "survey.parquet")
    path = tmp_path / "survey.parquet"
    source = path if kind == "path" else read_survey(path)
    fitted = TabSODAImputer(quality="tiny").fit(np.random.default_rng(0).normal(size=(60, 2)))
    fitted.fit(source)
    assert fitted.get_feature_names_out().tolist() == MIXED
    assert fitted.n_features_in_ == 4
    fitted.save(tmp_path / "model")
    loaded = TabSODAImputer.load(tmp_path / "model", device="cpu")
    for one in (fitted, loaded):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert one.transform(frame).columns == MIXED
        wrapped = one.set_output(transform="pandas").transform(source)
        assert isinstance(wrapped, pd.DataFrame)
        assert wrapped.columns.tolist() == MIXED
    # Names of an earlier fit are forgotten.
    array = np.random.default_rng(0).normal(size=(60, 2))
    assert fitted.set_output(transform="default").fit(array).get_feature_names_out().size == 2


def test_a_loaded_model_of_a_described_array_has_no_names(tmp_path):
    X = np.random.default_rng(0).choice([1.0, 2.0], size=(60, 2))
    levels = [{"name": f"x{i}", "type": "nominal", "levels": [1, 2]} for i in (0, 1)]
    TabSODAImputer(quality="tiny", description=levels).fit(X).save(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TabSODAImputer.load(tmp_path, device="cpu").transform(X)


@pytest.mark.parametrize("skips", ["given", "mine"])
def test_a_clone_of_a_loaded_model_fits_the_same(skips, tmp_path):
    survey = make_survey(200, 12, seed=1)
    options = {"skips": skips, "rules": survey.rules if skips == "given" else None}
    fitted = TabSODAImputer(
        quality="tiny", random_state=5, n_imputations=2, description=survey.schema(), **options
    )
    frame = survey.to_frame()
    fitted.fit(frame).save(tmp_path)
    again = clone(TabSODAImputer.load(tmp_path, device="cpu")).fit(frame)
    assert again.skips == skips
    one, other = fitted.impute(frame), again.impute(frame)
    assert len(other) == 2
    assert np.array_equal(one.cells.draws, other.cells.draws, equal_nan=True)
    assert np.array_equal(one.table.states.states, other.table.states.states)


def test_a_model_saved_over_another_keeps_nothing_of_it(X, tmp_path):
    survey = make_survey(200, 12, seed=1)
    described = TabSODAImputer(quality="tiny", description=survey.schema(), rules=survey.rules)
    described.fit(survey.to_frame()).save(tmp_path)
    TabSODAImputer(quality="tiny").fit(X).save(tmp_path)
    loaded = TabSODAImputer.load(tmp_path, device="cpu")
    assert loaded.schema_ is None
    assert loaded.rules_ is None
    assert loaded.get_feature_names_out().tolist() == ["x0", "x1", "x2"]


def test_in_a_pipeline_and_a_column_transformer(X):
    target = np.nan_to_num(X).sum(axis=1)
    pipeline = make_pipeline(TabSODAImputer(quality="tiny"), StandardScaler(), LinearRegression())
    assert np.isfinite(pipeline.fit(X, target).predict(X)).all()
    pipeline.set_params(tabsodaimputer__random_state=3)
    assert pipeline.named_steps["tabsodaimputer"].random_state == 3
    both = ColumnTransformer([("impute", TabSODAImputer(quality="tiny"), [1, 2])])
    assert not np.isnan(both.fit_transform(X)).any()


def test_new_rows_are_imputed_without_refitting(X):
    fitted = TabSODAImputer(quality="tiny", random_state=1).fit(X)
    before = fitted.engine_.fingerprint()
    new = X[:4] + 1.0
    new[0, 0] = np.nan
    assert not np.isnan(fitted.transform(new)).any()
    assert fitted.engine_.fingerprint() == before


def test_the_number_of_imputations_is_the_parameter_unless_said(X):
    fitted = TabSODAImputer(quality="tiny", n_imputations=3).fit(X)
    assert len(fitted.impute(X)) == 3
    assert len(fitted.impute(X, m=np.int64(1))) == 1


def test_transform_is_the_point_estimate_by_mode():
    survey = make_survey(120, 12, seed=1)
    fitted = TabSODAImputer(quality="tiny", description=survey.schema()).fit(survey.to_frame())
    result = fitted.impute(survey.to_frame(), m=0)
    assert fitted.transform(survey.to_frame()).equals(result.point("mode"))


@pytest.mark.parametrize("kind", ["array", "survey"])
def test_saved_and_loaded(kind, X, tmp_path):
    if kind == "array":
        table, options = X, {}
    else:
        survey = make_survey(200, 12, seed=1)
        table, options = survey.to_frame(), {"description": survey.schema(), "rules": survey.rules}
    fitted = TabSODAImputer(quality="tiny", random_state=5, **options).fit(table)
    fitted.save(tmp_path / "model")
    loaded = TabSODAImputer.load(tmp_path / "model", device="cpu")
    one, other = fitted.impute(table, m=2), loaded.impute(table, m=2)
    assert np.array_equal(one.cells.draws, other.cells.draws, equal_nan=True)
    assert np.array_equal(one.cells.median, other.cells.median, equal_nan=True)
    assert np.array_equal(one.table.states.states, other.table.states.states)
    assert loaded.settings_ == fitted.settings_
    assert loaded.history_ == fitted.history_
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    suffixes = {path.suffix for path in (tmp_path / "model").iterdir()}
    assert suffixes <= {".json", ".safetensors", ".toml"}


def test_a_loaded_model_fitted_again_is_the_same_model(X, tmp_path):
    fitted = TabSODAImputer(quality="tiny", random_state=5).fit(X)
    fitted.save(tmp_path)
    again = TabSODAImputer.load(tmp_path, device="cpu").fit(X)
    assert np.array_equal(fitted.transform(X), again.transform(X))


def test_loading_a_folder_without_a_model(tmp_path):
    with pytest.raises(InputError, match="does not contain a model"):
        TabSODAImputer.load(tmp_path)
