"""Columns of an analysis: questions, completed in every draw, and columns as published."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.schema.column import Code, Column, ColumnKind

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Variable:
    """One column of a result, draw by draw.

    Attributes
    ----------
    column : Column
    coded : callable
        From the number of a draw (from 1) to its answers, shape (n_rows,): level positions or
        numbers, NaN where there is no answer.
    skipped : callable
        From the number of a draw to the rows in which the question was skipped, shape (n_rows,).
    is_imputed : bool
        Whether answers may differ between draws.
    """

    column: Column
    coded: Callable[[int], Array]
    skipped: Callable[[int], Mask]
    is_imputed: bool

    def has_numbers(self) -> bool:
        """Return whether answers are numbers: a continuous column, or only numbers as levels."""
        return not any(isinstance(level, str) for level in self.column.levels)

    def numbers(self, draw: int) -> Array:
        """Return the answers of a draw as numbers, NaN without an answer; shape (n_rows,)."""
        values = self.coded(draw)
        if not self.column.is_categorical:
            return values
        codes = np.array([*self.column.levels, np.nan], dtype=np.float64)
        return codes[np.where(np.isnan(values), -1, values).astype(np.int64)]


def find_variable(result: Imputations, name: str, option: str = "") -> Variable:
    """Return a column of a result by its name.

    Parameters
    ----------
    result : Imputations
    name : str
    option : str
        The option with the name, for the error message; such as ``"where"``.

    Examples
    --------
    >>> from tabsoda.results import Imputations, ImputedCells
    >>> from tabsoda.table import CodedTable
    >>> sex = Column("sex", ColumnKind.NOMINAL, (1, 2))
    >>> table = CodedTable.from_values((sex,), np.array([[0.0], [np.nan]]))
    >>> cells = ImputedCells(np.array([1]), np.array([0]), np.array([[0.0], [1.0]]),
    ...                      np.array([0.0]), np.array([0.0]))
    >>> find_variable(Imputations(table, cells), "sex").numbers(2).tolist()
    [1.0, 2.0]
    """
    if name in result.table.names:
        return _question(result, result.table.names.index(name))
    if result.survey is not None and name in result.survey.frame.columns:
        return _published(result, name)
    raise unknown_column(name, column_names(result), option)


def column_names(result: Imputations) -> list[str]:
    """Return the names of all columns that an analysis may use."""
    if result.survey is None:
        return list(result.table.names)
    return list(dict.fromkeys([*result.survey.frame.columns, *result.table.names]))


def unknown_column(name: str, known: Iterable[str], option: str = "") -> InputError:
    """Return the error for an unknown name, with similar names."""
    names = list(known)
    by_lower = {one.lower(): one for one in reversed(names)}
    near = [by_lower[one] for one in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
    place = f"named in {option} is not in this result" if option else "is not in this result"
    listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return InputError(
        place,
        column=name,
        expected=None if near else f"one of {listed}",
        next_step=f"Similar names: {', '.join(near)}" if near else None,
    )


def written_levels(column: Column, limit: int = 6) -> str:
    """List the levels of a column with their labels, the first few."""
    texts = [column.describe_level(level) for level in column.levels]
    more = len(texts) - limit
    return ", ".join(texts[:limit]) + (f" and {more} more" if more > 0 else "")


def _question(result: Imputations, position: int) -> Variable:
    here = np.flatnonzero(result.cells.positions == position)
    rows = result.cells.rows[here]
    states = result.table.states

    def coded(draw: int) -> Array:
        values = np.array(result.table.values[:, position])
        values[rows] = result.cells.draws[draw - 1, here]
        return values

    def skipped(draw: int) -> Mask:
        found = np.array(states.skipped[:, position])
        # An imputed cell without an answer is skipped in this draw because of a drawn gate.
        found[rows] |= np.isnan(result.cells.draws[draw - 1, here])
        return found

    return Variable(result.table.columns[position], coded, skipped, bool(len(here)))


def _published(result: Imputations, name: str) -> Variable:
    """Return a column that is not imputed; its codes for "no answer" are blank."""
    import polars as pl

    from tabsoda.reading.coding import code_column

    survey = result.survey
    if survey is None:
        raise unknown_column(name, result.table.names)
    series, schema = survey.frame[name], survey.schema
    column = schema[name] if name in schema else Column(name, ColumnKind.CONTINUOUS)
    is_text = series.dtype == pl.String or series.dtype in (pl.Categorical, pl.Enum)
    if (is_text and not column.is_categorical) or (column.is_categorical and not column.levels):
        special = {str(code) for code in column.special_codes}
        found = series.drop_nulls().unique().sort().to_list()
        levels: list[Code] = [value for value in found if str(value) not in special]
        column = replace(column, kind=ColumnKind.NOMINAL, levels=tuple(levels))
    values = code_column(series, column).values
    nowhere = np.zeros(len(series), dtype=bool)
    return Variable(column, lambda draw: values, lambda draw: nowhere, False)
