"""Which gates leave their followers unresolved, read off tables made for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.bench.gates import seen_table
from tabsoda.datasets import make_survey
from tabsoda.followers import find_followers, unresolved_cells, unresolved_followers
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

COLUMNS = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abcde")
# Two gates of one follower each, and a last question that nobody skips.
FOLLOWERS = np.zeros((5, 5), dtype=bool)
FOLLOWERS[0, 1] = FOLLOWERS[2, 3] = True


def routed(n_rows=400, seed=0):
    values = np.random.default_rng(seed).integers(0, 2, (n_rows, 5)).astype(float)
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 1], skipped[:, 3] = values[:, 0] == 1, values[:, 2] == 1
    return CodedTable.from_values(COLUMNS, np.where(skipped, np.nan, values), skipped)


def hidden_gates(table, share=0.3, seed=1):
    hidden = np.random.default_rng(seed).random(table.shape) < share
    hidden[:, [1, 3, 4]] = False
    return hidden


def test_hidden_gates_with_known_followers_are_resolved():
    table = routed()
    hidden = hidden_gates(table)
    resolved, _ = seen_table(table, hidden, FOLLOWERS, "resolved")
    unresolved, _ = seen_table(table, hidden, FOLLOWERS, "unresolved")
    assert not unresolved_followers(resolved, FOLLOWERS).any()
    assert np.array_equal(unresolved_followers(unresolved, FOLLOWERS), FOLLOWERS)


def test_each_gate_is_judged_by_itself():
    table = routed()
    hidden = hidden_gates(table)
    first, second = hidden.copy(), hidden.copy()
    first[:, 2] = second[:, 0] = False
    table, _ = seen_table(table, first, FOLLOWERS, "unresolved")
    table, _ = seen_table(table, second, FOLLOWERS, "resolved")
    kept = unresolved_followers(table, FOLLOWERS)
    assert kept[0, 1]
    assert not kept[2].any()


def test_gates_that_nobody_leaves_out_stay_as_they_are():
    """Where no gate is missing nothing contradicts what may happen in another table."""
    assert np.array_equal(unresolved_followers(routed(), FOLLOWERS), FOLLOWERS)


def test_the_share_of_known_followers_decides():
    table = routed(4000)
    hidden = np.zeros(table.shape, dtype=bool)
    hidden[:1000, 0] = True
    known = np.arange(4000) >= 100
    part, _ = seen_table(table, hidden & known[:, None], FOLLOWERS, "unresolved")
    part, _ = seen_table(part, hidden, FOLLOWERS, "resolved")
    # One in ten of the followers of a missing gate is known: far fewer than usual.
    assert unresolved_followers(part, FOLLOWERS)[0, 1]
    known = np.arange(4000) >= 600
    part, _ = seen_table(table, hidden & known[:, None], FOLLOWERS, "unresolved")
    part, _ = seen_table(part, hidden, FOLLOWERS, "resolved")
    assert not unresolved_followers(part, FOLLOWERS)[0, 1]


def test_followers_of_one_gate_are_judged_one_by_one():
    table = routed()
    both = FOLLOWERS.copy()
    both[0, 3] = True
    hidden = hidden_gates(table)
    hidden[:, 2] = False
    seen, _ = seen_table(table, hidden, FOLLOWERS, "unresolved")
    # The other's state is known whether or not the gate is.
    assert unresolved_followers(seen, both)[0].tolist() == [False, True, False, False, False]


@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_followers_are_kept_by_how_often_they_are_known(seed, share):
    rng = np.random.default_rng(seed)
    table = routed(60, seed)
    followers = np.triu(rng.random((5, 5)) < 0.5, 1)
    hidden = rng.random(table.shape) < share
    seen, _ = seen_table(table, hidden, followers, rng.choice(["resolved", "unresolved"]))
    before = followers.copy()
    kept = unresolved_followers(seen, followers)
    assert np.array_equal(followers, before)
    missing, answered = seen.states.missing, seen.states.answered
    for gate, follower in np.argwhere(followers):
        beside = [rows[:, gate] for rows in (missing, answered)]
        if all(rows.any() for rows in beside):
            known, usual = (np.mean(~missing[rows, follower]) for rows in beside)
            assert kept[gate, follower] == (known < 0.5 * usual)
        else:
            assert kept[gate, follower]
    assert not (kept & ~followers).any()
    shuffled = seen.rows(rng.permutation(60))
    assert np.array_equal(unresolved_followers(shuffled, followers), kept)


def two_gates(n_rows=2000):
    """Return a table whose last question is asked of those who said yes twice."""
    values = np.random.default_rng(2).integers(0, 2, (n_rows, 5)).astype(float)
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 4] = (values[:, 0] == 0) | (values[:, 1] == 0)
    return CodedTable.from_values(COLUMNS, np.where(skipped, np.nan, values), skipped)


def test_a_follower_of_two_gates_is_found_though_either_may_hide_it():
    table = two_gates()
    expected = np.zeros((5, 5), dtype=bool)
    expected[[0, 1], 4] = True
    assert np.array_equal(find_followers(table), expected)
    hidden = np.random.default_rng(3).random(table.shape) < 0.3
    hidden[:, 2:] = False
    seen, _ = seen_table(table, hidden, expected, "unresolved")
    # Beside either gate the follower is often missing because of the other.
    assert not find_followers(seen).any()
    found = find_followers(seen, known_only=True)
    assert np.array_equal(found, expected)
    assert np.array_equal(unresolved_followers(seen, found), expected)


def test_a_gate_without_known_skips_has_no_follower():
    table = two_gates()
    nobody = np.zeros(table.shape, dtype=bool)
    nobody[:, 4] = table.values[:, 0] == 0
    states = table.states.skipped & ~nobody
    unknown = CodedTable.from_values(COLUMNS, np.where(nobody, np.nan, table.values), states)
    # Nobody who said no to the first is known to have skipped: only the second shows it.
    assert find_followers(unknown, known_only=True)[:, 4].tolist() == [False, True] + [False] * 3


@given(st.integers(0, 10_000))
def test_unresolved_cells_are_those_behind_a_hidden_gate(seed):
    rng = np.random.default_rng(seed)
    followers, hidden = rng.random((6, 6)) < 0.3, rng.random((9, 6)) < 0.3
    found = unresolved_cells(hidden, followers)
    for row in range(9):
        for column in range(6):
            behind = any(hidden[row, g] and followers[g, column] for g in range(6))
            assert found[row, column] == behind


@pytest.mark.parametrize("track", ["resolved", "unresolved"])
def test_the_gates_of_the_embedded_survey_are_distinguished(track):
    table = make_survey(n_rows=1500, n_columns=25, seed=1).complete_table
    followers = find_followers(table)
    hidden = table.states.answered & followers.any(axis=1)
    hidden &= np.random.default_rng(0).random(table.shape) < 0.2
    seen, _ = seen_table(table, hidden, followers, track)
    found = unresolved_followers(seen, find_followers(seen, known_only=True)).any(axis=1)
    gates = followers.any(axis=1) & seen.states.missing.any(axis=0)
    share = found[gates].mean()
    assert share > 0.9 if track == "unresolved" else share == 0, share
