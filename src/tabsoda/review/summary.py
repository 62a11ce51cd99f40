"""The content of the review page as plain values."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from tabsoda.errors import InputError
from tabsoda.review.findings import Examined, flags_of, later_gates, unnamed_answers
from tabsoda.review.patterns import example_patterns
from tabsoda.review.small_cells import hide_small
from tabsoda.schema.column import Column
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.skips.screening import wilson_upper
from tabsoda.skips.sentences import reasons_text

_COUNTS = ("fired_blank", "fired_asked", "silent_blank", "silent_asked")


def rules_summary(rules: RuleSet, examined: Examined, below: int = 0) -> dict[str, Any]:
    """Return rules, columns and routing graph, ready for JSON.

    Parameters
    ----------
    rules : RuleSet
    examined : Examined
        The survey with these rules applied.
    below : int, default 0
        Counts below this are hidden; see :func:`tabsoda.review.small_cells.hide_small`.
    """
    return {
        "rules": [
            _rule(rule, rules, examined, below) | {"rivals": _rivals(rule, rules, examined, below)}
            for rule in rules
        ],
        "columns": [_column(column) for column in examined.table.columns],
        "graph": _graph(rules),
    }


def patterns_summary(
    rules: RuleSet, identifier: str, examined: Examined, below: int = 0
) -> dict[str, Any]:
    """Return the example patterns of one rule, ready for JSON."""
    try:
        rule = rules[identifier]
    except KeyError as error:
        raise InputError(f"There is no rule '{identifier}'") from error
    return {
        "gates": list(rule.gates),
        "target": rule.target,
        "patterns": [asdict(pattern) for pattern in example_patterns(rule, examined, below)],
    }


def _rule(rule: SkipRule, rules: RuleSet, examined: Examined, below: int) -> dict[str, Any]:
    columns = rules.column_of
    counts = examined.counts(rule)
    shown = hide_small([getattr(counts, name) for name in _COUNTS], below)
    exact = None not in shown
    target = columns[rule.target]
    return {
        "id": rule.identifier,
        "target": rule.target,
        "label": target.label,
        "universe": target.universe,
        "sentence": rules.sentence(rule),
        "reasons": reasons_text(rule, columns),
        "gates": list(rule.gates),
        "when": _when(rule.any_of, examined),
        "status": rule.status.value,
        "note": rule.note,
        "by": rule.by,
        "at": rule.at,
        "history": [asdict(decision) for decision in rule.history],
        "counts": dict(zip(_COUNTS, shown, strict=True)),
        # Shares would reveal hidden counts.
        "precision_lower": 1 - float(wilson_upper(counts.fired_asked, counts.fired))
        if exact
        else None,
        "coverage": counts.fired_blank / counts.blank if exact and counts.blank else None,
        "flags": [
            asdict(flag)
            for flag in flags_of(
                rule,
                counts,
                exact=exact,
                later=later_gates(rule, examined.table),
                unnamed=unnamed_answers(rule, columns),
            )
        ],
    }


def _rivals(rule: SkipRule, rules: RuleSet, examined: Examined, below: int) -> list[dict[str, Any]]:
    """Return the rivals in the order of ``rule.rivals``, counted in this table."""
    columns = rules.column_of
    counted = examined.rivals[rule.identifier]
    tables = [
        [getattr(counts, name) for name in _COUNTS] for counts in (examined.counts(rule), *counted)
    ]
    # All tables have the same margins, so one could reveal counts hidden in another.
    exact = all(None not in hide_small(table, below) for table in tables)
    return [
        {
            "reasons": reasons_text(replace(rule, any_of=rival.any_of), columns),
            "gates": list(rival.gates),
            "when": _when(rival.any_of, examined),
            "counts": {
                name: count if exact else None for name, count in zip(_COUNTS, table, strict=True)
            },
        }
        for rival, table in zip(rule.rivals, tables[1:], strict=True)
    ]


def _when(
    any_of: tuple[tuple[Condition, ...], ...], examined: Examined
) -> list[list[dict[str, Any]]]:
    """Return conditions whose levels are positions among those of the survey's columns."""
    columns = {column.name: column for column in examined.table.columns}
    return [[_condition(one, columns[one.column]) for one in path] for path in any_of]


def _condition(condition: Condition, gate: Column) -> dict[str, Any]:
    return {
        "gate": condition.column,
        "levels": [gate.levels.index(level) for level in condition.levels],
        "above": condition.above,
        "up_to": condition.up_to,
        "or_skipped": condition.or_skipped,
        "or_blank": condition.or_blank,
        "reasons": [reason.value for reason in condition.reasons],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "label": column.label,
        "kind": column.kind.value,
        "levels": [column.describe_level(level) for level in column.levels],
    }


def _graph(rules: RuleSet) -> dict[str, Any]:
    """Return the routing graph with the depth of each question: 0 for gates that nothing skips."""
    graph = rules.graph()
    depth = {node.name: 0 for node in graph.nodes}
    # Rules are in questionnaire order and gates precede their targets, so one pass is enough.
    for edge in graph.edges:
        depth[edge.target] = max(depth[edge.target], depth[edge.gate] + 1)
    edges = {(edge.gate, edge.target): edge.rule for edge in graph.edges}
    return {
        "nodes": [asdict(node) | {"depth": depth[node.name]} for node in graph.nodes],
        "edges": [
            {"gate": gate, "target": target, "rule": rule} for (gate, target), rule in edges.items()
        ],
    }
