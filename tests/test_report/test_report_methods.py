"""The methods paragraph states what draws, point estimates and skips come from."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tabsoda.engine.regressions import chain, screen
from tabsoda.engines import settings_for
from tabsoda.events import Event, EventLog
from tabsoda.report import methods
from tabsoda.report.methods import BARTLETT, describe_methods
from tabsoda.results import Imputations
from tabsoda.routing.record import RoutingRecord
from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import NOT_READ, Condition, RuleStatus, SkipRule
from tabsoda.table import CodedTable


def paragraph(result, rules=None, **manifest):
    return describe_methods(result, manifest, rules)["paragraph"]


def settings(preset):
    return settings_for(preset, 4000, 40).to_dict()


@pytest.fixture(scope="module")
def without_skips(draw):
    columns = (
        Column("a", ColumnKind.NOMINAL, (1, 2)),
        Column("b", ColumnKind.ORDINAL, (1, 2, 3)),
    )
    values = np.tile([[0.0, 2.0], [1.0, np.nan], [np.nan, 1.0]], (20, 1))
    table = CodedTable.from_values(columns, values)
    return Imputations(table, draw(table, 4), settings=settings("balanced"))


def test_draws_of_the_default_engine_come_from_regressions(without_skips):
    text = paragraph(without_skips, options={"seed": 7})

    assert "Draws come from chained regressions" in text
    assert "at most 24 other questions. Score tests, at a nominal" in text
    assert "10 sets of regressions" in text
    assert "a random 60% of its rows" in text
    assert "4 completed tables were drawn (random seed 7)" in text
    assert "Point estimates average the network, gradient-boosted trees" in text


def with_terms(result, *found, requested=(), **regressions):
    events = [Event("interaction_requested", None, {"questions": one}) for one in requested]
    events += [Event("interaction_in_draws", one, {"questions": terms}) for one, terms in found]
    changed = result.settings | {"regressions": result.settings["regressions"] | regressions}
    return replace(result, settings=changed, events=EventLog(events))


def test_the_search_for_products_is_described_even_if_nothing_was_found(without_skips):
    described = describe_methods(without_skips, None, None)

    assert (
        "at a nominal false discovery rate of 2% per question, found no product or curve"
        in described["paragraph"]
    )
    assert "without interactions" not in described["paragraph"]
    assert described["interactions"] == described["requested_interactions"] == []
    assert not any("Bartlett" in one for one in described["citations"])
    # The numbers are those of the engine.
    assert screen._FALSE_SHARE == methods.FALSE_SHARE
    assert chain._INCOMPLETE == methods.INCOMPLETE_SHARE


def test_products_in_draws_are_counted_and_the_first_ones_named(without_skips):
    found = [("b", ("a", "a")), *((f"q{n}", ("a", "b")) for n in range(6)), ("b", ("a", "q1"))]
    described = describe_methods(with_terms(without_skips, *found), None, None)
    text = described["paragraph"]

    assert (
        "8 for 7 questions (a squared for b, a:b for q0, a:b for q1, a:b for q2, a:b for q3,"
        " and 3 more)." in text
    )
    assert "at least 5% of the answers were missing" in text
    assert "Bartlett et al. 2015" in text
    assert described["citations"][1] == BARTLETT
    assert described["interactions"][0] == ["b", "a:a"]
    one = paragraph(with_terms(without_skips, ("b", ("a", "a"))))
    assert "1 for 1 question (a squared for b)." in one


def test_products_are_not_described_without_draws(without_skips, draw):
    result = with_terms(without_skips, ("b", ("a", "a")))
    described = describe_methods(replace(result, cells=draw(result.table, 0)), None, None)

    assert "product" not in described["paragraph"]
    assert BARTLETT not in described["citations"]


def test_requested_terms_are_named_whether_or_not_others_were_looked_for(without_skips):
    terms = [("a", "b"), ("b", "b")]
    looked = paragraph(with_terms(without_skips, requested=terms))
    assert "The terms a:b and b squared were specified by the analyst" in looked
    assert "found no product" in looked
    alone = paragraph(with_terms(without_skips, requested=terms[:1], interactions=False))
    assert "The term a:b was specified by the analyst" in alone
    assert "No other products and no curves were looked for." in alone
    assert not re.search("score tests", alone, re.IGNORECASE)


def test_straight_lines_are_stated(without_skips):
    text = paragraph(with_terms(without_skips, interactions=False))
    assert "at most 24 other questions, without interactions and curves." in text
    assert not re.search("score tests", text, re.IGNORECASE)


def test_draws_of_the_papers_engine_come_from_its_reverse_process(without_skips):
    text = paragraph(replace(without_skips, settings=settings("path")))

    assert "expectation maximisation" in text
    assert "reverse process" in text
    assert "regression" not in text


def test_point_estimates_alone_mention_no_draws(without_skips, draw):
    table = without_skips.table
    text = paragraph(Imputations(table, draw(table, 0), settings=without_skips.settings))

    assert "no multiple imputations were drawn" in text
    assert "chained regressions" not in text
    assert "Rubin" not in text


def test_no_skips_and_no_rules_are_stated_in_words(without_skips):
    empty = RuleSet((), ())
    for rules in (None, empty):
        text = paragraph(without_skips, rules)
        assert "No cell was identified as a structural skip." in text
        assert " 0 cells" not in text
        assert "0 routing rules" not in text


def test_skips_state_where_they_come_from(hostile, hostile_rules):
    skipped = int(hostile.table.states.skipped.sum())

    by_codes = paragraph(hostile)
    assert f"{skipped:,} cells that the questionnaire routed past" in by_codes
    assert "identified by skip codes in the data" in by_codes

    approved = paragraph(hostile, hostile_rules, inputs={"skip_mask": {"file": "", "sha256": ""}})
    assert "a skip mask and 1 routing rule (all approved)" in approved

    proposed = hostile_rules.with_rules(
        replace(rule, status=RuleStatus.PROPOSED) for rule in hostile_rules
    )
    mined = paragraph(hostile, proposed, options={"mine": True})
    assert "1 routing rule mined from the data (not reviewed)" in mined


def test_skips_that_codes_mark_are_not_credited_to_rules(draw):
    columns = (
        Column("gate", ColumnKind.NOMINAL, (1, 2)),
        Column("q", ColumnKind.NOMINAL, (1, 2), special_codes={-1: Reason.SKIP}),
    )
    values = np.tile([[0.0, 1.0], [1.0, np.nan], [0.0, np.nan]], (20, 1))
    skipped = np.tile([[False, False], [False, True], [False, False]], (20, 1))
    table = CodedTable.from_values(columns, values, skipped)
    result = Imputations(table, draw(table, 2), settings=settings("balanced"))
    rule = SkipRule(
        "r001", "q", ((Condition("gate", (2,)),),), status=RuleStatus.APPROVED,
        note="read in the questionnaire",
    )  # fmt: skip
    unread = replace(rule, note=f"--accept-all, {NOT_READ}")

    both = paragraph(result, RuleSet((rule,), columns), counts={"skipped_by_rules": 3})
    assert "identified by skip codes in the data and 1 routing rule (all approved)." in both
    codes = paragraph(result, RuleSet((unread,), columns), counts={"skipped_by_rules": 0})
    assert "identified by skip codes in the data, and 1 routing rule (all approved, all" in codes
    assert "without individual review) adds no further cell." in codes


def test_missing_gates_are_explained_only_where_draws_follow_rules(hostile, hostile_rules):
    said = "imputes that answer first"

    assert said not in paragraph(hostile, hostile_rules)
    followed = replace(hostile, routing=RoutingRecord())
    assert f"{said} and then skips or imputes the questions that depend on it. " in paragraph(
        followed, hostile_rules
    )
    settled = replace(hostile, routing=RoutingRecord(followers=10, skipped=(3, 5)))
    assert "(10 cells, of which on average 4 were skipped)" in paragraph(settled, hostile_rules)
    assert said not in paragraph(followed)
