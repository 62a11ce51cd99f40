"""Keeps the edits of a survey after a shift: answers that would break one are moved back."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.column_facts import facts_of
from tabsoda.edits.edit_set import EditSet
from tabsoda.edits.repair import Repairer
from tabsoda.schema.schema import Schema

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def edits_of(result: Imputations) -> EditSet:
    """Return the bounds, edits and derived variables of a result's description."""
    table = result.table
    schema = Schema(table.columns) if result.survey is None else result.survey.schema
    facts = {
        # A shifted number may leave the observed range, so it need not be moved back into it.
        name: one if schema[name].is_categorical else replace(one, low=-np.inf, high=np.inf)
        for name, one in facts_of(table, EditSet.of(schema, None).involved).items()
    }
    return EditSet.of(schema, table, facts)


@dataclass(frozen=True, eq=False)
class EditedShift:
    """A shifted result that satisfies every edit it satisfied before the shift.

    Attributes
    ----------
    result : Imputations
    n_shifted : int
        Answers that the shift moved, summed over the draws; derived variables do not count.
    n_moved_back : int
        Those of them that were moved back, at least partly, to satisfy an edit.
    """

    result: Imputations
    n_shifted: int
    n_moved_back: int


def keep_edits(
    edits: EditSet, result: Imputations, shifted: Imputations, gates: Mask
) -> EditedShift:
    """Compute derived variables again, and move shifted answers back where an edit needs it.

    Only answers that the shift moved change. They take the value next to the shifted one that
    satisfies all edits; if none is found, the row is as before the shift. Edits that a row already
    violated before the shift do not count.

    Parameters
    ----------
    edits : EditSet
        From :func:`edits_of`.
    result, shifted : Imputations
        Before and after the shift.
    gates : ndarray of bool, shape (n_columns,)
        Questions that decide who is asked others; they are not changed on their own.
    """
    cells, before, wanted = result.cells, result.cells.draws, shifted.cells.draws
    changed = (before != wanted) & ~(np.isnan(before) & np.isnan(wanted))
    derived = np.isin(cells.positions, [edits.place[name] for name in edits.derived])
    draws = wanted
    if edits:
        draws = np.array(wanted)
        for number in np.flatnonzero(changed.any(axis=1)).tolist():
            draws[number] = _kept(edits, result, number, wanted[number], changed[number], gates)
    moved_back = changed & (draws != wanted) & ~(np.isnan(draws) & np.isnan(wanted))
    kept = copy.copy(shifted)
    object.__setattr__(kept, "cells", replace(shifted.cells, draws=draws))
    return EditedShift(kept, int(changed[:, ~derived].sum()), int(moved_back[:, ~derived].sum()))


def _kept(
    edits: EditSet, result: Imputations, number: int, wanted: Array, changed: Mask, gates: Mask
) -> Array:
    """Return the cells of one draw such that its changed rows satisfy the edits."""
    cells = result.cells
    rows = np.unique(cells.rows[changed])
    here = np.flatnonzero(np.isin(cells.rows, rows))
    at = np.searchsorted(rows, cells.rows[here]), cells.positions[here]
    before = result.table.values[rows]
    before[at] = cells.draws[number, here]
    values = before.copy()
    values[at] = wanted[here]
    free = np.zeros(values.shape, dtype=bool)
    free[at] = changed[here]
    free[:, gates] = False
    derived = np.isin(at[1], [edits.place[name] for name in edits.derived])
    free[at[0][derived], at[1][derived]] = True
    values = Repairer(edits, free).derived(values, np.arange(rows.size))
    held = ~edits.violated(edits.named(before))
    broken = np.flatnonzero((edits.violated(edits.named(values)) & held).any(axis=1))
    if broken.size:
        repaired = Repairer(edits, free[broken]).repair(values[broken]).values
        still = edits.violated(edits.named(repaired)) & held[broken]
        values[broken] = np.where(still.any(axis=1, keepdims=True), before[broken], repaired)
    found = wanted.copy()
    found[here] = values[at]
    return found
