"""Bad input ends in a clear error or a logged event, never in a silent change."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from small_imputers import imputer

from tabsoda import InputError, Reason, TabSODAError, TabSODAImputer
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.engine import fit
from tabsoda.engine.ensemble import Ensemble
from tabsoda.engine.network.embedding import EmbeddingNetwork
from tabsoda.engine.network.tokens import TokenNetwork
from tabsoda.errors import DeviceError
from tabsoda.paper import engine as paper_engine
from tabsoda.paper import fit as paper_fit
from tabsoda.paper.denoiser import Denoiser

TINY, BEST, SMALL, PATH = (
    pytest.param(options, id=next(iter(options.values())))
    for options in (
        {"quality": "tiny"},
        {"quality": "best"},
        {"preset": "small"},
        {"preset": "path"},
    )
)


@pytest.fixture(name="X")
def array():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 3))
    values[::6, 1] = np.nan
    return values


def logged(fitted, column=None):
    return {e.kind: e.counts for e in fitted.events_ if column in (None, e.column)}


def test_a_constant_column_is_filled_by_its_constant_and_logged(X):
    X[:, 2] = 7.0
    X[::5, 2] = np.nan
    fitted = imputer().fit(X)
    assert logged(fitted, "x2")["constant_column_not_modelled"]["answer"] == "7"
    result = fitted.impute(X, m=2)
    for table in (result.point(), *result):
        assert (table[:, 2] == 7.0).all()
        assert not np.isnan(table).any()


def test_a_table_of_constants_is_filled_and_logged():
    X = np.where(np.arange(60).reshape(30, 2) % 7 == 0, np.nan, 3.0)
    fitted = imputer().fit(X)
    assert "nothing_to_train" in logged(fitted)
    assert (fitted.transform(X) == 3.0).all()
    assert (fitted.impute(X, m=2).complete(2) == 3.0).all()


@pytest.mark.parametrize("skipped", [False, True])
def test_a_column_without_answers_stays_empty_and_is_logged(skipped, X):
    X[:, 2] = np.nan
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, 2] = skipped
    fitted = imputer().fit(X, skip_mask=mask)
    kind = "skipped_column_not_modelled" if skipped else "blank_column_not_modelled"
    assert kind in logged(fitted, "x2")
    result = fitted.impute(X, m=1, skip_mask=mask)
    assert np.isnan(result.point()[:, 2]).all()
    assert not np.isnan(result.complete(1)[:, :2]).any()
    assert result.counts()["x2"] == 0


def test_a_nominal_with_one_level_and_one_that_is_nearly_unique():
    rng = np.random.default_rng(0)
    names = [f"name {i:02d}" for i in range(60)]
    frame = pl.DataFrame(
        {"one": ["yes", None] * 30, "unique": [None, *names[1:]], "x": rng.normal(size=60)}
    )
    description = [
        {"name": "one", "type": "nominal", "levels": ["yes"]},
        {"name": "unique", "type": "nominal", "levels": names},
        {"name": "x", "type": "continuous"},
    ]
    fitted = imputer(description=description).fit(frame)
    assert logged(fitted, "one")["constant_column_not_modelled"]["answer"] == "yes"
    assert "nominal_nearly_unique" in logged(fitted, "unique")
    result = fitted.transform(frame)
    assert set(result["one"]) == {"yes"}
    assert set(result["unique"]) <= set(names)


@pytest.mark.parametrize("shape", [(1, 3), (1, 1)])
def test_one_row_is_too_few(shape):
    with pytest.raises(InputError, match=r"too small to fit a model\. Found: 1 rows"):
        imputer().fit(np.ones(shape))


def test_one_column_is_imputed_from_its_own_distribution():
    values = np.random.default_rng(0).normal(50, 5, size=(200, 1))
    values[::4] = np.nan
    drawn = imputer().fit(values).impute(values, m=20).cells.draws
    assert drawn.shape == (20, 50)
    assert 40 < drawn.mean() < 60


@pytest.mark.parametrize("options", [TINY, BEST, SMALL, PATH])
def test_no_missing_cells_sample_nothing(options, X, monkeypatch):
    X = np.nan_to_num(X)
    fitted = imputer(**options).fit(X)

    def never(*arguments, **options):
        raise AssertionError("sampled a table that is complete")

    for network in (EmbeddingNetwork, TokenNetwork, Denoiser):
        monkeypatch.setattr(network, "forward", never)
    result = fitted.impute(X, m=3)
    assert len(result) == 3
    for table in (result.point(), *result):
        assert np.array_equal(table, X)


@pytest.mark.parametrize(
    ("options", "network", "members"),
    [
        ({"quality": "tiny"}, EmbeddingNetwork, 1),
        ({"quality": "best"}, TokenNetwork, 3),
        ({"preset": "small"}, Denoiser, 1),
    ],
    ids=["tiny", "best", "small"],
)
def test_complete_rows_are_not_sampled(options, network, members, X, monkeypatch):
    fitted = imputer(**options).fit(X)
    sizes = []
    inner = network.forward

    def watched(self, given, *arguments):
        sizes.append(getattr(given, "levels", given).shape[0])
        return inner(self, given, *arguments)

    monkeypatch.setattr(network, "forward", watched)
    fitted.transform(X)
    # One pass of each network.
    assert sizes == [10] * members
    fitted.impute(X, m=2)
    assert set(sizes) == {10}


def test_a_row_with_nothing_observed_gets_an_answer_from_the_marginals():
    survey = make_survey(150, 12, seed=1)
    values = survey.observed.copy()
    values[4] = np.nan
    frame = survey.to_frame()
    empty = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 4).then(None).otherwise(pl.col(n)).alias(n)
        for n in survey.names
    )
    result = imputer(description=survey.schema()).fit(empty).impute(empty, m=2)
    for number in (1, 2):
        row = result.values(number)[4]
        assert not np.isnan(row).any()
        for value, column in zip(row, survey.columns, strict=True):
            assert not column.is_categorical or value in range(column.n_levels)
    assert not np.isnan(result.point_values()[4]).any()
    empty_rows = [e.counts for e in result.events if e.kind == "rows_without_answers"]
    assert [dict(counts) for counts in empty_rows] == [{"rows": 1, "of_rows": 150}]


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinities_are_refused(infinity, X):
    X[3, 0] = infinity
    with pytest.raises(ValueError, match="infinity"):
        imputer().fit(X)
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))):
        with pytest.raises(InputError, match="Column 'a' contains an answer that is not a finite"):
            imputer().fit(frame)
    fitted = imputer().fit(np.nan_to_num(X, posinf=0, neginf=0))
    with pytest.raises(ValueError, match="infinity"):
        fitted.transform(X)


def test_an_unseen_category_is_named():
    frame = pl.DataFrame({"a": ["x", "y", None, "z"] * 15, "b": ["u", "v"] * 30})
    fitted = imputer().fit(frame)
    with pytest.raises(InputError, match=r"Column 'a' .*Found: 'w'"):
        fitted.transform(frame.with_columns(a=pl.lit("w")))


@pytest.mark.parametrize("options", [TINY, BEST, SMALL])
def test_a_number_where_none_was_seen_that_far_out_does_not_break_anything(options, X):
    fitted = imputer(**options).fit(X)
    X[0] = [1e200, np.nan, -1e200]
    result = fitted.impute(X[:1], m=2)
    for table in (result.point(), *result):
        assert np.isfinite(table[0, 1])
        if "quality" in options:
            assert np.nanmin(X[:, 1]) <= table[0, 1] <= np.nanmax(X[:, 1])
        assert table[0, [0, 2]].tolist() == [1e200, -1e200]
    assert clipped(result) == {"x0": 1, "x2": 1}


RANKS = {"encoding": {"continuous": "normal_score"}, "temperature": {"held_out_share": 0}}


@pytest.mark.parametrize(
    ("preset", "changes"),
    [(None, {"training": {"held_out_share": 0}}), ("small", RANKS)],
    ids=["tiny", "small"],
)
def test_answers_beyond_the_ranks_that_were_fitted_are_logged(preset, changes, X):
    fitted = imputer(changes, preset=preset).fit(X)
    assert clipped(fitted.impute(X, m=0)) == {}
    X[:2, 0] = X[:, 0].max() + 1, X[:, 0].min() - 1
    assert clipped(fitted.impute(X, m=0)) == {"x0": 2}


def clipped(result):
    events = [e for e in result.events if e.kind == "answers_clipped_for_network"]
    return {e.column: e.counts["answers"] for e in events}


def test_a_mask_that_disagrees_with_the_data(X):
    with pytest.raises(InputError, match="'x0' is answered in a cell that the skip mask marks"):
        imputer().fit(X, skip_mask=np.ones(X.shape, dtype=bool))
    for mask in (np.zeros(60, dtype=bool), np.zeros((60, 2), dtype=bool)):
        with pytest.raises(InputError, match="not have the shape"):
            imputer().fit(X, skip_mask=mask)
    with pytest.raises(InputError, match="values other than true and false"):
        imputer().fit(X, skip_mask=np.full(X.shape, 0.5))


@pytest.mark.parametrize("device", ["cuda:7", "banana", "cuda", "mps"])
def test_a_device_that_is_not_there(device, X):
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("this machine has a device of its own")
    with pytest.raises(DeviceError, match=device):
        imputer(device=device).fit(X)


@pytest.mark.parametrize("options", [TINY, BEST, SMALL, PATH])
@pytest.mark.parametrize("steps", [1, 8])
def test_training_that_diverges_is_an_error_with_advice(options, steps, X):
    epoch = "min_epoch_steps" if "preset" in options else "epoch_steps"
    training = {"learning_rate": 1e30, "max_steps": steps, epoch: 1}
    with pytest.raises(TabSODAError, match=r"Lower training\.learning_rate \(now 1e\+30\)"):
        imputer({"training": training}, **options).fit_transform(X)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 TiB"),
        MemoryError("Unable to allocate 9 TiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 TiB"),
    ],
    ids=["device", "numpy", "torch on the CPU"],
)
@pytest.mark.parametrize(
    ("preset", "part", "method"),
    [(None, Ensemble, "answers"), ("small", paper_engine.Sampler, "expect")],
    ids=["tiny", "small"],
)
def test_too_little_memory_is_an_error_with_advice(preset, part, method, error, X, monkeypatch):
    def full(*arguments, **options):
        raise error

    fitted = imputer(preset=preset).fit(X)
    monkeypatch.setattr(part, method, full)
    advice = r"too little memory\. Found: .*9 TiB\. Lower training\.batch_size"
    with pytest.raises(DeviceError, match=advice):
        fitted.transform(X)
    monkeypatch.setattr(fit.Network, "fit", full)
    monkeypatch.setattr(paper_fit, "run_em", full)
    with pytest.raises(DeviceError, match=advice):
        imputer(preset=preset).fit(X)


def test_other_runtime_errors_are_not_called_memory(X, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(fit.Network, "fit", broken)
    with pytest.raises(RuntimeError, match="mat1"):
        imputer().fit(X)


def test_too_few_answers_to_hold_any_out_is_logged():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [np.nan, np.nan]])
    fitted = imputer().fit(X)
    assert "training_loss_watched" in logged(fitted)
    assert fitted.history_[0]["loss"] > 0


@pytest.mark.parametrize("m", [-1, 1.5, "two"])
def test_a_number_of_imputations_that_is_none(m, X):
    with pytest.raises(InputError, match="number of imputations"):
        imputer().fit(X).impute(X, m=m)


def test_no_draws_are_allowed(X):
    result = imputer().fit(X).impute(X, m=0)
    assert len(result) == 0
    assert list(result) == []
    assert not np.isnan(result.point()).any()
    with pytest.raises(InputError, match="imputation does not exist"):
        result.complete(1)


def test_another_number_of_columns_at_transform(X):
    fitted = imputer().fit(X)
    with pytest.raises(ValueError, match="2 features, but TabSODAImputer is expecting 3"):
        fitted.transform(X[:, :2])


@pytest.mark.parametrize("seed", [None, "one", 1.5, True, np.random.RandomState(0)])
def test_a_seed_that_is_not_a_number(seed, X):
    with pytest.raises(InputError, match="random_state"):
        TabSODAImputer(quality="tiny", random_state=seed).fit(X)


def test_a_table_without_answers(X):
    with pytest.raises(InputError, match="no answered cell"):
        imputer().fit(np.full((20, 2), np.nan))


def test_unknown_settings_and_presets(X):
    with pytest.raises(InputError, match="Unknown quality or preset"):
        TabSODAImputer(preset="huge").fit(X)
    with pytest.raises(InputError, match=r"'medium'.*'fast', 'balanced', 'best', 'tiny'"):
        TabSODAImputer(quality="medium").fit(X)
    with pytest.raises(InputError, match=r"'training\.steps'"):
        TabSODAImputer(settings={"training": {"steps": 2}}).fit(X)
    with pytest.raises(InputError, match=r"'em\.round'"):
        TabSODAImputer(preset="small", settings={"em": {"round": 2}}).fit(X)


@pytest.mark.parametrize("settings", [{"network": 3}, [1], "fast"])
def test_settings_of_a_wrong_type(settings, X):
    with pytest.raises(InputError, match=r"settings .*invalid. Found: .*Expected: "):
        TabSODAImputer(settings=settings).fit(X)


def test_column_names_of_a_wrong_type(X):
    with pytest.raises(InputError, match="Column 'a' occurs twice in the frame"):
        imputer().fit(pd.DataFrame(X, columns=["a", "b", "a"]))
    with pytest.raises(InputError, match=r"Found: 1 \(int\). Expected: only texts"):
        imputer().fit(pd.DataFrame(X, columns=["a", 1, "b"]))


def test_weights_that_are_texts(X):
    with pytest.raises(InputError, match=r"sample weights are invalid. Found: .*'much'"):
        imputer().fit(X, sample_weight=["much"] * len(X))


def test_rules_are_a_rule_set_or_its_file(X, tmp_path):
    with pytest.raises(InputError, match=r"Found: list. Expected: a RuleSet, or the path"):
        imputer(rules=[]).fit(X)
    with pytest.raises(InputError, match=r"absent.toml"):
        imputer(rules=tmp_path / "absent.toml").fit(X)


@pytest.mark.parametrize("scale", [1e120, -1e155, 1e307])
def test_numbers_too_large_to_square_are_named(scale, X):
    frame = pd.DataFrame(X * [1.0, 1.0, scale], columns=["a", "b", "far"])
    with pytest.raises(InputError, match=r"Column 'far' contains a number that is too .*1e\+100"):
        imputer(quality="fast").fit(frame)


def test_a_file_where_a_folder_should_be(X, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    fitted = imputer().fit(X, checkpoint=str(tmp_path / "rounds"))
    for attempt in (lambda: imputer().fit(X, checkpoint=taken), lambda: fitted.save(taken)):
        with pytest.raises(InputError, match=r"'.*taken' cannot be created. Found: File exists"):
            attempt()
    assert taken.read_text() == "mine"


@pytest.mark.parametrize("lost", ["survey.toml", "rules.toml"])
@pytest.mark.parametrize("listed", [True, False])
def test_a_model_that_lost_a_file_is_not_used(lost, listed, tmp_path):
    """Without its rules it would impute skips, without its description codes would be answers."""
    survey = make_survey(n_rows=120, n_columns=12, seed=1)
    imputer(skips="mine").fit(survey.to_frame()).save(tmp_path)
    assert TabSODAImputer.load(tmp_path).rules_ is not None
    if not listed:
        content = json.loads((tmp_path / "imputer.json").read_text())
        del content["files"]
        (tmp_path / "imputer.json").write_text(json.dumps(content))
    (tmp_path / lost).unlink()
    with pytest.raises(InputError, match=f"is incomplete. Found: no file '{lost}'"):
        TabSODAImputer.load(tmp_path)


def test_refused_answers_are_imputed_and_skip_codes_are_not():
    survey = make_survey(150, 12, seed=3, spelled_out=(Reason.SKIP, Reason.REFUSED))
    frame = survey.to_frame()
    result = imputer(description=survey.schema()).fit_transform(frame)
    states = survey.table.states
    for position, column in enumerate(survey.columns):
        codes = {reason: code for code, reason in column.special_codes.items()}
        if Reason.SKIP in codes:
            kept = (result[column.name] == codes[Reason.SKIP]).fill_null(False).to_numpy()
            assert np.array_equal(kept, states.skipped[:, position])
        if Reason.REFUSED in codes:
            assert codes[Reason.REFUSED] not in set(result[column.name])
