"""Hiding cells: rates, drivers, and what a mask may depend on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from tabsoda.bench.masking import (
    Mechanism,
    choose_drivers,
    hide_cells,
    hiding_chance,
    rank_scores,
)
from tabsoda.datasets import make_survey
from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

MECHANISMS = list(Mechanism)


@pytest.fixture(scope="module")
def table():
    return make_survey(n_rows=4000, n_columns=30, seed=3).true_table


def _shuffled(table, position, seed=0):
    """Return the table with the answers of one column permuted."""
    values = table.values.copy()
    rows = np.flatnonzero(table.states.answered[:, position])
    values[rows, position] = np.random.default_rng(seed).permutation(values[rows, position])
    return CodedTable(table.columns, values, table.states)


@pytest.mark.parametrize("rate", [0.1, 0.3])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_realised_rates(table, mechanism, rate):
    hidden = hide_cells(table, mechanism, replication=1, seed=5, rate=rate)
    answered = table.states.answered
    targets = np.setdiff1d(np.arange(30), hidden.drivers)
    overall = hidden.mask[:, targets].sum() / answered[:, targets].sum()
    assert overall == pytest.approx(rate, abs=0.01)
    for target in targets:
        n = answered[:, target].sum()
        if n >= 500:
            share = hidden.mask[:, target].sum() / n
            assert share == pytest.approx(rate, abs=4.5 * np.sqrt(rate * (1 - rate) / n))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_only_answered_cells_of_targets_are_hidden(table, mechanism):
    hidden = hide_cells(table, mechanism, replication=2, seed=5)
    assert hidden.drivers.size == 9
    assert not hidden.mask[:, hidden.drivers].any()
    assert not (hidden.mask & ~table.states.answered).any()
    assert hidden.mask.any()


def test_the_mechanisms_share_drivers_and_replications_do_not(table):
    drivers = [hide_cells(table, m, replication=4, seed=1).drivers.tolist() for m in MECHANISMS]
    assert drivers[0] == drivers[1] == drivers[2]
    others = {tuple(choose_drivers(30, replication=r, seed=1)) for r in range(20)}
    assert len(others) > 15


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_seed_and_the_replication_decide(table, mechanism):
    first = hide_cells(table, mechanism, replication=0, seed=1).mask
    np.testing.assert_array_equal(first, hide_cells(table, mechanism, replication=0, seed=1).mask)
    assert (first != hide_cells(table, mechanism, replication=1, seed=1).mask).any()
    assert (first != hide_cells(table, mechanism, replication=0, seed=2).mask).any()


def test_the_mechanisms_share_their_luck(table):
    """Cells hidden by luck alone are mostly hidden by the others too: they are paired."""
    masks = {m: hide_cells(table, m, replication=0, seed=1).mask for m in MECHANISMS}
    both = (masks[Mechanism.MCAR] & masks[Mechanism.MAR]).sum()
    assert both / masks[Mechanism.MCAR].sum() > 0.5


def test_mar_masks_do_not_depend_on_targets(table):
    before = hide_cells(table, "mar", replication=3, seed=1)
    targets = np.setdiff1d(np.arange(30), before.drivers)
    changed = table
    for target in targets:
        changed = _shuffled(changed, target)
    np.testing.assert_array_equal(
        before.mask, hide_cells(changed, "mar", replication=3, seed=1).mask
    )


def test_mar_masks_depend_on_drivers(table):
    before = hide_cells(table, "mar", replication=3, seed=1)
    changed = table
    for driver in before.drivers:
        changed = _shuffled(changed, driver)
    assert (before.mask != hide_cells(changed, "mar", replication=3, seed=1).mask).any()


def test_mnar_masks_depend_on_the_hidden_answer_itself(table):
    before = hide_cells(table, "mnar", replication=3, seed=1)
    targets = np.setdiff1d(np.arange(30), before.drivers)
    target = max(targets, key=lambda t: table.states.answered[:, t].sum())
    changed = hide_cells(_shuffled(table, target), "mnar", replication=3, seed=1).mask
    assert (before.mask[:, target] != changed[:, target]).any()
    others = np.delete(np.arange(30), target)
    np.testing.assert_array_equal(before.mask[:, others], changed[:, others])


def test_mcar_is_unrelated_to_the_drivers_and_mar_is_not():
    generator = np.random.default_rng(0)
    columns = tuple(Column(f"x{i}", ColumnKind.CONTINUOUS) for i in range(4))
    table = CodedTable.from_values(columns, generator.normal(size=(20000, 4)))

    def largest(mechanism):
        hidden = hide_cells(table, mechanism, replication=0, seed=0)
        driver = rank_scores(table)[:, hidden.drivers[0]]
        targets = np.setdiff1d(np.arange(4), hidden.drivers)
        return max(abs(np.corrcoef(driver, hidden.mask[:, t])[0, 1]) for t in targets)

    assert largest("mcar") < 0.03
    # Logits of variance 1 around a rate of 0.3: the correlation is about 0.4.
    assert largest("mar") > 0.3


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40),
    st.floats(0.02, 0.98),
)
@settings(deadline=None, max_examples=60)
def test_the_intercept_meets_the_rate_exactly(logits, rate):
    chance = hiding_chance(np.array(logits), rate)
    assert chance.mean() == pytest.approx(rate, abs=1e-6)
    assert ((chance >= 0) & (chance <= 1)).all()


def test_logits_are_rescaled_to_unit_variance():
    logits = np.random.default_rng(1).normal(scale=7.0, size=500)
    chance = hiding_chance(logits, 0.3)
    implied = np.log(chance / (1 - chance))
    assert implied.std() == pytest.approx(1.0)
    np.testing.assert_allclose(chance, expit(implied))
    assert np.argsort(chance).tolist() == np.argsort(logits).tolist()


def test_scores_are_ranks():
    columns = (
        Column("number", ColumnKind.CONTINUOUS),
        Column("level", ColumnKind.ORDINAL, (1, 2, 3, 4)),
        Column("constant", ColumnKind.NOMINAL, ("only",)),
        Column("empty", ColumnKind.CONTINUOUS),
    )
    nan = np.nan
    values = np.array(
        [[5, 2, 0, nan], [1, 2, 0, nan], [5, 3, 0, nan], [9, 0, 0, nan], [nan, 2, 0, nan]]
    )
    scores = rank_scores(CodedTable.from_values(columns, values))
    np.testing.assert_allclose(scores[:, 0], [0.75, 0.25, 0.75, 1.0, 0.0])
    # Level 2 is the most frequent (0), then 0 and 3 in their order, then the unused 1.
    np.testing.assert_allclose(scores[:, 1], [0, 0, 2 / 3, 1 / 3, 0])
    assert not scores[:, 2:].any()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_degenerate_columns(mechanism):
    columns = tuple(Column(f"x{i}", ColumnKind.NOMINAL, (1, 2)) for i in range(6))
    values = np.ones((5, 6))
    values[:, 1] = np.nan
    values[1:, 2] = np.nan
    table = CodedTable.from_values(columns, values)
    for replication in range(8):
        hidden = hide_cells(table, mechanism, replication=replication, seed=0, rate=0.9)
        left = table.states.answered & ~hidden.mask
        # Every column that had an answer keeps one.
        np.testing.assert_array_equal(left.any(axis=0), table.states.answered.any(axis=0))


def test_bad_requests(table):
    with pytest.raises(InputError, match="share of cells to hide"):
        hide_cells(table, "mcar", rate=1.0)
    with pytest.raises(InputError, match="Too few columns to hide"):
        hide_cells(table.select(table.names[:1]), "mcar")
