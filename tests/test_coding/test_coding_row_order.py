"""The order of rows follows their content; every column and level keeps visible answers."""

import numpy as np

from tabsoda.coding.row_order import canonical_order, hold_out_cells


def test_the_canonical_order_follows_content(mixed_table):
    table = mixed_table(50)
    order, keys = canonical_order(table)
    shuffle = np.random.default_rng(1).permutation(50)
    other_order, other_keys = canonical_order(table.rows(shuffle))
    assert np.array_equal(keys, other_keys)
    assert np.array_equal(shuffle[other_order], order)
    assert np.unique(keys).size == 50


def test_held_out_cells_are_a_share_of_each_column_rounded_up(mixed_table):
    answered = mixed_table().states.answered
    columns = np.array([True] * 7 + [False])
    held = hold_out_cells(answered, columns, 0.2, seed=3)
    assert not (held & ~answered).any()
    assert held.sum(0).tolist() == [*np.ceil(0.2 * answered.sum(0)[:7]).astype(int), 0]
    assert np.array_equal(held, hold_out_cells(answered, columns, 0.2, seed=3))
    assert not np.array_equal(held, hold_out_cells(answered, columns, 0.2, seed=4))
    assert not hold_out_cells(answered, columns, 0.0, seed=3).any()
    few = np.array([[True], [True], [True], [False]])
    assert hold_out_cells(few, np.array([True]), 0.9, seed=3).sum() == 1


def test_holding_out_leaves_an_answer_of_every_level():
    levels = np.repeat([0.0, 1.0, 2.0], [1, 2, 37])[:, None]
    visible = np.ones((40, 1), dtype=bool)
    for seed in range(20):
        held = hold_out_cells(visible, np.array([True]), 0.9, seed, levels)
        assert set(levels[~held]) == {0.0, 1.0, 2.0}
        without = hold_out_cells(visible, np.array([True]), 0.9, seed)
        assert not (held & ~without).any()
        assert without.sum() - held.sum() == 3 - len(set(levels[~without]))
