"""Rivals: other conditions that fit as well, kept with a rule and chosen in its place."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from tabsoda.errors import InputError
from tabsoda.review.findings import examine, flags_of
from tabsoda.review.summary import rules_summary
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.rule_files import dump_rules
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, Evidence, Rival, RuleStatus, SkipRule
from tabsoda.skips.screening import Counts, evidence
from tabsoda.table import CodedTable

FORM = Column("FORM", ColumnKind.NOMINAL, (1, 2), level_labels={1: "A", 2: "B"})
HALF_A = Column("QA", ColumnKind.NOMINAL, (1, 2))
HALF_B = Column("QB", ColumnKind.NOMINAL, (1, 2))
ANSWERED = ((Condition("QA", (1, 2)),),)
FORM_A = ((Condition("FORM", (1,)),),)


def table():
    """Return 200 rows: form 1 is asked QA, form 2 is asked QB, five of form 1 refuse QA."""
    form = np.repeat([0.0, 1.0], 100)
    qa = np.where(form == 0, np.arange(200) % 2, np.nan)
    qb = np.where(form == 1, np.arange(200) % 2, np.nan)
    qa[:5] = np.nan
    return CodedTable.from_values((FORM, HALF_A, HALF_B), np.column_stack([form, qa, qb]))


def rule_set():
    rule = SkipRule(
        "r001",
        "QB",
        ANSWERED,
        evidence(Counts(95, 0, 5, 100), 0.001),
        status=RuleStatus.APPROVED,
        rivals=(Rival(FORM_A, 100, 0),),
    )
    return RuleSet((rule,), (FORM, HALF_A, HALF_B))


def test_choosing_a_rival_exchanges_it_with_the_rule():
    rules = rule_set().choose_rival("r001", 0, by="Ann", note="the form decides")
    rule = rules["r001"]
    assert rule.any_of == FORM_A
    assert rule.rivals == (Rival(ANSWERED, 95, 0),)
    assert rule.status is RuleStatus.PROPOSED
    assert (rule.by, rule.note) == ("Ann", "the form decides")
    decision = rule.history[-1]
    assert (decision.did, decision.by, decision.why) == ("edited", "Ann", "the form decides")
    assert decision.before == "QB is skipped when QA was answered"
    # The counts follow from the rival's and the target's totals, which the rule had.
    expected = evidence(Counts(100, 0, 0, 100), 0.0)
    assert rule.evidence == replace(expected, q_value=expected.p_value)


def test_choosing_twice_gives_the_first_conditions_back():
    once = rule_set().choose_rival("r001", 0)
    twice = once.choose_rival("r001", 0)["r001"]
    before = rule_set()["r001"]
    assert (twice.any_of, twice.rivals) == (before.any_of, before.rivals)
    assert twice.evidence == replace(before.evidence, q_value=before.evidence.p_value)
    assert len(twice.history) == 2


def test_counts_written_by_hand_are_kept_where_the_totals_are_unknown():
    rule = SkipRule("r1", "QB", ANSWERED, rivals=(Rival(FORM_A, 100, 3),))
    chosen = RuleSet((rule,), (FORM, HALF_A, HALF_B)).choose_rival("r1", 0)["r1"]
    assert chosen.evidence == Evidence(100, 3, 0, 0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize(("identifier", "index"), [("r002", 0), ("r001", 1), ("r001", -1)])
def test_a_rival_that_is_not_there_is_an_error(identifier, index):
    with pytest.raises(InputError):
        rule_set().choose_rival(identifier, index)


def test_the_file_says_each_rival_as_a_sentence():
    text = dump_rules(rule_set())
    entry = tomllib.loads(text)["rule"][0]["rivals"][0]
    assert entry == {
        "sentence": "QB is skipped when FORM is 1 'A'",
        "when": [[{"gate": "FORM", "is": [1]}]],
        "fired_blank": 100,
        "fired_answered": 0,
    }
    # The gate of a rival is described, so that it can be chosen from the file alone.
    assert [column.name for column in rule_set().columns] == ["FORM", "QA", "QB"]


def test_a_rival_that_cannot_be_applied_is_an_error():
    later = Rival(((Condition("QB", (1,)),),))
    with pytest.raises(InputError, match="does not come before"):
        RuleSet((SkipRule("r1", "QA", FORM_A, rivals=(later,)),), (FORM, HALF_A, HALF_B))


def test_rivals_are_counted_in_the_reviewed_table_and_flagged():
    rules = rule_set()
    examined = examine(rules, table())
    assert examined.rivals["r001"] == (Counts(100, 0, 0, 100),)
    rule = rules["r001"]
    flags = {flag.kind: flag.text for flag in flags_of(rule, examined.counts(rule))}
    assert flags["rivals"] == "Other conditions fit as well: FORM."
    entry = rules_summary(rules, examined)["rules"][0]
    # Whatever QA was answered, QB is skipped: the rule names who was asked, not why.
    assert [flag["kind"] for flag in entry["flags"]] == ["rivals", "no answer named"]
    [shown] = entry["rivals"]
    assert shown["reasons"] == "FORM is 1 'A'"
    assert shown["when"][0][0]["levels"] == [0]
    assert shown["counts"]["fired_blank"] == 100


def test_a_rival_gives_no_hidden_count_away():
    rules = rule_set()
    summary = rules_summary(rules, examine(rules, table()), below=10)
    # Five blanks are left open by the rule; the margins of the rival would reveal them.
    assert summary["rules"][0]["counts"]["silent_blank"] is None
    assert set(summary["rules"][0]["rivals"][0]["counts"].values()) == {None}
