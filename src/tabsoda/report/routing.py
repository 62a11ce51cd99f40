"""The routing: rules as sentences with their counts, and a graph of gates and skips."""

from __future__ import annotations

from collections import Counter
from typing import Any

from markupsafe import Markup

from tabsoda._internal.svg import element, number, picture
from tabsoda.report.suppression import withhold_named
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import NO_EVIDENCE, SkipRule
from tabsoda.skips.sentences import reasons_text

# Rows of the graph; neighbouring questions with the same reason share one.
_MOST_GROUPS = 150
_ROW, _TOP, _CHARACTER = 22, 14, 6.4
_LONGEST_NAME, _LONGEST_REASON = 44, 110


def describe_rules(rules: RuleSet, suppress_below: int = 0) -> dict[str, Any]:
    """Return the rules and their graph as plain values.

    Returns
    -------
    dict
        ``rules`` (identifier, sentence, universe, 2x2 counts, status, note), ``statuses`` (how
        many of each), ``groups`` (for :func:`routing_graph`) and ``groups_left_out``.
    """
    columns = rules.column_of
    listed = [
        {
            "identifier": rule.identifier,
            "target": rule.target,
            "label": columns[rule.target].label,
            "sentence": rules.sentence(rule),
            "universe": columns[rule.target].universe,
            "counts": _counts(rule, suppress_below),
            "status": rule.status.value,
            "note": rule.note,
            "extended_from": rule.extended_from,
            "by": rule.by,
            "at": rule.at,
        }
        for rule in rules
    ]
    groups = _groups(rules)
    return {
        "rules": listed,
        "statuses": dict(Counter(rule["status"] for rule in listed)),
        "groups": groups[:_MOST_GROUPS],
        "groups_left_out": max(len(groups) - _MOST_GROUPS, 0),
    }


def routing_graph(groups: list[dict[str, Any]]) -> Markup:
    """Draw questions in questionnaire order, with an arc from each gate to the questions it skips.

    Parameters
    ----------
    groups : list of dict
        From :func:`describe_rules`.
    """
    place = {name: row for row, group in enumerate(groups) for name in group["names"]}
    spans = [
        (place[gate], row)
        for row, group in enumerate(groups)
        for gate in group["gates"]
        if gate in place and place[gate] != row
    ]
    longest = max((abs(end - start) for start, end in spans), default=1)
    reach = min(40 + 12 * longest**0.5, 130)
    parts = []
    for start, end in spans:
        out = reach * (abs(end - start) / longest) ** 0.5
        y0, y1 = _y(start), _y(end)
        bend = number(reach - out)
        path = f"M{number(reach)} {y0}C{bend} {y0} {bend} {y1} {number(reach)} {y1}"
        parts.append(element("path", class_="arc", d=path))
    for row, group in enumerate(groups):
        kind = "dot target" if group["gates"] else "dot"
        parts.append(element("circle", class_=kind, cx=reach, cy=_y(row), r=4))
        name = _cut(group["caption"], _LONGEST_NAME)
        reason = _cut(group["reason"], _LONGEST_REASON)
        line = [element("tspan", name, class_="name")]
        if reason:
            line.append(element("tspan", f"  {reason}", class_="reason", dx=8))
        parts.append(element("text", *line, x=reach + 12, y=_y(row) + 4, font_size=12))
    longest_text = max(
        (
            len(_cut(group["caption"], _LONGEST_NAME)) + len(_cut(group["reason"], _LONGEST_REASON))
            for group in groups
        ),
        default=10,
    )
    width = reach + 40 + _CHARACTER * longest_text
    height = 2 * _TOP + _ROW * len(groups)
    return picture(width, height, "Which gates skip which questions", *parts, class_="graph")


def _groups(rules: RuleSet) -> list[dict[str, Any]]:
    """Merge neighbouring questions that are skipped for the same reasons into one row."""
    columns = rules.column_of
    by_target: dict[str, list[SkipRule]] = {}
    for rule in rules.active:
        by_target.setdefault(rule.target, []).append(rule)
    used = {name for rule in rules.active for name in (rule.target, *rule.gates)}
    is_gate = {name for rule in rules.active for name in rule.gates}
    groups: list[dict[str, Any]] = []
    before: Any = None
    for name in (column.name for column in rules.columns if column.name in used):
        reasons = tuple(rule.any_of for rule in by_target.get(name, []))
        if reasons and reasons == before and name not in is_gate:
            groups[-1]["names"].append(name)
        else:
            texts = [reasons_text(rule, columns) for rule in by_target.get(name, [])]
            gates = dict.fromkeys(gate for rule in by_target.get(name, []) for gate in rule.gates)
            reason = f"skipped when {'; or when '.join(texts)}" if texts else ""
            groups.append({"names": [name], "gates": list(gates), "reason": reason})
        # A gate gets its own row, so that its arcs start from one question.
        before = None if name in is_gate else reasons
    for group in groups:
        names = group["names"]
        more = f" to {names[-1]} ({len(names)} questions)" if len(names) > 1 else ""
        group["caption"] = f"{names[0]}{more}"
    return groups


def _counts(rule: SkipRule, suppress_below: int) -> dict[str, int | None] | None:
    """Return the rule's 2x2 table; None if it was written by hand and never counted."""
    if rule.evidence == NO_EVIDENCE:
        return None
    names = ("fired_blank", "fired_answered", "silent_blank", "silent_answered")
    # The four counts add up to the number of rows.
    return withhold_named({name: getattr(rule.evidence, name) for name in names}, suppress_below)


def _y(row: int) -> int:
    return _TOP + _ROW * row + _ROW // 2


def _cut(text: str, longest: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
