"""Whether the deep baselines learn: against mode and mean, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.diffputer import DiffPuter
from tabsoda.bench.methods.point_estimates import usual_answers
from tabsoda.bench.methods.tabcsdi import TabCSDI, quadratic_schedule
from tabsoda.bench.methods.tabdiff import TabDiff
from tabsoda.bench.methods.tabsoda import TabSODA, TabSODAN, TabSODASkip
from tabsoda.bench.methods.tabsyn import TabSyn
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

_SMALL_NET = {"backbone": {"width": 64}, "training": {"max_steps": 300}}
# Enough for a table in which every column predicts the others almost perfectly.
MODEST = {
    TabSODA: _SMALL_NET,
    DiffPuter: {
        **_SMALL_NET,
        "sampler": {"steps": 12, "chains": 4, "refresh_cycles": 4},
        "em": {"rounds": 1, "min_rounds": 1},
    },
    TabCSDI: {"max_steps": 400, "noise_steps": 15, "samples": 6},
    TabSyn: {"max_steps": 400, "width": 64, "samples": 4},
    TabDiff: {"max_steps": 500, "width": 64, "noise_steps": 12, "samples": 4},
}


def build(method, settings=None):
    # The paper's presets take hours on a CPU.
    options = {"preset": "small"} if method.knows_skips else {"budget": "reduced"}
    return method(settings=settings, device="cpu", **options)


def one_factor_table(n_rows: int = 400) -> tuple[CodedTable, np.ndarray]:
    """Return a table of which one hidden number explains nearly everything, and the truth."""
    generator = np.random.default_rng(5)
    factor = generator.normal(size=n_rows)

    def binned(n_levels: int) -> np.ndarray:
        noisy = factor + 0.05 * generator.normal(size=n_rows)
        return np.searchsorted(np.quantile(noisy, np.arange(1, n_levels) / n_levels), noisy)

    truth = np.column_stack(
        [
            factor + 0.1 * generator.normal(size=n_rows),
            10 - 3 * factor + 0.3 * generator.normal(size=n_rows),
            np.array([2, 0, 1])[binned(3)],
            np.array([1, 3, 0, 2])[binned(4)],
            binned(4),
            binned(5),
        ]
    ).astype(float)
    columns = (
        Column("a", ColumnKind.CONTINUOUS),
        Column("b", ColumnKind.CONTINUOUS),
        Column("c", ColumnKind.NOMINAL, (1, 2, 3)),
        Column("d", ColumnKind.NOMINAL, (1, 2, 3, 4)),
        Column("e", ColumnKind.ORDINAL, (1, 2, 3, 4)),
        Column("f", ColumnKind.ORDINAL, (1, 2, 3, 4, 5)),
    )
    hidden = generator.random(truth.shape) < 0.2
    return CodedTable.from_values(columns, np.where(hidden, np.nan, truth)), truth


def accuracy_and_error(table: CodedTable, truth: np.ndarray, mode: np.ndarray) -> tuple:
    """Return accuracy over categories and standardised RMSE over numbers, of missing cells."""
    missing = table.states.missing
    right, squared = [], []
    for position, column in enumerate(table.columns):
        here = missing[:, position] & np.isfinite(truth[:, position])
        error = mode[here, position] - truth[here, position]
        if column.is_categorical:
            right.append(error == 0)
        else:
            squared.append((error / np.nanstd(truth[:, position])) ** 2)
    return np.concatenate(right).mean(), np.sqrt(np.concatenate(squared).mean())


@pytest.mark.slow
@pytest.mark.parametrize("method", list(MODEST))
def test_learns_what_one_factor_explains(method):
    table, truth = one_factor_table()
    usual = np.broadcast_to(usual_answers(table), table.shape)
    mode_accuracy, mean_error = accuracy_and_error(table, truth, usual)
    estimates = build(method, MODEST[method]).impute(table, 1, SkipView.BLIND)
    accuracy, error = accuracy_and_error(table, truth, estimates.mode)
    assert accuracy > mode_accuracy + 0.15
    assert error < 0.8 * mean_error


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [TabSODA, TabSODAN, TabSODASkip, DiffPuter, TabCSDI, TabSyn, TabDiff]
)
def test_passes_the_check_on_the_embedded_survey(method):
    survey = make_survey(800, n_columns=12, seed=1)
    truth = survey.true_table
    hidden = truth.states.answered & (np.random.default_rng(1).random(truth.shape) < 0.25)
    table = truth.with_states(truth.states.hide(hidden))
    scored = np.where(hidden, truth.values, np.nan)
    usual = np.broadcast_to(usual_answers(table), table.shape)
    mode_accuracy, mean_error = accuracy_and_error(table, scored, usual)
    estimates = build(method).impute(table, 1, SkipView.LEVEL)
    accuracy, error = accuracy_and_error(table, scored, estimates.mode)
    assert accuracy > mode_accuracy
    assert error < mean_error


@pytest.mark.slow
def test_diffputer_rounds_lead_to_the_regression_of_gaussian_numbers():
    generator = np.random.default_rng(0)
    x = generator.normal(size=1500)
    y = 0.8 * x + 0.6 * generator.normal(size=1500)
    values = np.column_stack([x, y])
    values[:300, 1] = np.nan
    columns = (Column("x", ColumnKind.CONTINUOUS), Column("y", ColumnKind.CONTINUOUS))
    table = CodedTable.from_values(columns, values)
    settings = {
        "backbone": {"width": 64},
        "sampler": {"steps": 15, "chains": 8, "refresh_cycles": 16},
        # The first round learns from a table filled by means, so its line is too flat.
        "em": {"rounds": 3, "min_rounds": 1},
    }
    found = build(DiffPuter, settings).impute(table, 1, SkipView.BLIND).mode[:300, 1]
    slope = np.polyfit(x[:300], found, 1)[0]
    # Six seeds gave .69 to .81 (mean .75, standard deviation .04) where least squares gives .79.
    assert abs(slope - np.polyfit(x[300:], y[300:], 1)[0]) < 0.15


def test_the_quadratic_schedule_ends_in_noise():
    kept = quadratic_schedule(100, 1e-4, 0.5)
    assert kept[0] == pytest.approx(1 - 1e-4)
    assert kept[-1] == pytest.approx(0.5)
    assert (kept.diff() < 0).all()
    assert kept.cumprod(0)[-1] < 1e-6
