"""Routing a table forward through its questionnaire, one target after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Reason
from tabsoda.skips.rule_checks import require_same_survey
from tabsoda.skips.rules import Condition
from tabsoda.states.cell_states import CellState, CellStates, reason_code
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.skips.rule_set import RuleSet

# Reasons that only somebody who was asked can give.
ASKED_REASONS = (Reason.REFUSED, Reason.DONT_KNOW)


@dataclass(frozen=True, eq=False)
class Routing:
    """What rules say of a table.

    Attributes
    ----------
    states : CellStates
        The table's states with the routed blanks skipped, save those of absent respondents.
    fired : dict of str to ndarray of bool, shape (n_rows,)
        Where each rule fires, by its identifier, whether or not the target is answered.
    """

    states: CellStates
    fired: dict[str, NDArray[np.bool_]]


def was_asked(states: CellStates) -> NDArray[np.bool_]:
    """Return the cells whose question was put: answered, refused, or "don't know"."""
    codes = [reason_code(reason) for reason in ASKED_REASONS]
    return states.answered | np.isin(states.reasons, codes)


def route(rules: RuleSet, table: CodedTable) -> Routing:
    """Apply rules in questionnaire order, so that a learned skip reaches what hangs on it.

    The order is that of the rule set, so a table with its columns in another order is routed
    the same. Only who was absent is seen in the table's own order; see :meth:`RuleSet.apply`.
    """
    active = rules.active
    require_same_survey(active, rules.column_of, table.columns)
    place = {name: position for position, name in enumerate(table.names)}
    states = table.states.states.copy()
    open_cells = ~was_asked(table.states)
    # A gate comes before its targets, so what is known of it by then is final and can be kept.
    held: dict[Condition, NDArray[np.bool_]] = {}

    def holds(condition: Condition) -> NDArray[np.bool_]:
        if condition not in held:
            gate = place[condition.column]
            held[condition] = condition.holds_for(
                table.columns[gate], table.values[:, gate], states[:, gate]
            )
        return held[condition]

    fired = {}
    for rule in active:
        target = place[rule.target]
        fired[rule.identifier] = rule.fires_where(holds)
        states[fired[rule.identifier] & open_cells[:, target], target] = CellState.SKIPPED
    skipped = states == CellState.SKIPPED
    if rules.absence is not None:
        withheld = rules.absence.withheld(~open_cells, skipped)
        skipped &= ~withheld | table.states.skipped
    return Routing(table.states.with_skips(skipped), fired)
