"""Apply routing rules to a table, target by target in questionnaire order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Reason
from tabsoda.skips.rule_checks import require_same_survey
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.skips.screening import Counts
from tabsoda.states.cell_states import CellState, CellStates, reason_code
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.skips.rule_set import RuleSet

# Reasons that imply that the question was asked.
ASKED_REASONS = (Reason.REFUSED, Reason.DONT_KNOW)


@dataclass(frozen=True, eq=False)
class Routing:
    """The result of applying rules to a table.

    Attributes
    ----------
    states : CellStates
        The table's states with the routed blanks skipped, except those of absent respondents.
    fired : dict of str to ndarray of bool, shape (n_rows,)
        Where each rule fires, by its identifier, whether or not the target is answered.
    asked : ndarray of bool, shape (n_rows, n_columns)
        Cells whose question was asked; the others are blank. See :func:`was_asked`.
    explained : ndarray of bool, shape (n_rows, n_columns)
        Blanks on which an active rule fires, those of absent respondents included.
    seen : CodedTable
        The table that conditions are evaluated on: all ``explained`` cells are skipped, including
        those of absent respondents.
    """

    states: CellStates
    fired: dict[str, NDArray[np.bool_]]
    asked: NDArray[np.bool_]
    explained: NDArray[np.bool_]
    seen: CodedTable

    def fires(self, rule: SkipRule) -> NDArray[np.bool_]:
        """Return where a rule fires, shape (n_rows,); it need not be in the rule set."""
        return rule.fires(self.seen)

    def counts(self, rule: SkipRule) -> Counts:
        """Cross-tabulate where a rule fires and where its target is blank."""
        blank = ~self.asked[:, self.states.names.index(rule.target)]
        return Counts.of(self.fires(rule), blank)

    def rival_counts(self, rule: SkipRule) -> tuple[Counts, ...]:
        """Cross-tabulate where each rival of a rule fires and where the target is blank."""
        return tuple(self.counts(replace(rule, any_of=rival.any_of)) for rival in rule.rivals)


def was_asked(states: CellStates) -> NDArray[np.bool_]:
    """Return the cells whose question was asked: answered, refused, or "don't know"."""
    codes = [reason_code(reason) for reason in ASKED_REASONS]
    return states.answered | np.isin(states.reasons, codes)


def route(rules: RuleSet, table: CodedTable) -> Routing:
    """Apply rules in questionnaire order, so that a skip carries over to dependent questions.

    The order is that of the rule set, so a table with its columns in another order is routed
    the same. Only absence depends on the table's own order; see :meth:`RuleSet.apply`.

    The miner, ``check``, the review page and the imputer all use this function, so their counts
    agree.

    Parameters
    ----------
    rules : RuleSet
    table : CodedTable
        Skips known from codes or a mask are skips from the start: a rule can build on them, and a
        known skip of a target counts as blank.
    """
    active = rules.active
    require_same_survey(active, rules.column_of, table.columns)
    place = {name: position for position, name in enumerate(table.names)}
    states = table.states.states.copy()
    asked = was_asked(table.states)
    explained = np.zeros(table.shape, dtype=bool)
    # A gate comes before its targets, so its states are final by then and can be cached.
    held: dict[Condition, NDArray[np.bool_]] = {}

    def holds(condition: Condition) -> NDArray[np.bool_]:
        if condition not in held:
            gate = place[condition.column]
            held[condition] = condition.holds_for(
                table.columns[gate],
                table.values[:, gate],
                states[:, gate],
                table.states.reasons[:, gate],
            )
        return held[condition]

    fired = {}
    for rule in active:
        target = place[rule.target]
        fires = fired[rule.identifier] = rule.fires_where(holds)
        explained[:, target] |= fires & ~asked[:, target]
        states[explained[:, target], target] = CellState.SKIPPED
    skipped = states == CellState.SKIPPED
    seen = table.with_states(table.states.with_skips(skipped))
    if rules.absence is not None:
        withheld = rules.absence.withheld(asked, skipped)
        skipped = skipped & (~withheld | table.states.skipped)
    return Routing(table.states.with_skips(skipped), fired, asked, explained, seen)
