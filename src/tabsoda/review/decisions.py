"""The decisions of a reviewer on rules; each returns a new, signed rule set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tabsoda.errors import InputError
from tabsoda.review.findings import evidence_here, examine
from tabsoda.schema.column import Column
from tabsoda.skips.rule_files import column_to_dict, rules_from_document, to_document
from tabsoda.skips.rule_order import gates_first
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
        Why. If not given, the rule keeps its note.

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
        raise InputError("Unknown decision", found=repr(action), expected=" or ".join(ACTIONS))
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
    """Replace a rule's conditions, and count the evidence for them in the table.

    The rule has to be approved again. Invalid conditions raise :class:`InputError`, by the same
    checks as for a rules file.

    Parameters
    ----------
    rules : RuleSet
    identifier : str
    when : list of list of dict
        Conditions as in the rules file, but with ``levels``, the positions of answers among those
        of the gate, for ``is``: a browser cannot distinguish 1 from 1.0, nor store every integer.
    table : CodedTable
        The survey.
    by, at : str
    note : str, optional
        Why.
    """
    before = _rule(rules, identifier)
    document = _open_document(rules, table)
    entry = next(entry for entry in document["rule"] if entry["id"] == identifier)
    entry["when"] = _with_codes(when, {column.name: column for column in table.columns})
    changed = _rules_from(document)
    rule = replace(
        changed[identifier],
        status=RuleStatus.PROPOSED,
        note=before.note if note is None else note,
    )
    rule = replace(rule, evidence=evidence_here(rule, examine(changed, table)))
    decision = Decision("edited", by, at, note or "", rules.sentence(before))
    return changed.with_rules([rule.signed(decision)])


def add(
    rules: RuleSet,
    target: str,
    when: Any,
    table: CodedTable,
    *,
    by: str,
    at: str,
    note: str | None = None,
) -> tuple[RuleSet, str]:
    """Add a rule that a person wrote, with the evidence for it in the table.

    Parameters
    ----------
    rules : RuleSet
    target : str
        The question that is skipped.
    when : list of list of dict
        As in :func:`edit`.
    table : CodedTable
    by, at : str
    note : str, optional

    Returns
    -------
    rules : RuleSet
    identifier : str
        Of the new rule, which still has to be approved.
    """
    names = [column.name for column in table.columns]
    if target not in names:
        raise InputError("Unknown question", found=repr(target), expected=f"one of {len(names)}")
    identifier = _new_identifier(rules)
    document = _open_document(rules, table)
    columns = {column.name: column for column in table.columns}
    entry = {"id": identifier, "target": target, "when": _with_codes(when, columns)}
    document["rule"].append(entry)
    changed = _rules_from(document)
    rule = replace(changed[identifier], note=note or "")
    rule = replace(rule, evidence=evidence_here(rule, examine(changed, table)))
    return changed.with_rules([rule.signed(Decision("added", by, at, note or ""))]), identifier


def _new_identifier(rules: RuleSet) -> str:
    taken = {rule.identifier for rule in rules}
    number = len(taken) + 1
    while f"r{number:03d}" in taken:
        number += 1
    return f"r{number:03d}"


def _open_document(rules: RuleSet, table: CodedTable) -> dict[str, Any]:
    """Return the document of a rule set, with every question of the survey described."""
    document = to_document(rules)
    known = [column.name for column in rules.columns]
    entries = {entry["name"]: entry for entry in document["column"]}
    names = [column.name for column in table.columns]
    for place, column in enumerate(table.columns):
        entries[column.name] = column_to_dict(column)
        if column.name not in known:
            before = [known.index(name) for name in names[:place] if name in known]
            known.insert(max(before) + 1 if before else 0, column.name)
    document["column"] = [entries[name] for name in known]
    return document


def _rules_from(document: dict[str, Any]) -> RuleSet:
    """Read a document whose gates may come after their targets; they are moved before them."""
    names = [entry["name"] for entry in document["column"]]
    there = set(names)
    needed = [
        (item["gate"], rule["target"])
        for rule in document["rule"]
        for when in (rule["when"], *(rival["when"] for rival in rule.get("rivals", ())))
        for path in when
        if isinstance(path, list)
        for item in path
        if isinstance(item, dict) and item.get("gate") in there and rule["target"] in there
    ]
    if all(gate != target for gate, target in needed):
        entries = {entry["name"]: entry for entry in document["column"]}
        document["column"] = [entries[name] for name in gates_first(names, needed)]
    return rules_from_document(document, "with this change")


def _rule(rules: RuleSet, identifier: str) -> Any:
    try:
        return rules[identifier]
    except KeyError as error:
        raise InputError(
            f"There is no rule '{identifier}'", next_step="Load the page again"
        ) from error


def _with_codes(when: Any, columns: Mapping[str, Column]) -> Any:
    """Replace positions by the answers themselves; other forms are left to the file's checks."""
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
