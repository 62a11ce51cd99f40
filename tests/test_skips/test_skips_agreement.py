"""Miner, rules file, ``check``, review page and imputer agree, whatever codes and masks say."""

import numpy as np
import pytest
from coded_surveys import as_file, coded_surveys
from hypothesis import given, settings

from tabsoda import TabSODAImputer
from tabsoda.review.findings import examine
from tabsoda.review.summary import rules_summary
from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.checking import check
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.settings import MinerSettings
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable

NOMINAL = ColumnKind.NOMINAL
TINY = {"training": {"max_steps": 20}}


@pytest.mark.parametrize("screen", ["purity", "paper"])
@settings(max_examples=25, deadline=None)
@given(coded_surveys())
def test_mine_check_and_review_agree(screen, tmp_path_factory, table):
    mined = SkipMiner(MinerSettings.preset("small-survey"), screen=screen).mine(table)
    rules = RuleSet.from_mined(mined, table.columns)
    path = tmp_path_factory.getbasetemp() / "agreement.toml"
    rules.to_toml(path)
    rules = RuleSet.from_toml(path)
    found = check(table, rules)
    shown = rules_summary(rules, examine(rules, table))["rules"]
    for rule, finding, card in zip(rules, found.rules, shown, strict=True):
        counts = rule.evidence
        assert (finding.blank, finding.asked) == (counts.fired_blank, counts.fired_answered)
        assert finding.fired == finding.blank + finding.asked
        assert card["counts"] == {
            "fired_blank": counts.fired_blank,
            "fired_asked": counts.fired_answered,
            "silent_blank": counts.silent_blank,
            "silent_asked": counts.silent_answered,
        }
        assert card["precision_lower"] == pytest.approx(1 - counts.answered_upper)
        assert ("contradicted" in {f["kind"] for f in card["flags"]}) == (finding.asked > 0)
    assert found.states == mined.states == rules.apply(table)
    known = table.states.skipped
    assert np.array_equal(found.states.skipped, mined.explained | known)


def _with_reasons(columns, values, known, reason, rows, column):
    states = CodedTable.from_values(columns, values, known).states
    reasons = states.reasons.copy()
    reasons[rows, column] = reason_code(reason)
    states = CellStates.from_masks(states.answered, states.skipped, states.names, reasons)
    return CodedTable(columns, values, states)


def test_a_skip_code_that_leads_to_answers_makes_no_rule():
    """Half of the skips of "child" are codes of another kind, and those respondents answer."""
    n = 2000
    rng = np.random.default_rng(0)
    married, child, school = (rng.integers(0, 2, n).astype(float) for _ in range(3))
    child[married == 1] = np.nan
    other_code = np.flatnonzero(married == 0)[:500]
    child[other_code] = np.nan
    school[np.isnan(child) & (married == 1)] = np.nan
    known = np.zeros((n, 3), dtype=bool)
    known[other_code, 1] = True
    columns = tuple(Column(name, NOMINAL, (1, 2)) for name in ("married", "child", "school"))
    table = CodedTable.from_values(columns, np.column_stack([married, child, school]), known)
    mined = SkipMiner().mine(table)
    (rule,) = [rule for rule in mined.rules if rule.target == "school"]
    assert [(c.column, c.levels, c.or_skipped) for c in rule.any_of[0]] == [
        ("married", (2,), False)
    ]
    finding = check(table, RuleSet.from_mined(mined, columns)).rules[-1]
    assert (finding.blank, finding.answered) == (int((married == 1).sum()), 0)


