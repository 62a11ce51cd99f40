"""What a reviewer can do to rules; every change gives a new rule set, signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tabsoda.errors import InputError
from tabsoda.review.findings import evidence_here, examine
from tabsoda.schema.column import Column
from tabsoda.skips.rule_files import rules_from_document, to_document
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Decision, RuleStatus
from tabsoda.table import CodedTable

_STATUS = {
    "approve": ("approved", RuleStatus.APPROVED),
    "reject": ("rejected", RuleStatus.REJECTED),
    "reopen": ("reopened", RuleStatus.PROPOSED),
    "note": ("noted", None),
}
ACTIONS = tuple(_STATUS)


def decide(
    rules: RuleSet,
    identifiers: Sequence[str],
    action: str,
    *,
    by: str,
    at: str,
    note: str | None = None,
) -> RuleSet:
    """Approve, reject, reopen or annotate rules.

    Parameters
    ----------
    rules : RuleSet
    identifiers : sequence of str
    action : str
        One of :data:`ACTIONS`.
    by, at : str
        Who, and when.
    note : str, optional
        Why. Left out, the rule keeps the note it has.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> from tabsoda.skips.rules import Condition, SkipRule
    >>> columns = Column("a", ColumnKind.NOMINAL, (1, 2)), Column("b", ColumnKind.CONTINUOUS)
    >>> rules = RuleSet((SkipRule("r1", "b", ((Condition("a", (2,)),),)),), columns)
    >>> done = decide(rules, ["r1"], "reject", by="Ann", at="2026-01-01", note="another universe")
    >>> done["r1"].status.value, done["r1"].by, done["r1"].history[-1].why
    ('rejected', 'Ann', 'another universe')
    """
    if action not in ACTIONS:
        raise InputError(
            "There is no such decision", found=repr(action), expected=" or ".join(ACTIONS)
        )
    did, status = _STATUS[action]
    changed = []
    for identifier in identifiers:
        rule = _rule(rules, identifier)
        kept = replace(
            rule,
            status=rule.status if status is None else status,
            note=rule.note if note is None else note,
        )
        changed.append(kept.signed(Decision(did, by, at, note or "")))
    return rules.with_rules(changed)


def edit(
    rules: RuleSet,
    identifier: str,
    when: Any,
    table: CodedTable,
    *,
    by: str,
    at: str,
    note: str | None = None,
) -> RuleSet:
    """Give a rule other conditions, and the evidence that the table holds for them.

    The rule has to be approved anew. What makes no sense raises :class:`InputError`, found by the
    same code that reads a rules file.

    Parameters
    ----------
    rules : RuleSet
    identifier : str
    when : list of list of dict
        Conditions as in the rules file, but with ``levels``, the positions of answers among those
        of the gate, for ``is``: a browser cannot tell 1 from 1.0, nor hold every whole number.
    table : CodedTable
        The survey.
    by, at : str
    note : str, optional
        Why.
    """
    before = _rule(rules, identifier)
    document = to_document(rules)
    entry = next(entry for entry in document["rule"] if entry["id"] == identifier)
    entry["when"] = _with_codes(when, rules.column_of)
    changed = rules_from_document(document, "with this change")
    rule = replace(
        changed[identifier],
        status=RuleStatus.PROPOSED,
        note=before.note if note is None else note,
    )
    rule = replace(rule, evidence=evidence_here(rule, examine(changed, table)))
    decision = Decision("edited", by, at, note or "", rules.sentence(before))
    return changed.with_rules([rule.signed(decision)])


def _rule(rules: RuleSet, identifier: str) -> Any:
    try:
        return rules[identifier]
    except KeyError as error:
        raise InputError(
            f"There is no rule '{identifier}'", next_step="Load the page again"
        ) from error


def _with_codes(when: Any, columns: Mapping[str, Column]) -> Any:
    """Replace positions by the answers themselves; other shapes are left to the reader's checks."""
    if not isinstance(when, list):
        return when
    return [
        [_condition(item, columns) for item in path] if isinstance(path, list) else path
        for path in when
    ]


def _condition(item: Any, columns: Mapping[str, Column]) -> Any:
    if not isinstance(item, dict) or "levels" not in item:
        return item
    gate = columns.get(str(item.get("gate")))
    codes = gate.levels if gate is not None else ()
    positions = item["levels"]
    if not isinstance(positions, list) or not all(
        type(position) is int and 0 <= position < len(codes) for position in positions
    ):
        raise InputError(
            f"The answers of '{item.get('gate')}' cannot be read",
            found=repr(positions)[:80],
            expected=f"positions from 0 to {len(codes) - 1}",
        )
    rest = {name: value for name, value in item.items() if name != "levels"}
    return rest | ({"is": [codes[position] for position in positions]} if positions else {})
