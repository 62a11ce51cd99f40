"""Trees of gates: they do not read the followers, and answer where these are all missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.trees.settings import TreeSettings
from tabsoda.engine.trees.tree_models import TreeModels
from tabsoda.engine.trees.trees import Trees
from tabsoda.events import EventLog
from tabsoda.followers import unresolved_gates
from tabsoda.schema import Column, ColumnKind
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

QUICK = TreeSettings.named("quick")
COLUMNS = (
    Column("smokes", ColumnKind.NOMINAL, (1, 2)),
    Column("hint", ColumnKind.NOMINAL, (1, 2)),
    Column("brand", ColumnKind.NOMINAL, (1, 2, 3)),
    Column("packs", ColumnKind.CONTINUOUS),
)
FOLLOWERS = np.zeros((4, 4), dtype=bool)
FOLLOWERS[0, 2:] = True


def smokers(n_rows=600):
    """Return a table whose first question decides the last two, and whose second hints at it."""
    rng = np.random.default_rng(0)
    smokes = rng.integers(0, 2, n_rows)
    hint = np.where(rng.random(n_rows) < 0.8, smokes, 1 - smokes)
    values = np.column_stack(
        [smokes, hint, rng.integers(0, 3, n_rows), rng.normal(size=n_rows)]
    ).astype(float)
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 2:] = (smokes == 1)[:, None]
    values[skipped] = np.nan
    return CodedTable.from_values(COLUMNS, values, skipped)


def fitted(table, barred=None):
    return TreeModels.fit(table, table.states.answered, QUICK, 1, columns=[0], barred=barred)


def test_what_is_barred_changes_no_answer():
    table = smokers()
    rows = np.arange(table.shape[0])
    blank = CodedTable.from_values(
        COLUMNS, np.where(np.arange(4) < 2, table.values, np.nan), table.states.skipped & False
    )
    apart, plain = fitted(table, FOLLOWERS), fitted(table)
    said = apart.predict(table, rows).probabilities[0]
    assert np.array_equal(said, apart.predict(blank, rows).probabilities[0])
    # They still read the hint; the plain ones read the gate off its followers.
    answers = table.values[:, 0]
    assert 0.75 < (said.argmax(axis=1) == answers).mean() < 0.85
    assert (plain.predict(table, rows).probabilities[0].argmax(axis=1) == answers).all()
    # And those are misled where followers are blank.
    assert (plain.predict(blank, rows).probabilities[0].argmax(axis=1) == answers).mean() < 0.75


def test_where_all_is_barred_everybody_gets_the_shares():
    table = smokers()
    alone = fitted(table, np.ones((4, 4), dtype=bool))
    said = alone.predict(table, np.arange(table.shape[0])).probabilities[0]
    assert (said == said[0]).all()
    shares = np.bincount(table.values[:, 0].astype(int)) / table.shape[0]
    np.testing.assert_allclose(said[0], shares, atol=0.02)


def test_followers_of_gates_without_a_model_are_dropped():
    followers = FOLLOWERS.copy()
    followers[1, 2] = True
    table = smokers()
    codec = AnswerCodec.fit(table, table.states.answered, EventLog())
    models = fitted(table)
    kept = Trees.of(codec, models, fitted(table, followers), followers).followers
    assert np.array_equal(kept, FOLLOWERS)
    assert not Trees.of(codec, models, None, followers).followers.any()


def test_models_of_gates_answer_only_for_unresolved_gates():
    table = smokers()
    codec = AnswerCodec.fit(table, table.states.answered, EventLog())
    plain, apart = fitted(table), fitted(table, FOLLOWERS)
    trees = Trees.of(codec, plain, apart, FOLLOWERS)
    values = table.values.copy()
    values[:, 0] = np.nan
    # In every other row the followers are missing, too.
    skipped = table.states.skipped.copy()
    skipped[::2] = False
    values[::2, 2:] = np.nan
    asked = CodedTable.from_values(COLUMNS, values, skipped)
    rows = np.arange(table.shape[0])
    said = trees.answers(asked, asked.states.missing).probabilities[:, 0, :2]
    unresolved = unresolved_gates(FOLLOWERS, asked.states)[:, 0]
    assert np.array_equal(unresolved, rows % 2 == 0)
    expected = np.where(
        unresolved[:, None],
        apart.predict(asked, rows).probabilities[0],
        plain.predict(asked, rows).probabilities[0],
    )
    assert np.array_equal(said, expected)


def test_a_question_without_trees_gets_shares_and_means():
    table = smokers()
    codec = AnswerCodec.fit(table, table.states.answered, EventLog())
    trees = Trees.of(codec, fitted(table), None, np.zeros((4, 4), dtype=bool))
    said = trees.answers(table, np.ones(table.shape, dtype=bool))
    counts = np.bincount(table.values[:, 1].astype(int)) + 0.5
    np.testing.assert_allclose(said.probabilities[:, 1, :2], [counts / counts.sum()] * 600)
    assert (said.probabilities[:, 1, 2] == 0).all()
    assert (said.numbers == 0).all()


@given(st.integers(0, 10_000))
def test_unresolved_gates_are_missing_with_all_their_followers(seed):
    rng = np.random.default_rng(seed)
    followers = rng.random((5, 5)) < 0.3
    chosen = rng.integers(0, 3, (8, 5))
    states = CellStates.from_masks(chosen == 0, chosen == 2, tuple("abcde"))
    found = unresolved_gates(followers, states)
    for row in range(8):
        for gate in range(5):
            behind = np.flatnonzero(followers[gate])
            expected = (
                states.missing[row, gate]
                and behind.size > 0
                and all(states.missing[row, f] for f in behind)
            )
            assert found[row, gate] == expected


@pytest.mark.parametrize("state", ["answered", "skipped"])
def test_one_follower_that_is_known_resolves_the_gate(state):
    answered, skipped = np.zeros((2, 1, 4), dtype=bool)
    (answered if state == "answered" else skipped)[0, 3] = True
    states = CellStates.from_masks(answered, skipped, tuple("abcd"))
    assert not unresolved_gates(FOLLOWERS, states).any()
