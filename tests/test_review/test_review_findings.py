"""Counts, patterns and flags say what the data say, and small ones can be hidden."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.review.findings import evidence_here, examine, flags_of
from tabsoda.review.patterns import example_patterns
from tabsoda.review.small_cells import hide_small
from tabsoda.review.summary import rules_summary
from tabsoda.skips.rule_set import RuleSet


def rules_of(rules_file):
    return RuleSet.from_toml(rules_file)


def test_counts_follow_the_routing(smoking, rules_file):
    rules = rules_of(rules_file)
    examined = examine(rules, smoking.table)
    ever, _, now, packs, _ = smoking.table.values.T
    never = ever == 1
    first = examined.counts(rules["r001"])
    assert first.fired_asked == 5
    assert first.fired_blank == (never & np.isnan(now)).sum()
    assert first.silent_blank == 0
    # Whoever skipped NOW skips PACKS, too; the five who answered NOW did not skip it.
    second = examined.counts(rules["r002"])
    assert second.fired_blank == ((now == 2) | (never & np.isnan(now))).sum()
    assert second.silent_blank == (np.isnan(packs) & never & (now == 0)).sum() == 5


def test_a_rejected_rule_is_counted_but_routes_nobody(smoking, rules_file):
    rules = rules_of(rules_file)
    before = examine(rules, smoking.table)
    after = examine(rules.reject("r001"), smoking.table)
    assert after.counts(rules["r001"]) == before.counts(rules["r001"])
    # Without it nobody skipped NOW, so only those who said no are led past PACKS.
    assert after.counts(rules["r002"]).fired_blank == (smoking.table.values[:, 2] == 2).sum()


def test_flags_name_what_deserves_a_look(smoking, rules_file):
    rules = rules_of(rules_file)
    examined = examine(rules, smoking.table)
    flags = {rule.identifier: flags_of(rule, examined.counts(rule)) for rule in rules}
    assert {name: [flag.kind for flag in found] for name, found in flags.items()} == {
        "r001": ["contradicted"],
        "r002": ["extension"],
        "r003": [],
    }
    fired = examined.counts(rules["r001"]).fired
    assert flags["r001"][0].text == f"5 of {fired} were asked although the rule fires."


def test_patterns_count_every_respondent_once(smoking, rules_file):
    rules = rules_of(rules_file)
    examined = examine(rules, smoking.table)
    patterns = example_patterns(rules["r003"], examined)
    said = {(p.kind, *p.gates, p.target): p.count for p in patterns}
    age, retired = smoking.table.values[:, 1], smoking.table.values[:, 4]
    assert said == {
        ("explained", "up to 60", "blank"): (age <= 60).sum(),
        ("unexplained", "above 60", "blank"): 7,
        ("asked", "above 60", "1"): ((age > 60) & (retired == 0)).sum(),
        ("asked", "above 60", "2"): ((age > 60) & (retired == 1)).sum(),
    }
    assert sum(said.values()) == 400
    chained = {(p.kind, *p.gates) for p in example_patterns(rules["r002"], examined)}
    assert ("explained", "skipped") in chained


def test_hidden_counts_are_hidden_everywhere(smoking, rules_file):
    rules = rules_of(rules_file)
    examined = examine(rules, smoking.table)
    summary = rules_summary(rules, examined, below=10)
    first = summary["rules"][0]
    # The five, and the smallest other count, from which they could be told.
    assert first["counts"]["fired_asked"] is None
    assert list(first["counts"].values()).count(None) == 2
    assert first["precision_lower"] is first["coverage"] is None
    assert "5" not in first["flags"][0]["text"]
    for rule in rules:
        patterns = example_patterns(rule, examined, below=10)
        assert all(pattern.count >= 10 for pattern in patterns)
        hidden = {
            kind
            for kind, name in (
                ("contradicts", "fired_asked"),
                ("explained", "fired_blank"),
                ("unexplained", "silent_blank"),
                ("asked", "silent_asked"),
            )
            if next(r for r in summary["rules"] if r["id"] == rule.identifier)["counts"][name]
            is None
        }
        # Patterns of a hidden count would add up to it.
        assert not hidden & {pattern.kind for pattern in patterns}


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(0, 20))
def test_no_hidden_count_can_be_computed_from_the_total(counts, below):
    shown = hide_small(counts, below)
    hidden = [count for count, kept in zip(counts, shown, strict=True) if kept is None]
    assert all(kept is None or kept == count for count, kept in zip(counts, shown, strict=True))
    assert not [kept for kept in shown if kept is not None and 0 < kept < below]
    if below <= 1:
        assert not hidden
    if len(hidden) == 1:
        # Alone only where everything else is zero, and the total itself is the small count.
        assert sum(counts) == hidden[0]


def test_an_edited_rule_gets_the_evidence_of_this_table(smoking, rules_file):
    rules = rules_of(rules_file)
    examined = examine(rules, smoking.table)
    found = evidence_here(rules["r001"], examined)
    assert found.fired_answered == 5
    assert found.q_value == found.p_value < 1e-50
    assert found.coverage == 1.0
