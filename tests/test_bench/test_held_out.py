"""Hidden answers: which cells, what a method sees, and how estimates are scored."""

import numpy as np
import pytest

from tabsoda.bench.held_out import Estimates, calibration, hide_answers, usual_answers
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


@pytest.fixture
def table():
    """Two levels of which 3 in 10 are the second, a number, and a question with one answer."""
    n_rows = 400
    columns = (
        Column("q", ColumnKind.NOMINAL, ("a", "b")),
        Column("age", ColumnKind.CONTINUOUS),
        Column("once", ColumnKind.NOMINAL, ("x", "y")),
    )
    once = np.full(n_rows, np.nan)
    once[7] = 1.0
    values = np.column_stack([np.arange(n_rows) % 10 < 3, np.arange(n_rows) / 10, once])
    return CodedTable.from_values(columns, values.astype(float))


def test_answers_alone_are_hidden_and_every_question_keeps_one(table):
    held = hide_answers(table, 0.99, most_rows=1000, seed=0, purpose="test")
    assert held.truth is table
    assert not (held.hidden & ~table.states.answered).any()
    assert np.array_equal(held.seen.states.answered, table.states.answered & ~held.hidden)
    assert (held.seen.states.answered.sum(axis=0) >= 1).all()


def test_a_large_table_is_sampled_and_uses_of_one_seed_differ(table):
    one, again, other = (
        hide_answers(table, 0.2, most_rows=100, seed=1, purpose=purpose)
        for purpose in ("one", "one", "other")
    )
    assert one.truth.shape == (100, 3)
    assert np.array_equal(one.hidden, again.hidden)
    assert not np.array_equal(one.truth.values, other.truth.values, equal_nan=True)


def test_scores_follow_the_closed_form(table):
    held = hide_answers(table, 0.5, most_rows=1000, seed=2, purpose="test")
    usual = np.broadcast_to(usual_answers(table), table.shape)
    assert usual[0, 0] == 0
    given = {0: np.tile([0.7, 0.3], (table.shape[0], 1))}
    errors = held.errors(Estimates(usual, usual, given))
    truth = table.values[held.hidden[:, 0], 0]
    assert (errors[0].mode == 0).mean() == (truth == 0).mean()
    bins, error = calibration(errors)
    assert sum(one["cells"] for one in bins) == held.hidden[:, 0].sum()
    assert error == pytest.approx(abs(0.7 - (truth == 0).mean()))


def test_cells_outside_the_choice_are_not_scored(table):
    held = hide_answers(table, 0.5, most_rows=1000, seed=2, purpose="test")
    estimates = np.where(np.arange(table.shape[0])[:, None] < 50, 0.0, np.nan) + np.zeros((1, 3))
    chosen = np.arange(table.shape[0])[:, None] < 50
    errors = held.errors(Estimates(estimates, estimates, {}), np.broadcast_to(chosen, table.shape))
    assert errors[0].mode.size == held.hidden[:50, 0].sum()
