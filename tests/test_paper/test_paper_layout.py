"""The layout: Eq. (encoding)'s order, Eq. (total-encoding-dim)'s width."""

import numpy as np
import torch

from tabsoda.paper.layout import build_layout, n_bits


def test_width_and_order_follow_the_paper() -> None:
    n_levels = np.array([5, 0, 3, 9, 2, 0, 4])
    layout = build_layout(n_levels, np.array([1, 5]), np.array([0, 3, 4]), np.array([2]))
    widths = [n_bits(int(n_levels[j])) for j in (0, 3, 4)]
    assert layout.n_coordinates == 2 + sum(widths) + 1
    assert layout.column_of.tolist() == [1, 5, 0, 0, 0, 3, 3, 3, 3, 4, 2]
    assert layout.bit_coordinates[layout.bit_valid].tolist() == list(range(2, 10))
    assert layout.ordinal_coordinates.tolist() == [10]
    assert layout.cutpoint_valid.tolist() == [[True, True]]
    # Column 6 has no route, and so no coordinate.
    assert 6 not in layout.column_of


def test_widened_masks_repeat_a_column_over_its_coordinates() -> None:
    layout = build_layout(np.array([5, 0]), np.array([1]), np.array([0]), np.array([], dtype=int))
    mask = np.array([[True, False], [False, True]])
    assert layout.widen(mask).tolist() == [[False, True, True, True], [True, False, False, False]]


def test_tensors_hold_the_same_arrays() -> None:
    layout = build_layout(np.array([5, 0, 3]), np.array([1]), np.array([0]), np.array([2]))
    tensors = layout.tensors()
    for name, tensor in tensors._asdict().items():
        assert torch.equal(tensor, torch.as_tensor(getattr(layout, name))), name


def test_a_table_without_modelled_columns_has_no_coordinates() -> None:
    none = np.array([], dtype=np.int64)
    layout = build_layout(np.array([0, 3]), none, none, none)
    assert layout.n_coordinates == 0
    assert layout.widen(np.ones((4, 2), dtype=bool)).shape == (4, 0)
    assert layout.cutpoint_valid.shape == (0, 1)
