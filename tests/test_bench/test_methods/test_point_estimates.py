import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.mode_mean import ModeMean
from tabsoda.bench.methods.point_estimates import center, estimates_from, median_level
from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


@given(arrays(np.float64, (5, 6), elements=st.floats(0.001, 1)))
def test_the_median_level_minimises_the_expected_distance(weights):
    rows = weights / weights.sum(axis=1, keepdims=True)
    levels = np.arange(6)
    expected = rows @ np.abs(levels[:, None] - levels[None, :])
    chosen = expected[np.arange(5), median_level(rows)]
    assert np.allclose(chosen, expected.min(axis=1))


def test_median_differs_from_mode_for_ordinals_only_and_numbers_stay_in_range():
    columns = (
        Column("nominal", ColumnKind.NOMINAL, levels=(1, 2, 3)),
        Column("ordinal", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("number", ColumnKind.CONTINUOUS),
    )
    values = np.array([[0, 0, 1.0], [1, 1, 2.0], [np.nan] * 3])
    table = CodedTable.from_values(columns, values)
    shares = np.tile([0.4, 0.25, 0.35], (3, 1))
    result = estimates_from(table, {2: np.full(3, 99.0)}, {0: shares, 1: shares})
    assert result.mode[2].tolist() == [0, 0, 2.0]
    assert result.median[2].tolist() == [0, 1, 2.0]


def test_mean_or_median_of_a_number():
    table = CodedTable.from_values(
        (Column("n", ColumnKind.CONTINUOUS),), np.array([[0.0], [1.0], [8.0], [np.nan]])
    )
    assert ModeMean().impute(table, 0, SkipView.BLIND).mode[3, 0] == 3.0
    assert ModeMean("median").impute(table, 0, SkipView.BLIND).mode[3, 0] == 1.0
    assert center(np.array([np.nan])) == 0.0
    with pytest.raises(InputError, match="'mean' or 'median'"):
        ModeMean("mod")
