"""Every automatic decision, grouped so that many columns do not hide the one that matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tabsoda.events import Event
from tabsoda.report.suppression import withhold_alone, withhold_in_text
from tabsoda.routing.record import RoutingRecord
from tabsoda.skips.rule_set import RuleSet

ROUTING = "routing"


def group_events(events: Iterable[Event], suppress_below: int = 0) -> list[dict[str, Any]]:
    """Group decisions by stage and kind, in the order they were first taken.

    Returns
    -------
    list of dict
        ``stage``, ``decision``, ``times`` and ``cases`` (column and detail of each).

    Examples
    --------
    >>> found = group_events([Event("encode", "ordinal encoded as bits", "Q7", "91 %"),
    ...                       Event("encode", "ordinal encoded as bits", "Q8", "95 %")])
    >>> found[0]["times"], [case["column"] for case in found[0]["cases"]]
    (2, ['Q7', 'Q8'])
    """
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        groups.setdefault((event.stage, event.decision), []).append(event)
    return [
        {
            "stage": stage,
            "decision": decision,
            "times": len(group),
            "cases": [
                {"column": one.column, "detail": withhold_in_text(one.detail, suppress_below)}
                for one in group
            ],
        }
        for (stage, decision), group in groups.items()
    ]


def gate_conflicts(
    events: Iterable[Event],
    record: RoutingRecord | None,
    rules: RuleSet | None,
    suppress_below: int = 0,
) -> dict[str, Any] | None:
    """Summarise how missing gates and dependent questions were resolved; None if there were none.

    Parameters
    ----------
    events : iterable of Event
        Those of stage ``"routing"`` are listed.
    record : RoutingRecord or None
        What the run counted.
    rules : RuleSet or None
        For the sentences.
    suppress_below : int
    """
    routing_events = group_events((one for one in events if one.stage == ROUTING), suppress_below)
    if record is None:
        nothing: dict[str, Any] = {"policy": None, "counts": {}, "by_rule": [], "left_missing": 0}
        return {**nothing, "events": routing_events} if routing_events else None
    counts: dict[str, float] = {
        "Missing gates that other questions depend on": record.gates,
        "Missing cells that depend on them": record.followers,
    }
    if record.skipped:
        counts["Cells skipped because of a drawn gate, mean over the draws"] = record.mean_skipped
    if record.withheld:
        counts["Missing cells of respondents who had left the interview"] = record.withheld
    if record.left_missing:
        counts["Cells left missing because every answer would break a rule"] = record.n_left_missing
    if not any(counts.values()) and not record.counts and not routing_events:
        return None
    sentences = {} if rules is None else {one.identifier: rules.sentence(one) for one in rules}
    by_rule: dict[str, dict[str, int]] = {}
    for (rule, kind), count in record.counts.items():
        by_rule.setdefault(rule, {})[kind] = count
    for (_, rule), count in record.left_missing.items():
        kinds = by_rule.setdefault(rule, {})
        kinds["left_missing"] = kinds.get("left_missing", 0) + count
    return {
        "policy": record.policy,
        "counts": {
            name: None if 0 < count < suppress_below else count for name, count in counts.items()
        },
        "by_rule": [
            {
                "rule": rule,
                "sentence": sentences.get(rule, ""),
                **{
                    kind: withhold_alone(kinds.get(kind, 0), suppress_below)
                    for kind in ("skipped", "ruled_out", "kept", "left_missing")
                },
            }
            for rule, kinds in sorted(by_rule.items())
        ],
        "left_missing": withhold_alone(record.n_left_missing, suppress_below),
        "events": routing_events,
    }
