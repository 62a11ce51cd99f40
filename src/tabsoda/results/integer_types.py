"""Imputed numbers in integer columns: clipped to the range of the type, or widened to floats."""

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
    """Return the cells with numbers clipped to the range of their integer column.

    An estimate just below 0 must not overflow a UInt8. An integer column with fractional
    imputations becomes Float64 when the table is restored; this logs an event about it.

    Parameters
    ----------
    cells : ImputedCells
    table : CodedTable
    survey : Survey or None
        Its frame has the types; an array of numbers has no integer columns.
    original : frame, array or None
        The input; pandas reads integers with blanks as floats.
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
        # NaN is a skip of this draw, which any column can represent.
        if ((values != np.rint(values)) & ~np.isnan(values)).any():
            events.add("integers_become_float", column=column.name)
            continue
        kept = values.clip(*limits)
        moved = int(((kept != values) & ~np.isnan(values)).sum())
        if moved:
            events.add(
                "imputed_numbers_clipped",
                column=column.name,
                values=moved,
                of_values=values.size,
                low=f"{limits[0]:.0f}",
                high=f"{limits[1]:.0f}",
            )
            moved_cells.append((where, kept))
    if not moved_cells:
        return cells
    draws, mode, median = cells.draws.copy(), cells.mode.copy(), cells.median.copy()
    for where, kept in moved_cells:
        draws[:, where], mode[where], median[where] = kept[:-2], kept[-2], kept[-1]
    return replace(cells, draws=draws, mode=mode, median=median)


def _limits(name: str, survey: Survey, original: Any) -> tuple[float, float] | None:
    """Return the range of a column's integer type; None if it is not an integer type."""
    stored = survey.frame.schema[name]
    dtype: Any = str(stored).lower() if stored.is_integer() else None
    if hasattr(original, "iloc"):
        types = {str(label): dtype for label, dtype in original.dtypes.items()}
        # A derived variable is not in the input.
        given = types.get(name)
        if given is not None and given.kind in "iu":
            dtype = getattr(given, "numpy_dtype", given)
    if dtype is None:
        return None
    try:
        range_of = np.iinfo(dtype)
    except (TypeError, ValueError):
        # 128-bit integers can represent every number that occurs.
        return None
    return _inside(range_of.min), _inside(range_of.max)


def _inside(limit: int) -> float:
    """Return the float closest to a limit but not beyond it: 2**63 does not fit an Int64."""
    nearest = float(limit)
    return float(np.nextafter(nearest, 0.0)) if abs(nearest) > abs(limit) else nearest
