"""Gates, their followers, and the track in which nothing leaks."""

import numpy as np
import pytest

from tabsoda.bench.gates import seen_table
from tabsoda.bench.masking import hide_cells
from tabsoda.datasets import make_survey
from tabsoda.followers import find_followers, unresolved_cells
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

YES_NO = (1, 2)


def _routed(n_rows=600, slips=0):
    """Smoke (gate), an unrelated item, age, brand (skipped by non-smokers), and one for adults."""
    generator = np.random.default_rng(1)
    columns = (
        Column("smokes", ColumnKind.NOMINAL, YES_NO),
        Column("other", ColumnKind.NOMINAL, YES_NO),
        Column("age", ColumnKind.CONTINUOUS),
        Column("brand", ColumnKind.NOMINAL, (1, 2, 3)),
        Column("job", ColumnKind.NOMINAL, YES_NO),
        Column("everybody", ColumnKind.NOMINAL, YES_NO),
    )
    values = generator.integers(0, 2, size=(n_rows, 6)).astype(float)
    values[:, 2] = generator.uniform(10, 80, size=n_rows)
    skipped = np.zeros((n_rows, 6), dtype=bool)
    skipped[:, 3] = values[:, 0] == 1
    skipped[np.flatnonzero(skipped[:, 3])[:slips], 3] = False
    skipped[:, 4] = values[:, 2] < 30
    values[skipped] = np.nan
    return CodedTable.from_values(columns, values, skipped)


@pytest.mark.parametrize("slips", [0, 2])
def test_gates_are_read_off_the_skip_states(slips):
    names = _routed().names
    pairs = np.argwhere(find_followers(_routed(slips=slips)))
    found = {(names[gate], names[follower]) for gate, follower in pairs}
    assert found == {("smokes", "brand"), ("age", "job")}


def test_a_correlate_that_decides_nothing_is_not_a_gate():
    table = _routed()
    values, noisy = table.values.copy(), np.random.default_rng(2).random(table.shape[0]) < 0.8
    values[:, 1] = np.where(noisy, values[:, 0], 1 - values[:, 0])
    followers = find_followers(CodedTable(table.columns, values, table.states))
    assert not followers[1].any()


def test_planted_gates_are_found():
    survey = make_survey(n_rows=3000, seed=1)
    found = find_followers(survey.true_table).any(axis=1)
    gates = {gate for rule in survey.rules for gate in rule.gates}
    planted = np.array([name in gates for name in survey.names])
    assert (found & planted).sum() / planted.sum() > 0.9


def test_followers_of_a_hidden_gate_become_unresolved_and_are_not_scored():
    table = _routed()
    followers = find_followers(table)
    hidden = np.zeros(table.shape, dtype=bool)
    hidden[0:40, 0] = True
    hidden[20:60, 3] = table.states.answered[20:60, 3]
    hidden[5, 5] = True
    seen, scored = seen_table(table, hidden, followers, "unresolved")
    assert seen.states.missing[:40, 3].all()
    assert not scored[:40, 3].any()
    np.testing.assert_array_equal(scored[40:, 3], hidden[40:, 3])
    np.testing.assert_array_equal(scored[:, [0, 5]], hidden[:, [0, 5]])
    # Nothing else changes.
    open_cells = unresolved_cells(hidden, followers)
    assert open_cells.sum() == 40
    rest = ~open_cells & ~hidden
    np.testing.assert_array_equal(seen.states.states[rest], table.states.states[rest])


def test_resolved_is_plain_hiding():
    table = _routed()
    hidden = hide_cells(table, "mcar").mask
    seen, scored = seen_table(table, hidden, find_followers(table), "resolved")
    assert seen.states == table.states.hide(hidden)
    np.testing.assert_array_equal(scored, hidden)


def test_the_unresolved_track_leaks_nothing():
    """The states of followers are the same whatever a hidden gate held."""
    table = _routed()
    followers = find_followers(table)
    hidden = np.zeros(table.shape, dtype=bool)
    hidden[:, 0] = np.arange(table.shape[0]) % 2 == 0
    seen, _ = seen_table(table, hidden, followers, "unresolved")
    states = seen.states.states[hidden[:, 0]]
    answers = table.values[hidden[:, 0], 0]
    for level in (0, 1):
        assert np.unique(states[answers == level, 3]).tolist() == [1]
    resolved, _ = seen_table(table, hidden, followers, "resolved")
    leaked = resolved.states.states[hidden[:, 0], 3]
    assert set(leaked[answers == 1]) == {2}
