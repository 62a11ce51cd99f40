"""The loop over estimates and draws that both engines share."""

from __future__ import annotations

import numpy as np

from tabsoda.coding.missing_cells import MissingCells
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

NAN = np.nan


def cells() -> MissingCells:
    """Three columns: modelled, constant 7, and neither."""
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "abc")
    values = np.array([[1.0, 7.0, NAN], [NAN, NAN, 3.0], [4.0, NAN, NAN], [NAN, 7.0, 6.0]])
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[3, 0] = True
    table = CodedTable.from_values(columns, values, skipped)
    return MissingCells.of(table, np.array([True, False, False]), np.array([NAN, 7.0, NAN]))


def test_only_cells_with_a_model_or_a_constant_are_filled() -> None:
    found = cells()
    assert list(zip(found.rows, found.positions, strict=True)) == [(1, 0), (1, 1), (2, 1)]
    assert found.open_rows.tolist() == [1]


def test_draws_come_from_the_model_and_constants_from_the_column() -> None:
    steps: list[tuple[int, str]] = []
    imputed = cells().impute(
        2,
        lambda progress: (np.array([[10.0, 7.0, NAN]]), np.array([[20.0, 7.0, NAN]])),
        lambda number, progress: np.array([[100.0 * number, 7.0, NAN]]),
        lambda name, compute: np.array([-1.0, -2.0, -3.0]) if name == "draw 2" else compute(),
        lambda done, total, what: steps.append((done, what)),
    )
    assert imputed.mode.tolist() == [10, 7, 7]
    assert imputed.median.tolist() == [20, 7, 7]
    assert imputed.draws.tolist() == [[100, 7, 7], [-1, -2, -3]], "the stored draw is used"
    assert steps == [(333, "point estimate"), (667, "draw 1 of 2"), (1000, "draw 2 of 2")]


def test_completed_tables_keep_answers_and_leave_skips_empty() -> None:
    np.testing.assert_array_equal(
        cells().complete(np.array([[5.0, 7.0, 99.0]])),
        [[1, 7, NAN], [5, 7, 3], [4, 7, NAN], [NAN, 7, 6]],
    )
