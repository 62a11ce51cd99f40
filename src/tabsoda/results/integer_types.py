"""Imputed numbers and the integer columns they go into: kept inside, or the column is widened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.events import EventLog
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.imputed_cells import ImputedCells


def fit_integer_types(
    cells: ImputedCells, table: CodedTable, survey: Survey | None, original: Any, events: EventLog
) -> ImputedCells:
    """Return the cells with numbers moved into the range of the integer column they belong to.

    An estimate just below 0 must not break a UInt8. A column of whole numbers that is given
    broken ones becomes Float64 when the table is restored; here that is told.

    Parameters
    ----------
    cells : ImputedCells
    table : CodedTable
    survey : Survey or None
        Whose frame has the types; an array of numbers has no integer columns.
    original : frame, array or None
        What was put in; pandas integers with blanks are read as other numbers.
    events : EventLog
    """
    if survey is None:
        return cells
    moved_cells = []
    for position, column in enumerate(table.columns):
        limits = None if column.is_categorical else _limits(column.name, survey, original)
        if limits is None:
            continue
        where = np.flatnonzero(cells.positions == position)
        values = np.vstack([cells.draws[:, where], cells.mode[where], cells.median[where]])
        # NaN is a skip of this draw, and fits every column.
        if ((values != np.rint(values)) & ~np.isnan(values)).any():
            detail = "imputed numbers are not whole"
            events.add("impute", "integers become Float64", column=column.name, detail=detail)
            continue
        kept = values.clip(*limits)
        moved = int(((kept != values) & ~np.isnan(values)).sum())
        if moved:
            detail = (
                f"{moved} of {values.size} values, point estimates and draws, to between "
                f"{limits[0]:.0f} and {limits[1]:.0f}"
            )
            decision = "imputed numbers clipped to the column's type"
            events.add("impute", decision, column=column.name, detail=detail)
            moved_cells.append((where, kept))
    if not moved_cells:
        return cells
    draws, mode, median = cells.draws.copy(), cells.mode.copy(), cells.median.copy()
    for where, kept in moved_cells:
        draws[:, where], mode[where], median[where] = kept[:-2], kept[-2], kept[-1]
    return replace(cells, draws=draws, mode=mode, median=median)


def _limits(name: str, survey: Survey, original: Any) -> tuple[float, float] | None:
    """Return what a column's integer type can hold; None where it is no integer."""
    stored = survey.frame.schema[name]
    dtype: Any = str(stored).lower() if stored.is_integer() else None
    if hasattr(original, "iloc"):
        given = next(t for label, t in original.dtypes.items() if str(label) == name)
        if given.kind in "iu":
            dtype = getattr(given, "numpy_dtype", given)
    if dtype is None:
        return None
    try:
        range_of = np.iinfo(dtype)
    except (TypeError, ValueError):
        # Integers of 128 bits hold every float that can occur.
        return None
    return _inside(range_of.min), _inside(range_of.max)


def _inside(limit: int) -> float:
    """Return the float nearest to a limit that is not beyond it: 2**63 does not fit an Int64."""
    nearest = float(limit)
    return float(np.nextafter(nearest, 0.0)) if abs(nearest) > abs(limit) else nearest
