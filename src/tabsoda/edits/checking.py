"""Lists observed answers that violate a constraint, and constraints that nobody satisfies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.edit_set import Constraint, EditSet
from tabsoda.errors import InputError
from tabsoda.table import CodedTable

_EXAMPLES = 10
# Fewer respondents than this do not show that constraints contradict each other.
_FEWEST = 20


@dataclass(frozen=True)
class EditFinding:
    """How well observed answers satisfy one constraint.

    Attributes
    ----------
    title, label, kind : str
        As in :class:`~tabsoda.edits.edit_set.Constraint`.
    known : int
        Respondents with all the answers that decide it.
    violated : int
        Those among them who violate it.
    example_rows : tuple of int
        The first of those rows, from 1.
    """

    title: str
    label: str
    kind: str
    known: int
    violated: int
    example_rows: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def check_edits(edits: EditSet, table: CodedTable) -> tuple[EditFinding, ...]:
    """Check the observed answers of a table, constraint by constraint.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind, Edit, Schema
    >>> ages = tuple(Column(name, ColumnKind.CONTINUOUS) for name in ("first", "now"))
    >>> table = CodedTable.from_values(ages, np.array([[12.0, 30], [40, 30], [np.nan, 30]]))
    >>> found = check_edits(EditSet.of(Schema(ages, (Edit("first <= now"),)), table), table)
    >>> found[0].known, found[0].violated, found[0].example_rows
    (2, 1, (2,))
    """
    truth = edits.truth(edits.named(table.values))
    findings = []
    for number, constraint in enumerate(edits.constraints):
        broken = np.flatnonzero(truth[:, number] == 0)
        findings.append(
            EditFinding(
                constraint.title,
                constraint.label,
                constraint.kind,
                int((~np.isnan(truth[:, number])).sum()),
                int(broken.size),
                tuple(int(row) + 1 for row in broken[:_EXAMPLES]),
            )
        )
    return tuple(findings)


def refuse_contradictions(edits: EditSet, table: CodedTable, rules: Any = None) -> None:
    """Raise if observed answers never satisfy a constraint, or never two of them together.

    Parameters
    ----------
    edits : EditSet
    table : CodedTable
        With the rules applied.
    rules : RuleSet, optional
        Routing rules, named if they make a constraint impossible.
    """
    named = edits.named(table.values)
    truth = edits.truth(named)
    for number, constraint in enumerate(edits.constraints):
        # "not (SMOKES == 1 and FIRST > 0)" holds where FIRST is skipped, which shows nothing.
        unknown = [np.isnan(named[name]) for name in constraint.names]
        truth[np.any(unknown, axis=0), number] = np.nan
        known = truth[~np.isnan(truth[:, number]), number]
        if known.size >= _FEWEST and not known.any():
            raise _never_satisfied(constraint, known.size, _rules_between(constraint, rules))
    for one, other in combinations(range(len(edits.constraints)), 2):
        first, second = edits.constraints[one], edits.constraints[other]
        if not edits.roots(first) & edits.roots(second):
            continue
        known = ~np.isnan(truth[:, one]) & ~np.isnan(truth[:, other])
        if known.sum() >= _FEWEST and not _together(truth[known][:, [one, other]]):
            raise InputError(
                f"The constraints '{first.title}' and '{second.title}' contradict each other",
                found=f"none of {int(known.sum()):,} respondents with all answers satisfies both",
                expected="constraints that most answers satisfy",
                next_step="Correct one of them; tabsoda check lists the answers",
            )


def _together(truth: NDArray[np.float64]) -> bool:
    return bool(truth.all(axis=1).any())


def _rules_between(constraint: Constraint, rules: Any) -> list[str]:
    """Return the rules that skip one column of a constraint because of another."""
    if rules is None:
        return []
    own = set(constraint.names)
    return [
        rule.identifier
        for rule in rules.active
        if rule.target in own and own & {c.column for path in rule.any_of for c in path}
    ]


def _never_satisfied(constraint: Constraint, known: int, rules: list[str]) -> InputError:
    source = constraint.expression.parsed.source
    named = f"; rule {', '.join(rules)} skips one of its questions" if rules else ""
    against = "the routing" if rules else "the data"
    place = f" in {source.place}" if source.place else ""
    is_one = constraint.kind != "bounds"
    subject = f"{source.what} {source.text!r}" if is_one else f"The bounds '{constraint.title}'"
    return InputError(
        f"{subject}{place} contradict{'s' * is_one} {against}",
        found=f"none of {known:,} respondents with all answers satisfies "
        f"{'it' if is_one else 'them'}{named}",
        expected="a condition that most answers satisfy",
        next_step="Correct it; tabsoda check lists the answers",
    )
