"""Check data against routing rules: answers that break a rule, and blanks no rule explains."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tabsoda.skips.forward import route
from tabsoda.skips.rule_set import RuleSet
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

_EXAMPLES = 10


@dataclass(frozen=True)
class RuleFinding:
    """How well the data follow one rule.

    Attributes
    ----------
    identifier, target, sentence : str
    fired : int
        Rows in which the rule fires.
    blank : int
        Rows among them in which the target is blank or a known skip. The rules file and the review
        page give the same number.
    asked : int
        The other rows among them: the target is answered, refused or "don't know".
    answered : int
        Rows among them in which the target is answered: violations.
    example_rows : tuple of int
        The first of those rows, numbered from 1 in file order.
    """

    identifier: str
    target: str
    sentence: str
    fired: int
    blank: int
    asked: int
    answered: int
    example_rows: tuple[int, ...]


@dataclass(frozen=True)
class ColumnFinding:
    """Counts of one column's cells by state, with the rules applied.

    Attributes
    ----------
    column : str
    answered : int
    skipped : int
        Blank, and explained by a rule or by a skip code.
    declined : int
        Refused, or answered with "don't know".
    unexplained : int
        Blank for no known reason: these are the cells that an imputer fills.
    """

    column: str
    answered: int
    skipped: int
    declined: int
    unexplained: int


@dataclass(frozen=True, eq=False)
class CheckResult:
    """Everything :func:`check` found.

    Attributes
    ----------
    n_rows : int
    rules : tuple of RuleFinding
        One per rule that was not rejected, in questionnaire order.
    columns : tuple of ColumnFinding
        One per column of the table.
    states : CellStates
        The table's states with the rules applied.
    """

    n_rows: int
    rules: tuple[RuleFinding, ...]
    columns: tuple[ColumnFinding, ...]
    states: CellStates

    @property
    def violations(self) -> tuple[RuleFinding, ...]:
        """The rules that some respondents broke by answering, most violations first."""
        broken = [finding for finding in self.rules if finding.answered]
        return tuple(sorted(broken, key=lambda finding: -finding.answered))

    @property
    def unexplained(self) -> tuple[ColumnFinding, ...]:
        """The columns with unexplained blanks, most blanks first."""
        left = [finding for finding in self.columns if finding.unexplained]
        return tuple(sorted(left, key=lambda finding: -finding.unexplained))

    @property
    def totals(self) -> dict[str, int]:
        """Counts of cells over all columns, and of broken rules."""
        names = ("answered", "skipped", "declined", "unexplained")
        cells = {name: sum(getattr(c, name) for c in self.columns) for name in names}
        return {
            "rows": self.n_rows,
            "columns": len(self.columns),
            "rules": len(self.rules),
            "rules_broken": len(self.violations),
            "answered_although_skipped": self.n_answered_although_skipped,
            **cells,
        }

    @property
    def n_answered_although_skipped(self) -> int:
        """Violations over all rules; a cell that breaks two rules counts twice."""
        return sum(finding.answered for finding in self.rules)

    def to_dict(self) -> dict[str, Any]:
        """Return totals, rules and columns as plain values, ready for JSON."""
        return {
            "totals": self.totals,
            "rules": [asdict(finding) for finding in self.rules],
            "columns": [asdict(finding) for finding in self.columns],
        }


def check(table: CodedTable, rules: RuleSet) -> CheckResult:
    """Check a table against routing rules.

    Parameters
    ----------
    table : CodedTable
    rules : RuleSet
        Rejected rules are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> from tabsoda.skips.rules import Condition, SkipRule
    >>> ever = Column("ever", ColumnKind.NOMINAL, ("yes", "no"))
    >>> often = Column("often", ColumnKind.CONTINUOUS)
    >>> table = CodedTable.from_values((ever, often), np.array([[1, np.nan], [1, 3], [0, np.nan]]))
    >>> rule = SkipRule("r001", "often", ((Condition("ever", ("no",)),),))
    >>> result = check(table, RuleSet((rule,), (ever, often)))
    >>> result.rules[0].fired, result.rules[0].answered, result.rules[0].example_rows
    (2, 1, (2,))
    >>> result.columns[1].skipped, result.columns[1].unexplained
    (1, 1)
    """
    routing = route(rules, table)
    sentences = dict(zip((rule.identifier for rule in rules), rules.sentences(), strict=True))
    findings = []
    for rule in rules.active:
        fired = routing.fired[rule.identifier]
        counts = routing.counts(rule)
        broken = fired & table.states.answered[:, table.names.index(rule.target)]
        rows = tuple(int(row) + 1 for row in np.flatnonzero(broken)[:_EXAMPLES])
        findings.append(
            RuleFinding(
                rule.identifier,
                rule.target,
                sentences[rule.identifier],
                counts.fired,
                counts.fired_blank,
                counts.fired_asked,
                int(broken.sum()),
                rows,
            )
        )
    states = routing.states
    asked = routing.asked
    totals = zip(
        states.names,
        states.answered.sum(axis=0).tolist(),
        states.skipped.sum(axis=0).tolist(),
        (asked & ~states.answered).sum(axis=0).tolist(),
        (states.missing & ~asked).sum(axis=0).tolist(),
        strict=True,
    )
    columns = tuple(ColumnFinding(*row) for row in totals)
    return CheckResult(table.shape[0], tuple(findings), columns, states)
