"""Findings on every rule: its 2x2 counts in the data, and reasons to check it carefully."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Column
from tabsoda.skips.forward import route
from tabsoda.skips.rule_checks import require_same_survey
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Evidence, SkipRule
from tabsoda.skips.screening import Counts, evidence
from tabsoda.table import CodedTable

# A rule that explains fewer blanks is flagged as having low support.
FEW = 30


@dataclass(frozen=True)
class Flag:
    """A reason to check a rule: a keyword for filters, and a sentence."""

    kind: str
    text: str


@dataclass(frozen=True, eq=False)
class Examined:
    """A table with a rule set applied.

    Attributes
    ----------
    table : CodedTable
        As read.
    routed : CodedTable
        With the skips of the active rules.
    asked : ndarray of bool, shape (n_rows, n_columns)
        Cells whose question was asked.
    fired : dict of str to ndarray of bool, shape (n_rows,)
        Where each rule fires, including rejected ones, by identifier.
    rivals : dict of str to tuple of Counts
        The counts of each rule's rivals, by identifier, in the order of ``rule.rivals``.
    """

    table: CodedTable
    routed: CodedTable
    asked: NDArray[np.bool_]
    fired: dict[str, NDArray[np.bool_]]
    rivals: dict[str, tuple[Counts, ...]] = field(default_factory=dict)

    def counts(self, rule: SkipRule) -> Counts:
        """Cross-tabulate where a rule fires and where its target is blank."""
        blank = ~self.asked[:, self.table.names.index(rule.target)]
        return Counts.of(self.fired[rule.identifier], blank)


def examine(rules: RuleSet, table: CodedTable) -> Examined:
    """Evaluate every rule on a table.

    Rejected rules do not affect the routing; where they would fire is computed separately, so that
    they can still be judged.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> from tabsoda.skips.rules import Condition
    >>> ever = Column("ever", ColumnKind.NOMINAL, ("yes", "no"))
    >>> often = Column("often", ColumnKind.CONTINUOUS)
    >>> table = CodedTable.from_values((ever, often), np.array([[1, np.nan], [1, 3], [0, np.nan]]))
    >>> rules = RuleSet((SkipRule("r1", "often", ((Condition("ever", ("no",)),),)),), (ever, often))
    >>> examine(rules, table).counts(rules["r1"])
    Counts(fired_blank=1, fired_asked=1, silent_blank=1, silent_asked=0)
    """
    require_same_survey(rules, rules.column_of, table.columns)
    routing = route(rules, table)
    rest = {rule.identifier: rule for rule in rules if rule.identifier not in routing.fired}
    fired = routing.fired | {name: routing.fires(rule) for name, rule in rest.items()}
    rivals = {rule.identifier: routing.rival_counts(rule) for rule in rules}
    return Examined(table, table.with_states(routing.states), routing.asked, fired, rivals)


def evidence_here(rule: SkipRule, examined: Examined) -> Evidence:
    """Return the evidence for a rule in this table.

    A rule that a person wrote is one test, not one of many, so its q-value is its p-value.
    """
    found = evidence(examined.counts(rule), q_value=1.0)
    return replace(found, q_value=found.p_value)


def later_gates(rule: SkipRule, table: CodedTable) -> tuple[str, ...]:
    """Return the gates that come after the rule's target in the file."""
    target = table.names.index(rule.target)
    return tuple(gate for gate in rule.gates if table.names.index(gate) > target)


def unnamed_answers(rule: SkipRule, columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Return the gates of which a rule names no answer: all answers skip the target, or none.

    Such a gate often stands in for one that is not in the file, or that comes later.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> from tabsoda.skips.rules import Condition
    >>> half = Column("half_a", ColumnKind.NOMINAL, (1, 2))
    >>> rule = SkipRule("r1", "half_b", ((Condition("half_a", (1, 2)),),))
    >>> unnamed_answers(rule, {"half_a": half})
    ('half_a',)
    """
    conditions = (condition for path in rule.any_of for condition in path)
    return tuple(
        dict.fromkeys(
            condition.column
            for condition in conditions
            if (
                set(condition.levels) == set(columns[condition.column].levels)
                if condition.levels
                else not condition.asks_for_answer and not condition.asks_for_missing
            )
        )
    )


def flags_of(
    rule: SkipRule,
    counts: Counts,
    *,
    exact: bool = True,
    later: tuple[str, ...] = (),
    unnamed: tuple[str, ...] = (),
) -> tuple[Flag, ...]:
    """Return the reasons to check a rule.

    Parameters
    ----------
    rule : SkipRule
    counts : Counts
    exact : bool, default True
        Include numbers; False if counts are hidden.
    later : tuple of str
        Gates that come after the target in the file; see :func:`later_gates`.
    unnamed : tuple of str
        Gates of which no answer is named; see :func:`unnamed_answers`.
    """
    flags = []
    if later:
        text = f"In the file, {', '.join(later)} comes after {rule.target}."
        flags.append(Flag("later gate", text))
    if counts.fired == 0:
        flags.append(Flag("never fires", "The rule fires for no respondent in this file."))
    elif counts.fired_blank < FEW:
        number = f"only {counts.fired_blank:,}" if exact else "few"
        flags.append(Flag("low support", f"It explains {number} blanks."))
    if counts.fired_asked:
        number = f"{counts.fired_asked:,} of {counts.fired:,}" if exact else "Some"
        flags.append(Flag("contradicted", f"{number} were asked although the rule fires."))
    if rule.rivals:
        others = ", ".join(" and ".join(rival.gates) for rival in rule.rivals)
        flags.append(Flag("rivals", f"Other conditions fit as well: {others}."))
    if unnamed:
        text = (
            f"No answer of {', '.join(unnamed)} is named. The gate may be a question or a form"
            " that is not in the file, or that comes later."
        )
        flags.append(Flag("no answer named", text))
    if rule.extended_from is not None:
        text = f"Found on {rule.extended_from} and extended to this question."
        flags.append(Flag("extension", text))
    if any(condition.or_blank for path in rule.any_of for condition in path):
        flags.append(Flag("blank gate", "It also fires where a gate is missing for any reason."))
    if any(decision.did == "added" for decision in rule.history):
        flags.append(Flag("added", "Written by a person, not mined."))
    if any(decision.did == "edited" for decision in rule.history):
        flags.append(Flag("edited", "Its conditions were changed by a person."))
    return tuple(flags)
