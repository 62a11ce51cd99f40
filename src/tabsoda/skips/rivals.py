"""Rivals of a rule: other conditions that fit as well and can replace its own."""

from __future__ import annotations

from dataclasses import replace

from tabsoda.errors import InputError
from tabsoda.skips.rules import NO_EVIDENCE, Evidence, Rival, RuleStatus, SkipRule
from tabsoda.skips.screening import Counts, evidence


def exchanged(rule: SkipRule, index: int) -> SkipRule:
    """Return the rule with the conditions of a rival, and its former conditions as the rival.

    The stored counts are exchanged, too, without recounting. The rule has to be approved again.
    """
    if not 0 <= index < len(rule.rivals):
        raise InputError(
            f"Rule '{rule.identifier}' has no such rival",
            found=str(index),
            expected=f"a number from 0 to {len(rule.rivals) - 1}"
            if rule.rivals
            else "a rule with rivals",
        )
    rival = rule.rivals[index]
    former = Rival(rule.any_of, rule.evidence.fired_blank, rule.evidence.fired_answered)
    return replace(
        rule,
        any_of=rival.any_of,
        evidence=_evidence_of(rival, rule.evidence),
        rivals=(*rule.rivals[:index], former, *rule.rivals[index + 1 :]),
        status=RuleStatus.PROPOSED,
    )


def _evidence_of(rival: Rival, known: Evidence) -> Evidence:
    """Complete a rival's counts with the totals of the target, which the rule's counts give."""
    n_blank = known.fired_blank + known.silent_blank
    n_answered = known.fired_answered + known.silent_answered
    if rival.fired_blank > n_blank or rival.fired_answered > n_answered:
        # Counts written by hand: evidence that they do not determine stays at its worst value.
        return replace(
            NO_EVIDENCE, fired_blank=rival.fired_blank, fired_answered=rival.fired_answered
        )
    counts = Counts(
        rival.fired_blank,
        rival.fired_answered,
        n_blank - rival.fired_blank,
        n_answered - rival.fired_answered,
    )
    found = evidence(counts, q_value=1.0)
    # A person chose it: one test, not one of many.
    return replace(found, q_value=found.p_value)
