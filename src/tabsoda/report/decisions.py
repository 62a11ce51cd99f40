"""Every automatic decision, grouped by kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tabsoda.event_texts import detail, heading, stage
from tabsoda.events import Event
from tabsoda.report.suppression import withhold_alone, withhold_counts
from tabsoda.routing.record import RoutingRecord
from tabsoda.skips.rule_set import RuleSet

ROUTING = "routing"


def group_events(events: Iterable[Event], suppress_below: int = 0) -> list[dict[str, Any]]:
    """Group decisions by kind, in the order they were first taken.

    Parameters
    ----------
    events : iterable of Event
    suppress_below : int
        Counts from 1 to this minus 1 are withheld.

    Returns
    -------
    list of dict
        ``stage``, ``kind``, ``heading``, ``times`` and ``cases`` (``column``, ``counts`` and
        ``text`` of each).

    Examples
    --------
    >>> found = group_events([Event("column_constant", "Q7", {"answers": 300}),
    ...                       Event("column_constant", "Q8", {"answers": 4})], suppress_below=10)
    >>> found[0]["heading"], found[0]["times"]
    ('constant', 2)
    >>> [case["text"] for case in found[0]["cases"]]
    ['300 equal answers', 'fewer than 10 equal answers']
    """
    groups: dict[tuple[str, str, str], list[Event]] = {}
    for event in events:
        shown = Event(event.kind, event.column, withhold_counts(event.counts, suppress_below))
        groups.setdefault((stage(event), event.kind, heading(event)), []).append(shown)
    return [
        {
            "stage": taken_in,
            "kind": kind,
            "heading": decided,
            "times": len(group),
            "cases": [
                {"column": one.column, "counts": one.to_dict()["counts"], "text": detail(one)}
                for one in group
            ],
        }
        for (taken_in, kind, decided), group in groups.items()
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
        The counts of the run.
    rules : RuleSet or None
        For the sentences.
    suppress_below : int
    """
    routing_events = group_events((one for one in events if stage(one) == ROUTING), suppress_below)
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
