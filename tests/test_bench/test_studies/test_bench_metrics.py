"""Metrics against scikit-learn, scipy and the paper's formulas."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, root_mean_squared_error

from tabsoda.bench.methods.contract import Estimates
from tabsoda.bench.metrics.imputation_metrics import METRICS, columns_of, compare, score_estimates
from tabsoda.bench.metrics.probability_scores import (
    calibration_error,
    log_scores,
    ranked_probability_scores,
    reliability,
)
from tabsoda.bench.tables.replications import paired_difference, summarise
from tabsoda.errors import TabSODAError
from tabsoda.paper.losses import ranked_probability_score
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

COLUMNS = (
    Column("gate", ColumnKind.NOMINAL, (1, 2)),
    Column("nominal", ColumnKind.NOMINAL, (1, 2, 3)),
    Column("ordinal", ColumnKind.ORDINAL, (1, 2, 3, 4, 5)),
    Column("small", ColumnKind.CONTINUOUS),
    Column("large", ColumnKind.CONTINUOUS),
)
GATES = np.array([True, False, False, False, False])


@pytest.fixture
def case():
    generator = np.random.default_rng(4)
    n = 300
    values = np.column_stack(
        [generator.integers(0, column.n_levels or 2, n) for column in COLUMNS]
    ).astype(float)
    values[:, 3] = generator.normal(3, 0.1, n)
    values[:, 4] = generator.normal(-50, 900, n)
    truth = CodedTable.from_values(COLUMNS, values)
    hidden = generator.random(values.shape) < 0.4
    seen = truth.with_states(truth.states.hide(hidden))
    probabilities = {p: generator.dirichlet(np.ones(COLUMNS[p].n_levels), n) for p in range(3)}
    mode = generator.normal(values, [0, 0, 0, 0.1, 900])
    median = mode.copy()
    for position, given_ in probabilities.items():
        mode[:, position] = given_.argmax(axis=1)
    median[:, :2] = mode[:, :2]
    median[:, 2] = (probabilities[2].cumsum(axis=1) < 0.5).sum(axis=1)
    return truth, seen, Estimates(mode, median, probabilities), hidden


def _cells(case, *positions):
    truth, _, estimates, hidden = case
    pick = np.zeros_like(hidden)
    pick[:, list(positions)] = hidden[:, list(positions)]
    return truth.values[pick], estimates.mode[pick], estimates.median[pick]


def test_accuracies_and_mace_equal_sklearn(case):
    scores = score_estimates(*case, GATES)["all"]
    answers, mode, _ = _cells(case, 0, 1, 2)
    assert scores["categorical_accuracy"] == pytest.approx(accuracy_score(answers, mode))
    answers, mode, _ = _cells(case, 0, 1)
    assert scores["nominal_accuracy"] == pytest.approx(accuracy_score(answers, mode))
    assert scores["n_nominal"] == answers.size
    answers, mode, median = _cells(case, 2)
    assert scores["ordinal_accuracy"] == pytest.approx(accuracy_score(answers, mode))
    assert scores["mace"] == pytest.approx(mean_absolute_error(answers, mode))
    assert scores["mace_median"] == pytest.approx(mean_absolute_error(answers, median))
    assert scores["ordinal_accuracy_median"] == pytest.approx(accuracy_score(answers, median))


def test_continuous_errors_are_standardised_by_what_was_seen(case):
    truth, seen, estimates, hidden = case
    scores = score_estimates(*case)["all"]
    answers, guess, _ = _cells(case, 3, 4)
    assert scores["rmse_raw"] == pytest.approx(root_mean_squared_error(answers, guess))
    assert scores["mae_raw"] == pytest.approx(mean_absolute_error(answers, guess))
    center, spread = np.nanmean(seen.values, axis=0), np.nanstd(seen.values, axis=0)
    z_truth, z_guess = ((v - center) / spread for v in (truth.values, estimates.mode))
    pick = hidden & np.array([False, False, False, True, True])
    assert scores["rmse"] == pytest.approx(root_mean_squared_error(z_truth[pick], z_guess[pick]))
    assert scores["mae"] == pytest.approx(mean_absolute_error(z_truth[pick], z_guess[pick]))


def test_gates_are_scored_apart(case):
    scores = score_estimates(*case, GATES)
    answers, mode, _ = _cells(case, 0)
    assert scores["gates"]["nominal_accuracy"] == pytest.approx(accuracy_score(answers, mode))
    answers, mode, _ = _cells(case, 1)
    assert scores["others"]["nominal_accuracy"] == pytest.approx(accuracy_score(answers, mode))
    assert np.isnan(scores["gates"]["rmse"])
    assert scores["gates"]["n_continuous"] == 0
    total = scores["gates"]["n_nominal"] + scores["others"]["n_nominal"]
    assert total == scores["all"]["n_nominal"]


def test_probability_scores_equal_their_references(case):
    truth, _, estimates, hidden = case
    scores = score_estimates(*case)["all"]
    rows = hidden[:, 2]
    levels = truth.values[rows, 2].astype(int)
    given_ = estimates.probabilities[2][rows]
    logs = [
        log_loss(
            truth.values[hidden[:, p], p],
            estimates.probabilities[p][hidden[:, p]],
            labels=range(COLUMNS[p].n_levels),
        )
        * hidden[:, p].sum()
        for p in range(3)
    ]
    assert scores["log_score"] == pytest.approx(sum(logs) / hidden[:, :3].sum())
    reference = ranked_probability_score(
        torch.tensor(given_)[:, None], torch.tensor(levels)[:, None], torch.tensor([5])
    )
    np.testing.assert_allclose(ranked_probability_scores(given_, levels), reference[:, 0])
    assert scores["rps"] == pytest.approx(float(reference.mean()))
    assert scores["n_probabilities"] == hidden[:, :3].sum()


def test_nothing_scored_is_nan_with_a_count(case):
    truth, seen, estimates, hidden = case
    none = score_estimates(truth, seen, estimates, np.zeros_like(hidden))["all"]
    assert all(np.isnan(none[name]) for name in METRICS)
    assert none["n_continuous"] == none["n_nominal"] == none["n_ordinal"] == 0
    without = Estimates(estimates.mode, estimates.median, {})
    bare = score_estimates(truth, seen, without, hidden)["all"]
    assert np.isnan(bare["rps"])
    assert bare["n_probabilities"] == 0


def test_columns_add_up(case):
    truth, seen, estimates, hidden = case
    rows = columns_of(compare(truth, seen, estimates, hidden))
    scores = score_estimates(*case)["all"]
    nominal = [row for row in rows if row["kind"] == "nominal"]
    share = sum(r["cells"] * r["nominal_accuracy"] for r in nominal) / scores["n_nominal"]
    assert share == pytest.approx(scores["nominal_accuracy"])
    squares = sum(r["cells"] * r["rmse"] ** 2 for r in rows if r["kind"] == "continuous")
    assert squares / scores["n_continuous"] == pytest.approx(scores["rmse"] ** 2)


def test_a_constant_training_column_is_not_divided_by_zero():
    truth = CodedTable.from_values(COLUMNS[3:4], np.array([[2.0], [2.0], [5.0]]))
    hidden = np.array([[False], [False], [True]])
    seen = truth.with_states(truth.states.hide(hidden))
    guess = Estimates(np.full((3, 1), 2.0), np.full((3, 1), 2.0), {})
    assert score_estimates(truth, seen, guess, hidden)["all"]["rmse"] == 3.0


@pytest.mark.parametrize(("position", "bad"), [(3, np.nan), (1, 3.0), (2, -1.0), (2, 0.5)])
@pytest.mark.parametrize("decode", ["mode", "median"])
def test_estimates_that_are_not_answers_are_refused(case, position, bad, decode):
    truth, seen, estimates, hidden = case
    values = {"mode": estimates.mode.copy(), "median": estimates.median.copy()}
    values[decode][hidden[:, position], position] = bad
    with pytest.raises(TabSODAError, match=COLUMNS[position].name):
        score_estimates(truth, seen, Estimates(**values, probabilities={}), hidden)


def test_log_scores_are_bounded():
    assert log_scores(np.array([[1.0, 0.0]]), np.array([1]))[0] == pytest.approx(-np.log(1e-6))


def test_calibration():
    generator = np.random.default_rng(0)
    confidence = generator.uniform(0.4, 1.0, 40000)
    honest = generator.random(40000) < confidence
    assert calibration_error(reliability(confidence, honest)) < 0.02
    boasting = generator.random(40000) < confidence - 0.3
    bins = reliability(confidence, boasting)
    assert calibration_error(bins) == pytest.approx(0.3, abs=0.02)
    assert sum(one["cells"] for one in bins) == 40000
    assert reliability(np.array([1.0]), np.array([True])) == [
        {"cells": 1, "confidence": 1.0, "accuracy": 1.0}
    ]


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=20), st.floats(-1, 1))
@settings(deadline=None, max_examples=50)
def test_summaries_and_paired_differences_equal_scipy(values, shift):
    generator = np.random.default_rng(0)
    theirs = np.array(values) + shift + generator.normal(size=len(values))
    summary = summarise(values)
    assert summary.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert summary.sd == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert summary.se == pytest.approx(stats.sem(values), abs=1e-12)
    expected = stats.ttest_rel(values, theirs).confidence_interval(0.9)
    difference = paired_difference(values, theirs, 0.9)
    assert difference.low == pytest.approx(expected.low)
    assert difference.high == pytest.approx(expected.high)


def test_replications_that_scored_nothing_are_counted_out():
    nan = float("nan")
    summary = summarise([1.0, nan, 3.0])
    assert (summary.mean, summary.n, summary.of) == (2.0, 2, 3)
    assert summarise([nan]).n == 0
    assert np.isnan(summarise([nan]).mean)
    assert np.isnan(summarise([1.0]).sd)
    pair = paired_difference([1.0, nan, 3.0], [0.5, 1.0, nan])
    assert (pair.n, pair.mean) == (1, 0.5)
    assert not pair.is_clear
