"""Every question: its three states, and observed against imputed answers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.report.comparison import compare_answers
from tabsoda.report.strata import Strata
from tabsoda.report.suppression import withhold_alone, withhold_named
from tabsoda.states.cell_states import REASONS, CellStates

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations


def describe_variables(
    result: Imputations, strata: Strata | None = None, suppress_below: int = 0
) -> list[dict[str, Any]]:
    """Describe every question in questionnaire order.

    Parameters
    ----------
    result : Imputations
    strata : Strata, optional
        Groups to compare within; see :func:`tabsoda.report.strata.make_strata`.
    suppress_below : int

    Returns
    -------
    list of dict
        ``name``, ``label``, ``kind``, ``states``, ``reasons``, ``imputed`` (cells), the keys of
        :func:`tabsoda.report.comparison.compare_answers`, and ``strata``.
    """
    cells_of = _cells_by_column(result)
    return [
        _described(result, position, cells, strata or {}, suppress_below)
        for position, cells in enumerate(cells_of)
    ]


def describe_question(
    result: Imputations, name: str, strata: Strata | None = None, suppress_below: int = 0
) -> dict[str, Any]:
    """Describe one question, as in :func:`describe_variables`.

    Parameters
    ----------
    result : Imputations
    name : str
        A question of the result.
    strata : Strata, optional
    suppress_below : int
    """
    position = result.table.names.index(name)
    cells = np.flatnonzero(result.cells.positions == position)
    return _described(result, position, cells, strata or {}, suppress_below)


def _described(
    result: Imputations,
    position: int,
    cells: NDArray[np.intp],
    strata: Strata,
    suppress_below: int,
) -> dict[str, Any]:
    table = result.table
    column, values = table.columns[position], table.values[:, position]
    answered = table.states.answered[:, position]
    drawn = (result.cells.draws if len(result) else result.cells.mode[None])[:, cells]
    entry: dict[str, Any] = {
        "name": column.name,
        "label": column.label,
        "kind": column.kind.value,
        **_states(table.states, position, suppress_below),
        "imputed": withhold_alone(cells.size, suppress_below),
        "led_past": round(float(np.isnan(drawn).mean()), 5) if cells.size else 0.0,
        **compare_answers(column, values[answered], drawn, suppress_below),
    }
    if strata and cells.size:
        rows_of_cells = result.cells.rows[cells]
        entry["strata"] = [
            {
                "by": by,
                "group": label,
                "answered": withhold_alone(int((answered & rows).sum()), suppress_below),
                "imputed": withhold_alone(int(rows[rows_of_cells].sum()), suppress_below),
                **compare_answers(
                    column, values[answered & rows], drawn[:, rows[rows_of_cells]], suppress_below
                ),
            }
            for by, groups in strata.items()
            if by != column.name
            for label, rows in groups.items()
            if rows[rows_of_cells].any()
        ]
        _withhold_across(entry["strata"])
    if None in entry["states"].values():
        _withhold_parts(entry)
    return entry


def _withhold_parts(entry: dict[str, Any]) -> None:
    """Withhold values from which withheld counts could be computed; in place."""
    entry["imputed"] = None
    entry["reasons"] = dict.fromkeys(entry["reasons"])
    for part in (entry, *entry.get("strata", ())):
        for row in _rows(part):
            row["count"] = None
            # A share with five digits reveals its total.
            row["observed"] = None if row["observed"] is None else round(row["observed"], 2)


def _rows(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the counts of a comparison: levels, or bands of numbers."""
    rows: list[dict[str, Any]] = part.get("shares") or part.get("numbers", {}).get("bands") or []
    return rows


def _withhold_across(strata: list[dict[str, Any]]) -> None:
    """Withhold in all groups what is withheld in one, because the total is known; in place."""
    for by in {group["by"] for group in strata}:
        groups = [group for group in strata if group["by"] == by]
        for name in ("answered", "imputed"):
            if any(group[name] is None for group in groups):
                for group in groups:
                    group[name] = None
        rows = [row for group in groups for row in _rows(group)]
        hidden = {row["level"] for row in rows if row["count"] is None}
        for row in rows:
            if row["level"] in hidden:
                row["count"] = row["observed"] = None


def _cells_by_column(result: Imputations) -> list[NDArray[np.intp]]:
    """Return which imputed cells belong to each column."""
    positions = result.cells.positions
    order = np.argsort(positions, kind="stable")
    edges = np.searchsorted(positions[order], np.arange(result.table.shape[1] + 1))
    return [order[start:end] for start, end in itertools.pairwise(edges)]


def _states(states: CellStates, position: int, suppress_below: int) -> dict[str, Any]:
    codes = np.bincount(states.reasons[:, position], minlength=len(REASONS) + 1)
    counts = np.bincount(states.states[:, position], minlength=3)
    named = {"answered": int(counts[0]), "missing": int(counts[1]), "skipped": int(counts[2])}
    reasons = {
        reason.value: int(codes[place])
        for place, reason in enumerate(REASONS, 1)
        if codes[place] and reason.value != "skip"
    }
    return {
        "states": withhold_named(named, suppress_below),
        "reasons": withhold_named(reasons, suppress_below),
    }
