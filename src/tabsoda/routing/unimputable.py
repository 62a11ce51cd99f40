"""Which missing cells stay missing, because every value would contradict the answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.routing.choosing import choosing_noise
from tabsoda.routing.gate_draws import RouteSampler
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.unresolved import find_unresolved
from tabsoda.skips.rule_set import RuleSet
from tabsoda.table import CodedTable

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Imputable:
    """Which cells are imputed and which are not.

    Attributes
    ----------
    filled : ndarray of bool, shape (n_rows, n_columns)
        Cells that are imputed where they are missing.
    left : Counter of (column, rule)
        Cells that stay missing, by column and a rule that every answer would break.
    """

    filled: Mask
    left: Counter[tuple[str, str]]


def find_imputable(
    table: CodedTable,
    rules: RuleSet,
    models: RouteModels,
    fillable: Mask,
    *,
    n_draws: int,
    seed: int,
    keys: NDArray[np.int64],
) -> Imputable:
    """Find the cells that no draw and no point estimate could fill without breaking a rule.

    A gate stays missing if every answer skips a question that was asked (of a number: every
    value that some respondent gave); so does a refusal of a question that known answers skip. A
    gate that stays missing changes what later gates can do, so the rows concerned are sampled again
    until no further cell has to stay missing.

    Parameters
    ----------
    table : CodedTable
        With the rules applied, as :func:`~tabsoda.routing.unresolved.reopened` leaves it.
    rules : RuleSet
    models : RouteModels
    fillable : ndarray of bool, shape (n_columns,)
    n_draws, seed, keys
        As for the draws that will be made, so that the same routes are sampled here.
    """
    filled = np.broadcast_to(fillable, table.shape).copy()
    left: Counter[tuple[str, str]] = Counter()
    active = [rule.identifier for rule in rules.active]
    rows = np.arange(table.shape[0])
    while rows.size:
        part = table.rows(rows)
        unresolved = find_unresolved(part, rules, filled[rows], models.reasons)
        contradictions = np.argwhere(unresolved.contradicted)
        leave = {
            (int(row), int(position)): active[unresolved.contradicted[row, position] - 1]
            for row, position in contradictions
        }
        # Only a question that was asked can rule out answers of a gate.
        concerned = unresolved.contested.any(axis=1) & ~unresolved.contradicted.any(axis=1)
        at = np.flatnonzero(concerned)
        sampler = RouteSampler(
            part.rows(at), unresolved.of_rows(at), rules, models, filled[rows[at]]
        )
        for number in range(n_draws + 1) if at.size else ():
            noise = choosing_noise(seed, number, keys[rows[at]], table.shape[1])
            sampled = sampler.sample(noise if number else None)
            for (row, position), rule in sampled.stuck.items():
                leave.setdefault((int(at[row]), position), rule)
        for (row, position), rule in leave.items():
            filled[rows[row], position] = False
            left[table.names[position], rule] += 1
        rows = rows[sorted({row for row, _ in leave})]
    return Imputable(filled, left)