def test_known_skips_of_the_target_are_blanks_that_a_rule_explains():
    n = 400
    gate = (np.arange(n) % 2).astype(float)
    follower = np.where(gate == 1, np.nan, 1.0)
    columns = (Column("gate", NOMINAL, (1, 2)), Column("follower", NOMINAL, (1, 2)))
    known = np.zeros((n, 2), dtype=bool)
    known[: n // 2, 1] = np.isnan(follower[: n // 2])
    # One skip that no rule explains: its code says so although the gate leads to it.
    follower[0], known[0, 1] = np.nan, True
    mined = SkipMiner().mine(
        CodedTable.from_values(columns, np.column_stack([gate, follower]), known)
    )
    assert mined.rules[0].evidence.fired_blank == 200
    assert (mined.explained.sum(), mined.states.skipped.sum()) == (200, 201)
    kept = [e.counts["cells"] for e in mined.events if e.kind == "known_skips_kept"]
    assert kept == [1]


@pytest.mark.parametrize("reason", [Reason.REFUSED, Reason.DONT_KNOW, Reason.OTHER])
@pytest.mark.parametrize("kind", [NOMINAL, ColumnKind.CONTINUOUS])
def test_a_reason_that_leads_past_a_question_becomes_a_condition(reason, kind):
    n = 1000
    rng = np.random.default_rng(1)
    gate = rng.integers(0, 2, n).astype(float)
    rows = np.arange(n) < 200
    gate[rows] = np.nan
    blanks = rng.random(n) < 0.02
    gate[blanks] = np.nan
    follower = np.where((gate == 1) | (rows & np.isnan(gate)), np.nan, rng.integers(0, 2, n))
    levels = (1, 2) if kind is NOMINAL else ()
    columns = (Column("gate", kind, levels), Column("follower", NOMINAL, (1, 2)))
    values = np.column_stack([gate, follower])
    table = _with_reasons(columns, values, np.zeros((n, 2), bool), reason, rows, 0)
    mined = SkipMiner().mine(table)
    ((condition,),) = mined.rules[0].any_of
    assert condition.reasons == (reason,)
    assert not condition.or_blank
    assert mined.states.skipped[rows, 1].all()
    assert not mined.states.skipped[~rows & np.isnan(gate), 1].any()


@pytest.mark.parametrize(
    ("n_refused", "asked", "joins"), [(200, False, True), (200, True, False), (29, False, False)]
)
def test_a_reason_joins_where_enough_of_those_who_give_it_are_not_asked(n_refused, asked, joins):
    n = 1000
    rng = np.random.default_rng(2)
    gate = rng.integers(0, 2, n).astype(float)
    rows = np.arange(n) < n_refused
    gate[rows] = np.nan
    follower = np.where((gate == 1) | (rows & (not asked)), np.nan, rng.integers(0, 2, n))
    columns = tuple(Column(name, NOMINAL, (1, 2)) for name in ("gate", "follower"))
    values = np.column_stack([gate, follower])
    table = _with_reasons(columns, values, np.zeros((n, 2), bool), Reason.REFUSED, rows, 0)
    ((condition,),) = SkipMiner().mine(table).rules[0].any_of
    assert (condition.levels, condition.reasons) == ((2,), (Reason.REFUSED,) * joins)


@pytest.mark.parametrize(
    ("n_no", "n_refused", "n_asked", "found"),
    [
        # 68 blanks without exception are too few for the Wilson bound; 80 are enough.
        (68, 12, 0, (2, Reason.REFUSED)),
        (68, 0, 0, None),
        (68, 12, 1, None),
        (68, 12, 12, None),
        # The rule passes without the reason.
        (80, 12, 0, (2,)),
        # Three refusers could all have gone this way by chance.
        (72, 3, 0, None),
        (72, 4, 0, (2, Reason.REFUSED)),
    ],
)
def test_a_rare_reason_joins_where_the_rule_does_not_pass_without_it(
    n_no, n_refused, n_asked, found
):
    n = 1000
    row = np.arange(n)
    refused = (row >= n_no) & (row < n_no + n_refused)
    gate = np.where(refused, np.nan, row < n_no)
    follower = np.where(row < n_no + n_refused - n_asked, np.nan, row % 2)
    columns = tuple(Column(name, NOMINAL, (1, 2)) for name in ("gate", "follower"))
    values = np.column_stack([gate, follower])
    table = _with_reasons(columns, values, np.zeros((n, 2), bool), Reason.REFUSED, refused, 0)
    mined = SkipMiner().mine(table)
    conditions = [condition for rule in mined.rules for (condition,) in rule.any_of]
    assert [(*c.levels, *c.reasons) for c in conditions] == ([] if found is None else [found])
    joined = found is not None and Reason.REFUSED in found
    assert mined.states.skipped[:, 1].sum() == (0 if found is None else n_no + joined * n_refused)


def test_rare_reasons_alone_make_no_rule():
    n = 1000
    row = np.arange(n)
    gate = np.where(row < 87, np.nan, row % 2)
    follower = np.where(row < 87, np.nan, 1.0)
    columns = tuple(Column(name, NOMINAL, (1, 2)) for name in ("gate", "follower"))
    values = np.column_stack([gate, follower])
    states = CodedTable.from_values(columns, values).states
    reasons = states.reasons.copy()
    for place, reason in enumerate((Reason.REFUSED, Reason.DONT_KNOW, Reason.OTHER)):
        reasons[29 * place : 29 * (place + 1), 0] = reason_code(reason)
    states = CellStates.from_masks(states.answered, states.skipped, states.names, reasons)
    assert SkipMiner().mine(CodedTable(columns, values, states)).rules == ()


def test_a_rule_that_fails_once_all_rules_are_applied_is_dropped_with_an_event():
    n = 400
    gate = (np.arange(n) % 2).astype(float)
    follower = np.where(gate == 1, np.nan, 1.0)
    columns = (Column("gate", NOMINAL, (1, 2)), Column("follower", NOMINAL, (1, 2)))
    values = np.column_stack([gate, follower])
    miner = SkipMiner()
    mined = miner.mine(CodedTable.from_values(columns, values))
    assert len(mined.rules) == 1
    values[gate == 1, 1] = np.where(np.arange(200) < 60, 1.0, np.nan)
    later = miner.recount(mined, CodedTable.from_values(columns, values))
    assert later.rules == ()
    assert not later.states.skipped.any()
    (event,) = [e for e in later.events if e.kind == "mined_rule_dropped"]
    assert event.column == "follower"
    assert dict(event.counts) == {
        "rule": "follower is skipped when gate is 2",
        "blank": 140,
        "asked": 60,
    }


@settings(max_examples=2, deadline=None)
@given(coded_surveys())
def test_impute_leaves_empty_what_check_calls_skipped(table):
    _imputes_as_checked(table)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(coded_surveys())
def test_impute_leaves_empty_what_check_calls_skipped_over_many_surveys(table):
    _imputes_as_checked(table)


def _imputes_as_checked(table):
    frame, schema, mask = as_file(table)
    mined = SkipMiner().mine(table)
    rules = RuleSet.from_mined(mined, table.columns)
    imputer = TabSODAImputer(settings=TINY, description=schema, skips="mine", device="cpu")
    imputer.fit(frame, skip_mask=mask)
    assert imputer.rules_.rules == rules.rules
    kept = imputer.set_params(gate_policy="keep").impute(frame, m=1, skip_mask=mask)
    assert np.array_equal(kept.skipped_in(1), check(table, rules).states.skipped)
    assert np.array_equal(kept.skipped_in(1), np.isnan(kept.values(1)))
    # A completed table speaks of gates that are answered by then.
    result = imputer.set_params(gate_policy="follow").impute(frame, m=1, skip_mask=mask)
    values, empty = result.values(1), result.skipped_in(1)
    left = np.isnan(values) & ~empty
    assert left.sum() == result.routing.n_left_missing
    known, reasons = table.states.skipped, np.where(left, table.states.reasons, 0)
    states = CellStates.from_masks(~np.isnan(values), known, table.names, reasons)
    after = check(CodedTable(table.columns, values, states), rules).states
    assert np.array_equal(after.skipped, empty)
