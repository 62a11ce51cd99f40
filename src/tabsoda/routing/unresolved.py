"""Which cells hang on gates that nobody answered: routing with three truth values."""

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
    """What rules leave open in a table; arrays of shape (n_rows, n_columns).

    Attributes
    ----------
    followers : ndarray of bool
        Missing cells that the missing answer of a gate may or may not lead past.
    withheld : ndarray of bool
        Missing cells that known answers lead past, left missing because the respondent was not
        there.
    contested : ndarray of bool
        Cells that were asked, and which the missing answer of a gate could lead past.
    undecided : ndarray of bool
        Cells, whatever they hold, that the missing answer of a gate could lead past.
    led_past : ndarray of bool
        Cells, whatever they hold, that known answers lead past.
    contradicted : ndarray of int64
        Cells refused or answered with "don't know", which known answers lead past: any answer put
        there would break a rule that nobody broke. Which one, counted from 1 among the active
        rules; 0 elsewhere.
    gates : ndarray of bool
        Missing cells on which a follower or a contested cell hangs, or a known skip that says
        nothing of the answer.
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
        """The rows that differ between draws in what is skipped, or could; shape (n_rows,)."""
        return np.asarray((self.withheld | self.gates).any(axis=1))

    def of_rows(self, rows: NDArray[np.int64]) -> Unresolved:
        """Return what is left open in some rows."""
        return Unresolved(*(getattr(self, part.name)[rows] for part in fields(self)))


def find_unresolved(
    table: CodedTable, rules: RuleSet, fillable: Mask, after: ReasonRouting | None = None
) -> Unresolved:
    """Follow the rules forward, keeping apart what is certain and what is possible.

    Parameters
    ----------
    table : CodedTable
        With the rules applied, as :func:`reopened` leaves it.
    rules : RuleSet
    fillable : ndarray of bool, shape (n_columns,) or (n_rows, n_columns)
        Columns, or cells, that are imputed where they are missing; others stay blank.
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
        # Refused after its gate was refused: it was asked, but no answer of the gate led there.
        followers[:, target] |= undecided & (open_now | (free[:, target] & still))
        contested[:, target] |= undecided & asked[:, target]
        against = fires & asked[:, target] & unknown[:, target] & (contradicted[:, target] == 0)
        contradicted[against, target] = number
        for name in rule.gates:
            gate = place[name]
            silent = after.says_nothing(table.states, gate, [target])[:, 0] & known[:, target]
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
    """Return where a condition holds as it reads once missing cells are imputed, shape (n_rows,).

    That a gate is blank or was refused is a reason to skip only where it stays so.

    Parameters
    ----------
    condition : Condition
    gate : Column
    values, states, reasons : ndarray, shape (n_rows,)
        Of the gate, as far as they are settled.
    filled : ndarray of bool, shape (n_rows,)
        Where the gate is imputed if it is missing.
    """
    held = condition.holds_for(gate, values, states, reasons)
    if not condition.asks_for_missing:
        return held
    without = replace(condition, or_blank=False, reasons=())
    return np.where(filled, without.holds_for(gate, values, states, reasons), held)


def reopened(table: CodedTable, rules: RuleSet, fillable: Mask, known: Mask) -> CodedTable:
    """Return the table without the skips that only the blank of a gate to be imputed explains.

    Rules may fire on refusals, and those of the paper's screen on any blank. Once the gate is
    imputed they do no longer.

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
    """Return how many missing cells of each column hang on a missing gate, shape (n_columns,)."""
    if rules is None:
        return np.zeros(table.shape[1], dtype=np.int64)
    return np.asarray(find_unresolved(table, rules, fillable).followers.sum(axis=0))
