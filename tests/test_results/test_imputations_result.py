"""The result: observed answers once, imputed cells per draw, errors for what is not there."""

import numpy as np
import pytest

from tabsoda.errors import InputError
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

COLUMNS = (
    Column("age", ColumnKind.CONTINUOUS),
    Column("mood", ColumnKind.ORDINAL, levels=(10, 20, 30)),
)


@pytest.fixture
def result():
    values = np.array([[31.5, 0.0], [np.nan, 1.0], [52.0, np.nan], [np.nan, np.nan]])
    skipped = np.zeros((4, 2), dtype=bool)
    skipped[3, 1] = True
    table = CodedTable.from_values(COLUMNS, values, skipped)
    rows, positions = np.nonzero(table.states.missing)
    draws = np.array([[40.0, 2.0, 41.0], [44.0, 1.0, 45.0]])
    mode, median = np.array([42.0, 2.0, 43.0]), np.array([42.0, 1.0, 43.0])
    return Imputations(table, ImputedCells(rows, positions, draws, mode, median))


def test_draws_fill_the_missing_cells_and_nothing_else(result):
    nan = np.nan
    first = np.array([[31.5, 0.0], [40.0, 1.0], [52.0, 2.0], [41.0, nan]])
    assert np.array_equal(result.values(1), first, equal_nan=True)
    second = np.array([[31.5, 10.0], [44.0, 20.0], [52.0, 20.0], [45.0, nan]])
    assert np.array_equal(result.complete(2), second, equal_nan=True)


def test_mode_and_median_are_two_point_estimates(result):
    assert result.point()[2, 1] == 30
    assert result.point("mode")[2, 1] == 30
    assert result.point("median")[2, 1] == 20
    assert np.array_equal(result.point()[:, 0], result.point("median")[:, 0])
    assert np.isnan(result.point()[3, 1])


def test_iteration_goes_over_the_draws(result):
    assert len(result) == 2
    tables = list(result)
    assert len(tables) == 2
    for number, table in enumerate(tables, start=1):
        assert np.array_equal(table, result.complete(number), equal_nan=True)


def test_counts_are_by_column(result):
    assert result.counts() == {"age": 2, "mood": 1}


@pytest.mark.parametrize("number", [0, 3, -1, 1.5, "1", None])
def test_a_draw_that_is_not_there(number, result):
    with pytest.raises(InputError, match="a whole number from 1 to 2"):
        result.complete(number)
    with pytest.raises(InputError, match="imputation does not exist"):
        result.values(number)


@pytest.mark.parametrize("ordinal", ["mean", None, 1])
def test_a_point_estimate_that_is_not_there(ordinal, result):
    with pytest.raises(InputError, match=r"'mode' .*'median'"):
        result.point(ordinal)


def test_neither_answers_nor_draws_can_be_written_through(result):
    filled = result.values(1)
    filled[:] = -1
    assert result.values(1)[0, 0] == 31.5
    for array in (result.table.values, result.cells.draws, result.cells.mode):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
