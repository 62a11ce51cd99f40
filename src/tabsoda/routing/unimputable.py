"""Which missing cells stay missing, because nothing put there agrees with what was answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.routing.choosing import by_noise, most_probable
from tabsoda.routing.gate_draws import RouteSampler
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.unresolved import find_unresolved
from tabsoda.skips.rule_set import RuleSet
from tabsoda.table import CodedTable

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Kept:
    """Which cells are imputed and which are not.

    Attributes
    ----------
    filled : ndarray of bool, shape (n_rows, n_columns)
        Cells that are imputed where they are missing.
    left : Counter of (column, rule)
        Cells that stay missing, by a rule that any answer would break.
    """

    filled: Mask
    left: Counter[tuple[str, str]]


def find_kept(
    table: CodedTable,
    rules: RuleSet,
    models: RouteModels,
    fillable: Mask,
    *,
    n_draws: int,
    seed: int,
    keys: NDArray[np.int64],
) -> Kept:
    """Find the cells that no draw and no point estimate could fill without breaking a rule.

    A gate is left where every answer leads past a question that was asked; so is a refusal of a
    question that known answers lead past. A gate left missing may free or bind what comes after
    it, so the rows concerned are settled anew, until nothing is left to leave.

    Parameters
    ----------
    table : CodedTable
        With the rules applied, as :func:`~tabsoda.routing.unresolved.reopened` leaves it.
    rules : RuleSet
    models : RouteModels
    fillable : ndarray of bool, shape (n_columns,)
    n_draws, seed, keys
        Of the draws that will be made, which are settled here as they will be there.
    """
    filled = np.broadcast_to(fillable, table.shape).copy()
    left: Counter[tuple[str, str]] = Counter()
    active = [rule.identifier for rule in rules.active]
    rows = np.arange(table.shape[0])
    while rows.size:
        part = table.rows(rows)
        unresolved = find_unresolved(part, rules, filled[rows], models.reasons)
        told = np.argwhere(unresolved.contradicted)
        leave = {
            (int(row), int(position)): active[unresolved.contradicted[row, position] - 1]
            for row, position in told
        }
        # Only a question that was asked can stand in the way of a gate.
        concerned = unresolved.contested.any(axis=1) & ~unresolved.contradicted.any(axis=1)
        at = np.flatnonzero(concerned)
        sampler = RouteSampler(
            part.rows(at), unresolved.of_rows(at), rules, models, filled[rows[at]]
        )
        for number in range(n_draws + 1) if at.size else ():
            noise = by_noise(seed, number, keys[rows[at]], table.shape[1])
            settled = sampler.settle(noise if number else most_probable)
            for (row, position), rule in settled.stuck.items():
                leave.setdefault((int(at[row]), position), rule)
        for (row, position), rule in leave.items():
            filled[rows[row], position] = False
            left[table.names[position], rule] += 1
        rows = rows[sorted({row for row, _ in leave})]
    return Kept(filled, left)
