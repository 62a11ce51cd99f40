"""Count mined rules with all rules applied, and drop those that then fail the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tabsoda.events import EventLog
from tabsoda.skips.forward import Routing, route
from tabsoda.skips.presence import Absence
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import SkipRule
from tabsoda.skips.screening import Counts, evidence, position_caps, wilson_upper
from tabsoda.skips.settings import MinerSettings
from tabsoda.table import CodedTable

# passes(counts, position of the target) -> whether a rule may stay
Passes = Callable[[Counts, int], bool]


def recounted(
    rules: tuple[SkipRule, ...],
    table: CodedTable,
    absence: Absence | None,
    passes: Passes,
    events: EventLog,
) -> tuple[tuple[SkipRule, ...], Routing]:
    """Return the rules that pass on the routed table with their counts there, and the routing.

    The search counts each rule on its own codes. The counts stored with a rule come from
    :func:`~tabsoda.skips.forward.route`, which ``check``, the review page and the imputer use, too.
    A dropped rule may have skipped the gate of another, so the remaining rules are counted again
    until all pass.

    Parameters
    ----------
    rules : tuple of SkipRule
    table : CodedTable
        With the skips known from codes or a mask.
    absence : Absence or None
    passes : callable
        ``passes(counts, position)`` for the target's position.
    events : EventLog
        Receives one event per dropped rule.
    """
    while True:
        rule_set = RuleSet(rules, table.columns, absence=absence)
        routing = route(rule_set, table)
        counts = {rule.identifier: routing.counts(rule) for rule in rules}
        dropped = [
            rule
            for rule in rules
            if not passes(counts[rule.identifier], table.names.index(rule.target))
        ]
        if not dropped:
            break
        for rule in dropped:
            found = counts[rule.identifier]
            events.add(
                "mined_rule_dropped",
                column=rule.target,
                rule=rule_set.sentence(rule),
                blank=found.fired_blank,
                asked=found.fired_asked,
            )
        rules = tuple(rule for rule in rules if rule not in dropped)
    return tuple(_with_counts(rule, counts[rule.identifier], routing) for rule in rules), routing


def _with_counts(rule: SkipRule, counts: Counts, routing: Routing) -> SkipRule:
    rivals = tuple(
        replace(rival, fired_blank=found.fired_blank, fired_answered=found.fired_asked)
        for rival, found in zip(rule.rivals, routing.rival_counts(rule), strict=True)
    )
    return replace(rule, evidence=evidence(counts, rule.evidence.q_value), rivals=rivals)


def screen_of(name: str, table: CodedTable, settings: MinerSettings) -> Passes:
    """Return the test that a rule must pass once all rules are applied.

    Parameters
    ----------
    name : {"purity", "paper"}
    table : CodedTable
    settings : MinerSettings
    """

    def pure(counts: Counts, position: int) -> bool:
        purity = settings.purity
        asked_share = counts.asked / (counts.asked + counts.blank)
        most = min(purity.max_asked_share, purity.max_relative_share * asked_share)
        upper = wilson_upper(counts.fired_asked, counts.fired)
        return bool(counts.fired_blank >= purity.min_support and upper <= most)

    def as_in_the_paper(counts: Counts, position: int) -> bool:
        paper = settings.paper
        caps = position_caps(position, table.shape[1], table.shape[0], counts.blank, paper)
        # Rules extended from a neighbour passed the looser of the two caps.
        extended = paper.neighbor_false_positive * paper.max_false_positive_rate
        upper = wilson_upper(counts.fired_asked, counts.asked, paper.confidence_z)
        return bool(upper <= max(caps.false_positive, extended))

    return pure if name == "purity" else as_in_the_paper
