"""What happens to rules that nobody reviewed: refused, or applied and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabsoda.errors import RulesNotApprovedError
from tabsoda.events import EventLog
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import RuleStatus

if TYPE_CHECKING:
    from tabsoda.states.cell_states import CellStates
    from tabsoda.table import CodedTable

ACCEPTED = "accepted without review"
FROM_MODEL = "as they came with the model"
_SHOWN = 3


def unreviewed(rules: RuleSet) -> tuple[str, ...]:
    """Return the identifiers of the rules that nobody has approved or rejected."""
    return tuple(rule.identifier for rule in rules if rule.status is RuleStatus.PROPOSED)


def require_review(rules: RuleSet, *, accepted: bool, file: str | None = None) -> None:
    """Raise where rules were not reviewed, unless they are accepted as they are.

    A wrong rule turns missing answers into skips for good, so somebody must have looked at it.

    Parameters
    ----------
    rules : RuleSet
    accepted : bool
        Use them without review.
    file : str, optional
        Where the rules were read from.

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> rules = make_survey(n_rows=100, n_columns=12).rules
    >>> require_review(rules, accepted=False)
    """
    waiting = unreviewed(rules)
    if not waiting or accepted:
        return
    more = len(waiting) - _SHOWN
    shown = ", ".join(waiting[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    where = "" if file is None else f" in '{file}'"
    raise RulesNotApprovedError(
        f"{len(waiting)} of {len(rules)} rules{where} are not reviewed",
        found=f"status proposed for {shown}",
        expected="every rule approved or rejected",
        next_step=f"Review them with: tabsoda review {file or 'RULES'} DATA, or add --accept-all"
        " (in Python: accept_unreviewed=True) to use them as they are",
    )


def apply_rules(
    table: CodedTable, rules: RuleSet, events: EventLog, how: str = ACCEPTED
) -> CellStates:
    """Mark what rules skip, and record how many cells that are and which rules nobody reviewed.

    Parameters
    ----------
    table : CodedTable
    rules : RuleSet
    events : EventLog
    how : str
        Why rules without a review are applied.
    """
    states = rules.apply(table)
    added = int(states.skipped.sum() - table.states.skipped.sum())
    detail = f"{added} cells by {len(rules.active)} rules"
    events.add("skips", "skips taken from rules", detail=detail)
    waiting = unreviewed(rules)
    if waiting:
        detail = f"{len(waiting)} of {len(rules)} rules, {how}: {', '.join(waiting)}"
        events.add("skips", "unreviewed rules applied", detail=detail)
    rejected = len(rules) - len(rules.active)
    if rejected:
        events.add("skips", "rejected rules not applied", detail=f"{rejected} rules")
    return states
