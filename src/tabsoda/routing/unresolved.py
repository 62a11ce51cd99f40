"""Which cells depend on missing gates: the rules applied with three truth values."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from tabsoda.routing.reasons import ReasonRouting
from tabsoda.routing.routes import sorted_descendants
from tabsoda.schema.column import Column
from tabsoda.skips.forward import was_asked
from tabsoda.skips.rule_checks import require_same_survey
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition
from tabsoda.states.cell_states import CellState
from tabsoda.table import CodedTable

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Unresolved:
    """Cells that the rules leave undecided; arrays of shape (n_rows, n_columns).

    Attributes
    ----------
    followers : ndarray of bool
        Missing cells that the missing answer of a gate may or may not skip.
    withheld : ndarray of bool
        Missing cells that known answers skip, left missing because the respondent was absent.
    contested : ndarray of bool
        Cells that were asked, and which the missing answer of a gate could skip.
    undecided : ndarray of bool
        Cells in any state that the missing answer of a gate could skip.
    led_past : ndarray of bool
        Cells in any state that known answers skip.
    contradicted : ndarray of int64
        Cells refused or answered with "don't know", which known answers skip: an imputed answer
        would break a rule. The number of that rule among the active rules, from 1; 0 elsewhere.
    gates : ndarray of bool
        Missing cells on which a follower or a contested cell depends, or a known skip that is not
        informative about the answer.
    """

    followers: Mask
    withheld: Mask
    contested: Mask
    undecided: Mask
    led_past: Mask
    contradicted: NDArray[np.int64]
    gates: Mask

    @property
    def rows(self) -> Mask:
        """The rows whose skips differ, or could differ, between draws; shape (n_rows,)."""
        return np.asarray((self.withheld | self.gates).any(axis=1))

    def of_rows(self, rows: NDArray[np.int64]) -> Unresolved:
        """Return the same for some rows."""
        return Unresolved(*(getattr(self, part.name)[rows] for part in fields(self)))


def find_unresolved(
    table: CodedTable, rules: RuleSet, fillable: Mask, after: ReasonRouting | None = None
) -> Unresolved:
    """Apply the rules in questionnaire order, separating certain skips from possible ones.

    Parameters
    ----------
    table : CodedTable
        With the rules applied, as :func:`reopened` returns it.
    rules : RuleSet
    fillable : ndarray of bool, shape (n_columns,) or (n_rows, n_columns)
        Columns or cells that are imputed if they are missing; others stay blank.
    after : ReasonRouting, optional
        Which followers were asked because of a refusal. By default all followers of refusers.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> from tabsoda.skips.rules import SkipRule
    >>> ever = Column("ever", ColumnKind.NOMINAL, ("yes", "no"))
    >>> often = Column("often", ColumnKind.CONTINUOUS)
    >>> table = CodedTable.from_values((ever, often), np.array([[np.nan, np.nan], [0, np.nan]]))
    >>> rules = RuleSet((SkipRule("r1", "often", ((Condition("ever", ("no",)),),)),), (ever, often))
    >>> found = find_unresolved(table, rules, np.ones(2, dtype=bool))
    >>> found.followers[:, 1].tolist(), found.gates[:, 0].tolist()
    ([True, False], [True, False])
    """
    require_same_survey(rules.active, rules.column_of, table.columns)
    place = {name: position for position, name in enumerate(table.names)}
    states = table.states.states.copy()
    asked = was_asked(table.states)
    filled = np.broadcast_to(fillable, table.shape)
    unknown = table.states.missing & filled
    after = ReasonRouting() if after is None else after
    free = after.free_cells(table.states, sorted_descendants(rules, table)) & filled
    known = table.states.skipped
    followers, withheld, contested, gates = (np.zeros(table.shape, dtype=bool) for _ in range(4))
    may_be_led, led_past = (np.zeros(table.shape, dtype=bool) for _ in range(2))
    contradicted = np.zeros(table.shape, dtype=np.int64)

    def certain(condition: Condition) -> Mask:
        gate = place[condition.column]
        here = table.values[:, gate], states[:, gate], table.states.reasons[:, gate]
        return holds_once_filled(condition, table.columns[gate], *here, filled[:, gate])

    def possible(condition: Condition) -> Mask:
        gate = place[condition.column]
        may = unknown[:, gate] if condition.asks_for_answer else np.zeros(table.shape[0], bool)
        may = may | followers[:, gate] if condition.or_skipped else may
        return certain(condition) | (may & (states[:, gate] == CellState.MISSING))

    for number, rule in enumerate(rules.active, 1):
        target = place[rule.target]
        fires, may_fire = rule.fires_where(certain), rule.fires_where(possible)
        still = states[:, target] == CellState.MISSING
        open_now = ~asked[:, target] & still
        withheld[:, target] |= fires & open_now
        states[fires & open_now, target] = CellState.SKIPPED
        followers[fires, target] = False
        led_past[:, target] |= fires
        may_be_led[:, target] |= may_fire
        undecided = may_fire & ~fires
        # Refused after its gate was refused: it was asked, but not because of the gate's answer.
        followers[:, target] |= undecided & (open_now | (free[:, target] & still))
        contested[:, target] |= undecided & asked[:, target]
        against = fires & asked[:, target] & unknown[:, target] & (contradicted[:, target] == 0)
        contradicted[against, target] = number
        for name in rule.gates:
            gate = place[name]
            silent = after.uninformative(table.states, gate, [target])[:, 0] & known[:, target]
            hangs = undecided & (open_now | asked[:, target] | silent)
            gates[:, gate] |= hangs & unknown[:, gate]
    followers &= states == CellState.MISSING
    undecided = may_be_led & ~led_past
    return Unresolved(followers, withheld, contested, undecided, led_past, contradicted, gates)


def holds_once_filled(
    condition: Condition,
    gate: Column,
    values: NDArray[np.float64],
    states: NDArray[np.uint8],
    reasons: NDArray[np.uint8],
    filled: Mask,
) -> Mask:
    """Return where a condition holds after missing cells are imputed, shape (n_rows,).

    A blank or refused gate is a reason to skip only if it is not imputed.

    Parameters
    ----------
    condition : Condition
    gate : Column
    values, states, reasons : ndarray, shape (n_rows,)
        Values, states and reasons of the gate, as far as they are decided.
    filled : ndarray of bool, shape (n_rows,)
        Where the gate would be imputed if missing.
    """
    held = condition.holds_for(gate, values, states, reasons)
    if not condition.asks_for_missing:
        return held
    without = replace(condition, or_blank=False, reasons=())
    return np.where(filled, without.holds_for(gate, values, states, reasons), held)


def reopened(table: CodedTable, rules: RuleSet, fillable: Mask, known: Mask) -> CodedTable:
    """Return the table without skips whose only explanation is a gate that will be imputed.

    Rules may fire on refusals, and those of the paper's screen on any blank. After the gate is
    imputed, they no longer fire.

    Parameters
    ----------
    table : CodedTable
        With the rules applied.
    rules : RuleSet
    fillable : ndarray of bool, shape (n_columns,)
    known : ndarray of bool, shape (n_rows, n_columns)
        Skips known before any rule, from codes or a mask.
    """
    conditions = (c for rule in rules.active for path in rule.any_of for c in path)
    if not any(condition.asks_for_missing for condition in conditions):
        return table
    before = table.with_states(table.states.with_skips(known))
    certain = known | find_unresolved(before, rules, fillable).withheld
    return table.with_states(table.states.with_skips(table.states.skipped & certain))


def count_unresolved(table: CodedTable, rules: RuleSet | None, fillable: Mask) -> NDArray[np.int64]:
    """Return how many missing cells of each column depend on a missing gate, shape (n_columns,)."""
    if rules is None:
        return np.zeros(table.shape[1], dtype=np.int64)
    return np.asarray(find_unresolved(table, rules, fillable).followers.sum(axis=0))
