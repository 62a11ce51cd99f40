"""Rules that hold for every method alike: skipped numbers, rounding and clipping."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from tabsoda.bench.methods import boosting, chained_equations, deep_method, diffputer, miss_forest
from tabsoda.bench.methods.column_tensors import ColumnTensors
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.deep_method import DeepMethod
from tabsoda.bench.methods.point_estimates import within_answers
from tabsoda.bench.methods.registry import METHODS, method
from tabsoda.bench.methods.skip_views import skip_constants, skip_flags
from tabsoda.events import EventLog
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
SHALLOW = {
    "mode": {},
    "boosting": {"max_rounds": 3},
    "mice": {"n_draws": 2, "rounds": 1},
    "missforest": {"n_trees": 3, "max_rounds": 1, "n_jobs": 1},
}
_DEEP = {"budget": "reduced", "device": "cpu"}
_ENGINE = {"training": {"max_steps": 3}, "sampler": {"steps": 2, "chains": 1}}
DEEP = {
    "diffputer": {**_DEEP, "settings": {**_ENGINE, "em": {"rounds": 1}}},
    "tabcsdi": {**_DEEP, "settings": {"max_steps": 2, "noise_steps": 2, "samples": 1}},
    "tabsyn": {**_DEEP, "settings": {"max_steps": 2, "noise_steps": 2, "samples": 1}},
    "tabdiff": {**_DEEP, "settings": {"max_steps": 2, "noise_steps": 2, "samples": 1}},
}
# They run programs of others, or read the skip states themselves.
ELSEWHERE = {"r-mice", "gcimpute", "miceforest"}


def table_with_a_skipped_number() -> CodedTable:
    """Return a table whose first column is a number that half of the rows skip."""
    generator = np.random.default_rng(4)
    gate = generator.integers(0, 2, 120).astype(float)
    number = np.where(gate == 1, generator.integers(3, 12, 120), np.nan)
    level = generator.integers(0, 3, 120).astype(float)
    other = generator.normal(size=120)
    skipped = np.zeros((120, 4), dtype=bool)
    skipped[:, 0] = gate == 0
    values = np.column_stack([number, gate, level, other])
    values[generator.random(values.shape) < 0.15] = np.nan
    columns = (
        Column("number", ColumnKind.CONTINUOUS),
        Column("gate", ColumnKind.NOMINAL, (0, 1)),
        Column("level", ColumnKind.ORDINAL, (1, 2, 3)),
        Column("other", ColumnKind.CONTINUOUS),
    )
    return CodedTable.from_values(columns, values, skipped & np.isnan(values[:, [0]]))


TABLE = table_with_a_skipped_number()
CONSTANT = TABLE.values[TABLE.states.answered[:, 0], 0].mean()


def shown_matrix(name: str, monkeypatch) -> np.ndarray:
    """Return what a method is given for the number and its flag; shape (n_rows, 2)."""
    seen = {}

    def spy(module, attribute, keep):
        original = getattr(module, attribute)

        def wrapped(*args, **kwargs):
            result = original(*args, **kwargs)
            seen.setdefault("matrix", keep(result))
            return result

        monkeypatch.setattr(module, attribute, wrapped)

    def of_plain(plain):
        flag = [c.name for c in plain.columns].index("number skipped")
        return plain.values[:, [0, flag]]

    if name == "boosting":
        spy(boosting, "tree_values", lambda matrix: matrix[:, [0, 4]])
    elif name == "diffputer":
        spy(diffputer, "plain_table", of_plain)
    elif name in DEEP:
        spy(deep_method, "plain_table", of_plain)
    else:
        module = chained_equations if name == "mice" else miss_forest
        form = module.PredictorForm.of_table(TABLE)
        filled = np.where(TABLE.states.missing, -99.0, TABLE.values)
        monkeypatch.setattr(
            module.PredictorForm,
            "of_table",
            classmethod(lambda cls, shown: seen.setdefault("form", form)),
        )
        seen["matrix"] = form.block(filled[:, 0], 0)
    method(name, **{**SHALLOW, **DEEP}[name]).impute(TABLE, 1, SkipView.LEVEL)
    if name in ("mice", "missforest"):
        assert seen["form"] is form
    return np.asarray(seen["matrix"], dtype=float)


def test_every_method_of_the_registry_is_covered():
    own = {name for name in METHODS if METHODS[name].load().knows_skips}
    assert set(METHODS) == {*SHALLOW, *DEEP, *ELSEWHERE, *own}


@pytest.mark.parametrize("name", [n for n in (*SHALLOW, *DEEP) if n != "mode"])
def test_a_skipped_number_is_the_same_constant_and_flag_for_all(name, monkeypatch):
    matrix = shown_matrix(name, monkeypatch)
    skipped, answered = TABLE.states.skipped[:, 0], TABLE.states.answered[:, 0]
    assert skipped.any()
    assert np.allclose(matrix[skipped, 0], CONSTANT)
    assert np.array_equal(matrix[answered, 0], TABLE.values[answered, 0])
    assert np.array_equal(matrix[:, 1], skipped.astype(float))


def test_constants_are_means_of_numbers_and_flags_only_where_needed():
    constants = skip_constants(TABLE)
    assert constants[0] == pytest.approx(CONSTANT)
    assert np.isnan(constants[[1, 2]]).all()
    assert skip_flags(TABLE).tolist() == [0]


def numbers_beyond(table: CodedTable, positions: list[int]) -> np.ndarray:
    """Return estimates that are fractional, and in the first two rows far outside the answers."""
    values = np.full((table.shape[0], len(positions)), 5.25)
    values[0], values[1] = -1e3, 1e3
    return values


@pytest.mark.parametrize("name", ["tabcsdi", "tabsyn", "tabdiff"])
def test_deep_estimates_are_not_rounded_but_clipped(name, monkeypatch):
    table = _missing_everywhere()

    def predict(self: DeepMethod, data: ColumnTensors, seed: int):
        numbers = torch.empty(data.n_rows, data.numbers.shape[1], dtype=torch.float64)
        numbers[:] = torch.from_numpy(numbers_beyond(table, [0])[data.order])
        probabilities = data.level_valid.double().expand(data.n_rows, -1, -1)
        return deep_method.Prediction(numbers, probabilities)

    built = method(name, **DEEP[name])
    monkeypatch.setattr(type(built), "predict", predict)
    _assert_rule(table, built.impute(table, 1, SkipView.BLIND))


def test_diffputer_estimates_are_not_rounded_but_clipped(monkeypatch):
    table = _missing_everywhere()
    monkeypatch.setattr(diffputer, "_run_chains", _run_chains_beyond)
    _assert_rule(table, method("diffputer", **DEEP["diffputer"]).impute(table, 1, SkipView.BLIND))


def _run_chains_beyond(engine, data):
    """Return coordinates that decode to -1000, 1000 and 5.25."""
    codec = engine.model.codec
    coder = codec.continuous
    n_rows = data.n_rows
    wanted = numbers_beyond(_missing_everywhere(), [0])
    mean = torch.zeros(n_rows, codec.layout.n_coordinates)
    place = int(codec.layout.continuous_coordinates[0])
    mean[:, place] = torch.from_numpy((wanted[:, 0] - coder.mean[0]) / coder.scale[0])
    counts = np.zeros((n_rows, codec.categorical_columns.size, int(codec.layout.n_levels.max())))
    return np.arange(n_rows), mean, counts


# The engine that needs no preset.
_OWN = "default-engine" if "default-engine" in METHODS else "tabsoda"


@pytest.mark.parametrize("name", [_OWN, "boosting"])
def test_the_others_apply_the_same_function(name, monkeypatch):
    calls = []

    def spy(table, estimates):
        calls.append(table)
        return within_answers(table, estimates)

    module = "tabsoda" if name == _OWN else "point_estimates"
    monkeypatch.setattr(f"tabsoda.bench.methods.{module}.within_answers", spy)
    table = _missing_everywhere()
    if name == _OWN:
        entry = METHODS[name].load()
        settings = {"training": {"max_steps": 3}}
        entry(settings=settings, device="cpu").impute(table, 1, SkipView.LEVEL)
    else:
        method(name, **SHALLOW[name]).impute(table, 1, SkipView.LEVEL)
    assert calls == [table]


def test_the_rule_itself():
    table = _missing_everywhere()
    raw = table.values.copy()
    missing = table.states.missing[:, 0]
    raw[missing, 0] = numbers_beyond(table, [0])[missing, 0]
    estimates = within_answers(table, Estimates(raw, raw, {}))
    _assert_rule(table, estimates)
    assert np.array_equal(estimates.mode[:, 1], raw[:, 1], equal_nan=True)


def test_a_number_without_answers_is_left_as_it_is():
    column = Column("n", ColumnKind.CONTINUOUS)
    table = CodedTable.from_values((column,), np.full((3, 1), np.nan))
    raw = np.array([[1.5], [-7.0], [0.0]])
    assert np.array_equal(within_answers(table, Estimates(raw, raw, {})).median, raw)


def _missing_everywhere() -> CodedTable:
    """Return whole numbers between 2 and 9, missing in the first three rows, and a category."""
    generator = np.random.default_rng(0)
    number = generator.integers(2, 10, 40).astype(float)
    number[:3] = np.nan
    number[3:5] = 2.0, 9.0
    columns = (
        Column("number", ColumnKind.CONTINUOUS),
        Column("level", ColumnKind.NOMINAL, (1, 2)),
    )
    level = np.r_[generator.integers(0, 2, 37), [np.nan] * 3].astype(float)
    return CodedTable.from_values(columns, np.column_stack([number, level]))


def _assert_rule(table: CodedTable, estimates: Estimates) -> None:
    for values in (estimates.mode, estimates.median):
        assert values[:3, 0].tolist() == pytest.approx([2.0, 9.0, 5.25])
        assert np.array_equal(values[3:, 0], table.values[3:, 0])


def test_fills_of_released_code_are_means_of_numbers_and_answers_of_the_column():
    data = ColumnTensors.build(
        dataclasses.replace(TABLE), "standard", torch.device("cpu"), EventLog()
    )
    filled, levels = data.mean_filled(), data.drawn_levels(1)
    for column in range(filled.shape[1]):
        known = data.numbers_known[:, column]
        expected = data.numbers[known, column].mean()
        assert torch.allclose(filled[~known, column], expected, atol=1e-6)
        assert torch.equal(filled[known, column], data.numbers[known, column])
    assert torch.equal(levels[data.levels_known], data.levels[data.levels_known])
    for column in range(levels.shape[1]):
        known = data.levels_known[:, column]
        assert set(levels[~known, column].tolist()) <= set(data.levels[known, column].tolist())
        assert levels[~known, column].unique().numel() > 1
