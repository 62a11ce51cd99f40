"""What every deep baseline must do, whatever its idea; tiny settings, so that it is quick."""

from __future__ import annotations

import numpy as np
import pytest

from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.diffputer import DiffPuter
from tabsoda.bench.methods.tabcsdi import TabCSDI
from tabsoda.bench.methods.tabdiff import TabDiff
from tabsoda.bench.methods.tabsoda import (
    DefaultEngineMethod,
    DefaultEngineSkip,
    TabSODA,
    TabSODAN,
    TabSODASkip,
)
from tabsoda.bench.methods.tabsyn import TabSyn
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.errors import InputError
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

_PAPER_ENGINE = {
    "backbone": {"width": 16},
    "training": {
        "max_steps": 10,
        "batch_size": 64,
        "min_epoch_steps": 1,
        "calibration_steps": 3,
    },
    "sampler": {"steps": 3, "chains": 2},
}
_DEFAULT_ENGINE = {"network": {"width": 16}, "training": {"max_steps": 10, "batch_size": 64}}
TINY = {
    TabSODA: _PAPER_ENGINE,
    TabSODAN: _PAPER_ENGINE,
    TabSODASkip: _PAPER_ENGINE,
    DefaultEngineMethod: _DEFAULT_ENGINE,
    DefaultEngineSkip: _DEFAULT_ENGINE,
    DiffPuter: _PAPER_ENGINE,
    TabCSDI: {"max_steps": 5, "noise_steps": 3, "samples": 2, "width": 16},
    TabSyn: {
        "max_steps": 5,
        "width": 16,
        "noise_steps": 3,
        "refresh_cycles": 2,
        "samples": 2,
    },
    TabDiff: {"max_steps": 5, "width": 16, "noise_steps": 3, "samples": 2},
}
METHODS = tuple(TINY)
BLIND_METHODS = tuple(method for method in METHODS if not method.knows_skips)


def tiny(method):
    options = {} if method.knows_skips else {"budget": "reduced"}
    return method(settings=TINY[method], device="cpu", **options)


def survey_table(n_rows: int = 120) -> CodedTable:
    table = make_survey(n_rows, n_columns=12, seed=3).true_table
    hidden = table.states.answered & (np.random.default_rng(3).random(table.shape) < 0.2)
    return table.with_states(table.states.hide(hidden))


def same(first: Estimates, second: Estimates) -> bool:
    return (
        np.array_equal(first.mode, second.mode, equal_nan=True)
        and np.array_equal(first.median, second.median, equal_nan=True)
        and first.probabilities.keys() == second.probabilities.keys()
        and all(np.array_equal(first.probabilities[k], p) for k, p in second.probabilities.items())
    )


@pytest.mark.parametrize("view", list(SkipView))
@pytest.mark.parametrize("method", METHODS)
def test_fills_missing_cells_within_the_domain_and_keeps_answers(method, view):
    table = survey_table()
    estimates = tiny(method).impute(table, 1, view)
    missing, answered = table.states.missing, table.states.answered
    for values in (estimates.mode, estimates.median):
        assert values.shape == table.shape
        assert np.isfinite(values[missing]).all()
        assert np.array_equal(values[answered], table.values[answered])
        for position, column in enumerate(table.columns):
            if column.is_categorical:
                found = values[missing[:, position], position]
                assert np.isin(found, np.arange(column.n_levels)).all()
    assert estimates.probabilities
    for position, probabilities in estimates.probabilities.items():
        n_levels = table.columns[position].n_levels
        assert probabilities.shape == (table.shape[0], n_levels)
        rows = missing[:, position]
        assert np.allclose(probabilities[rows].sum(axis=1), 1, atol=1e-5)
        assert (probabilities[rows] >= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_determines_the_result_and_another_changes_it(method):
    table = survey_table()
    first = tiny(method).impute(table, 1, SkipView.LEVEL)
    assert same(first, tiny(method).impute(table, 1, SkipView.LEVEL))
    assert not same(first, tiny(method).impute(table, 2, SkipView.LEVEL))


@pytest.mark.parametrize("method", METHODS)
def test_what_stands_in_unanswered_cells_is_not_read(method):
    table = survey_table(80)
    clean = tiny(method).impute(table, 1, SkipView.LEVEL)
    garbage = table.values.copy()
    unanswered = ~table.states.answered
    garbage[unanswered] = 1e6
    dirty = CodedTable(table.columns, table.values.copy(), table.states)
    # Past the constructor, which would clean it.
    object.__setattr__(dirty, "values", garbage)
    assert same(clean, tiny(method).impute(dirty, 1, SkipView.LEVEL))


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_does_not_matter(method):
    table = survey_table(80)
    order = np.random.default_rng(0).permutation(table.shape[0])
    straight = tiny(method).impute(table, 1, SkipView.LEVEL)
    shuffled = tiny(method).impute(table.rows(order), 1, SkipView.LEVEL)
    assert np.allclose(straight.mode[order], shuffled.mode, rtol=1e-4, equal_nan=True)


@pytest.mark.parametrize("method", BLIND_METHODS)
def test_skips_as_a_level_are_seen_and_as_blanks_are_not(method):
    table = survey_table(80)
    blank = table.with_states(table.states.with_skips(np.zeros(table.shape, dtype=bool)))
    blind = tiny(method).impute(table, 1, SkipView.BLIND)
    informed = tiny(method).impute(table, 1, SkipView.LEVEL)
    unaware = tiny(method).impute(blank, 1, SkipView.BLIND)
    missing = table.states.missing
    assert np.array_equal(blind.mode[missing], unaware.mode[missing])
    assert not np.array_equal(blind.mode[missing], informed.mode[missing])


@pytest.mark.parametrize("kind", ["numbers", "categories", "nothing to learn"])
@pytest.mark.parametrize("method", METHODS)
def test_tables_of_one_kind_and_columns_without_answers(method, kind):
    generator = np.random.default_rng(0)
    if kind == "categories":
        columns = [Column(f"c{j}", ColumnKind.NOMINAL, (1, 2, 3)) for j in range(4)]
        values = generator.integers(3, size=(60, 4)).astype(float)
    else:
        columns = [Column(f"x{j}", ColumnKind.CONTINUOUS) for j in range(4)]
        values = generator.normal(size=(60, 4)) if kind == "numbers" else np.ones((60, 4))
    values[:20, 1] = np.nan
    values[:, 3] = np.nan
    table = CodedTable.from_values(tuple(columns), values)
    estimates = tiny(method).impute(table, 1, SkipView.BLIND)
    assert np.isfinite(estimates.mode).all()
    if kind == "nothing to learn":
        assert (estimates.mode[:20, 1] == 1).all()


@pytest.mark.parametrize("method", BLIND_METHODS)
def test_unknown_settings_are_named(method):
    with pytest.raises(InputError, match="budget"):
        method(budget="enormous")
    with pytest.raises(InputError, match="no_such"):
        method(settings={"no_such": {}})


def test_a_mined_mask_given_beforehand_is_used_and_must_fit():
    table = survey_table()
    nothing = np.zeros(table.shape, dtype=bool)
    shown = TabSODASkip(mined=nothing).shown(table)
    assert not shown.states.skipped.any()
    everything = TabSODASkip(mined=~nothing).shown(table)
    assert np.array_equal(everything.states.skipped, ~table.states.answered)
    with pytest.raises(InputError, match="not have the shape"):
        TabSODASkip(mined=nothing[:5]).impute(table, 1, SkipView.BLIND)
