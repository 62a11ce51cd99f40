"""Every completed table keeps to the rules; observed answers never change."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from questionnaires import (
    broken_cells,
    completed,
    random_table,
    rule_sets,
    tiny_engine,
)

from tabsoda.datasets import make_survey
from tabsoda.event_texts import stage
from tabsoda.events import Event, EventLog
from tabsoda.paper.engine import PaperEngine
from tabsoda.reading import read_survey
from tabsoda.routing.following import GateFollowingImputer
from tabsoda.routing.record import RoutingRecord
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.routes import sorted_descendants
from tabsoda.routing.unresolved import find_unresolved, reopened
from tabsoda.schema.column import Column, ColumnKind, Reason
from tabsoda.skips.checking import check
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.presence import Absence
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable


@cache
def _engine() -> PaperEngine:
    return tiny_engine(random_table(150, 0))


def _follow(table, rules, n_draws, engine=None):
    """Impute a table of answers and blanks; return it with its states, the cells and the record."""
    engine = engine or _engine()
    fillable = engine.fillable
    known = table.states.skipped
    marked = table.with_states(rules.apply(table))
    marked = reopened(marked, rules, fillable, known)
    models = RouteModels.fit(marked, rules)
    events = EventLog()
    cells, record = GateFollowingImputer(engine, rules, models).impute(
        marked, n_draws, events=events
    )
    return marked, cells, record, events


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rule_sets(), st.integers(0, 10**6))
def test_no_draw_breaks_a_rule_and_blanks_stay_only_where_no_answer_fits(rules, seed):
    _keeps_to(rules, seed)


def test_a_rule_that_any_answer_fulfils_leaves_the_gate_and_what_hangs_on_it_is_imputed():
    """d is skipped when a was answered; b and c follow a, and e follows d's blank."""
    columns = (
        *(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abcd"),
        Column("e", ColumnKind.NOMINAL, (1, 2)),
    )
    rules = RuleSet(
        (
            SkipRule("rb", "b", ((Condition("a", (2,)),),)),
            SkipRule("rc", "c", ((Condition("b", (2,), or_skipped=True),),)),
            SkipRule("rd", "d", ((Condition("a", (1, 2)),),)),
            SkipRule("re", "e", ((Condition("a", (), or_blank=True),),)),
        ),
        columns,
    )
    generator = np.random.default_rng(0)
    values = generator.integers(2, size=(200, 5)).astype(float)
    values[:, 3] = np.nan
    values[values[:, 0] == 1, 1] = np.nan
    values[np.isnan(values[:, 1]) | (values[:, 1] == 1), 2] = np.nan
    nan = np.nan
    values[:20] = [nan, nan, nan, 1.0, nan]
    table = CodedTable.from_values(columns, values)
    engine = tiny_engine(table.with_states(rules.apply(table)))
    _, cells, record, events = _follow(table, rules, 4, engine)
    assert record.left_missing == {("a", "rd"): 20}
    assert record.to_dict()["left_missing"] == {"a": {"rd": 20}}
    assert RoutingRecord.from_dict(record.to_dict()) == record
    draws = np.full((4, 200, 5), -1.0)
    draws[:, cells.rows, cells.positions] = cells.draws
    # The gate is imputed nowhere; b hangs on nothing now; e is skipped, as a blank gate says.
    assert (draws[:, :20, 0] == -1).all()
    assert np.isin(draws[:, :20, 1], [0, 1]).all()
    assert np.array_equal(np.isnan(draws[:, :20, 2]), draws[:, :20, 1] == 1)
    assert np.isnan(draws[:, :20, 4]).all()
    left = [event for event in events if event.kind == "cells_left_missing"]
    assert left == [Event("cells_left_missing", "a", {"cells": 20, "rules": ["rd"]})]


def test_a_refusal_that_known_answers_lead_past_is_not_imputed():
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "ab")
    rules = RuleSet((SkipRule("r", "b", ((Condition("a", (2,)),),)),), columns)
    values = np.random.default_rng(0).integers(2, size=(90, 2)).astype(float)
    values[values[:, 0] == 1, 1] = np.nan
    values[:10] = [1, np.nan]
    values[10:20] = [0, np.nan]
    table = CodedTable.from_values(columns, values)
    reasons = table.states.reasons.copy()
    reasons[:20, 1] = reason_code(Reason.REFUSED)
    states = table.states
    table = table.with_states(
        CellStates.from_masks(states.answered, states.skipped, states.names, reasons)
    )
    engine = tiny_engine(table.with_states(rules.apply(table)))
    _, cells, record, _ = _follow(table, rules, 2, engine)
    assert record.left_missing == {("b", "r"): 10}
    assert cells.rows.tolist() == list(range(10, 20))
    assert not np.isnan(cells.draws).any()


def test_a_route_that_skips_a_blank_gate_is_taken_where_any_other_breaks_a_rule():
    """The last question was asked, so the second was skipped, so the first is 1."""
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abc")
    first = (Condition("a", (1,), reasons=(Reason.OTHER,)),)
    second = (Condition("b", (1, 2), or_blank=True),)
    rules = RuleSet(
        (
            SkipRule("past b", "b", (first,), status=RuleStatus.APPROVED),
            SkipRule("past c", "c", (second,), status=RuleStatus.APPROVED),
        ),
        columns,
    )
    generator = np.random.default_rng(0)
    values = generator.integers(2, size=(200, 3)).astype(float)
    values[values[:, 0] == 0, 1] = np.nan
    values[values[:, 0] == 1, 2] = np.nan
    values[:20] = (np.nan, np.nan, 1.0)
    table = CodedTable.from_values(columns, values)
    reasons = table.states.reasons.copy()
    reasons[:20, 0] = reason_code(Reason.OTHER)
    states = table.states
    table = table.with_states(
        CellStates.from_masks(states.answered, states.skipped, states.names, reasons)
    )
    assert not broken_cells(rules, table)
    marked, cells, _, _ = _follow(table, rules, 3, tiny_engine(table))
    assert (cells.draws[:, (cells.positions == 0) & (cells.rows < 20)] == 0).all()
    for imputed in (*cells.draws, cells.mode, cells.median):
        assert not broken_cells(rules, completed(marked, cells, imputed))


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rule_sets(), st.integers(0, 10**6))
def test_no_draw_breaks_a_rule_over_many_questionnaires(rules, seed):
    _keeps_to(rules, seed)


def _keeps_to(rules, seed):
    table = random_table(40, seed, refused=0.4)
    marked, cells, record, _ = _follow(table, rules, 2)
    before = broken_cells(rules, table)
    after_refusal = _asked_after_refusal(marked, rules)
    imputed_cells = np.zeros(table.shape, dtype=bool)
    imputed_cells[cells.rows, cells.positions] = True
    left = marked.states.missing & ~imputed_cells
    assert left.sum() == record.n_left_missing
    for imputed in (*cells.draws, cells.mode, cells.median):
        whole = completed(marked, cells, imputed)
        answered = table.states.answered
        assert np.array_equal(whole.values[answered], table.values[answered])
        assert broken_cells(rules, whole) <= before | after_refusal
        states = check(whole, rules).states
        assert not (states.missing & ~left).any()
    drawn = [broken_cells(rules, completed(marked, cells, imputed)) for imputed in cells.draws]
    # Rules that fire on a missing gate were broken before, too, until the gate is drawn.
    if not any(c.asks_for_missing for rule in rules for path in rule.any_of for c in path):
        assert record.total("kept") == sum(len(broken - before) for broken in drawn)


def _asked_after_refusal(table, rules):
    """Rules and rows in which the question was asked because a gate before it was refused."""
    reasons = RouteModels.fit(table, rules).reasons
    free = reasons.free_cells(table.states, sorted_descendants(rules, table))
    return {
        (rule.identifier, int(row))
        for rule in rules.active
        for row in np.flatnonzero(free[:, table.names.index(rule.target)])
    }


def _chain():
    """Four questions; each 2 leads past the next, and a skip past the rest."""
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abcd")
    rules = tuple(
        SkipRule(
            f"r{target}",
            target,
            ((Condition(gate, (2,), or_skipped=True),),),
            status=RuleStatus.APPROVED,
        )
        for gate, target in zip("abc", "bcd", strict=True)
    )
    return columns, RuleSet(rules, columns)


@pytest.fixture(scope="module")
def chain():
    columns, rules = _chain()
    generator = np.random.default_rng(0)
    values = generator.integers(2, size=(1200, 4)).astype(float)
    for position in (1, 2, 3):
        past = (values[:, position - 1] == 1) | np.isnan(values[:, position - 1])
        values[past, position] = np.nan
    # The first 400 were not heard at all beyond a random first answer that is lost, too.
    values[:400] = np.nan
    table = CodedTable.from_values(columns, values)
    return rules, table, tiny_engine(table.with_states(rules.apply(table)), steps=60)


def test_a_cascade_of_depth_three_follows_the_shares_of_the_process(chain):
    rules, table, engine = chain
    _, cells, _, _ = _follow(table, rules, 5, engine)
    rows = cells.rows < 400
    shares = []
    for position in range(4):
        drawn = cells.draws[:, rows & (cells.positions == position)]
        assert drawn.shape == (5, 400)
        shares.append(np.isnan(drawn).mean())
    # Each question halves who is left. What was learned from 800 rows has an error of its own.
    for share, true in zip(shares, (0.0, 1 / 2, 3 / 4, 7 / 8), strict=True):
        error = 3.5 * np.sqrt(true * (1 - true) * (1 / 800 + 1 / 2000))
        assert abs(share - true) <= error + 1e-12, (shares, true)
    for imputed in cells.draws:
        whole = np.full((400, 4), np.nan)
        whole[cells.rows[rows], cells.positions[rows]] = imputed[rows]
        skipped = np.isnan(whole)
        assert np.array_equal(skipped[:, 1:], skipped[:, :-1] | (whole[:, :-1] == 1))


def test_shares_follow_what_else_is_known_of_the_respondent():
    """The gate is "no" with probability .2 or .8, depending on another question."""
    columns = (
        Column("sex", ColumnKind.NOMINAL, (1, 2)),
        Column("ever", ColumnKind.NOMINAL, (1, 2)),
        Column("often", ColumnKind.ORDINAL, (1, 2, 3)),
    )
    rules = RuleSet((SkipRule("r", "often", ((Condition("ever", (2,)),),)),), columns)
    generator = np.random.default_rng(1)
    sex = generator.integers(2, size=2400).astype(float)
    ever = (generator.random(2400) < np.where(sex == 1, 0.8, 0.2)).astype(float)
    often = np.where(ever == 1, np.nan, generator.integers(3, size=2400))
    ever[:800] = often[:800] = np.nan
    table = CodedTable.from_values(columns, np.column_stack([sex, ever, often]))
    marked = table.with_states(rules.apply(table))
    _, cells, record, _ = _follow(table, rules, 4, tiny_engine(marked, steps=60))
    follower = cells.positions == 2
    for level, true in ((0, 0.2), (1, 0.8)):
        drawn = cells.draws[:, follower & (sex[cells.rows] == level)]
        share, error = np.isnan(drawn).mean(), 3.5 * np.sqrt(0.16 * (1 / 800 + 1 / 1600))
        assert abs(share - true) < error + 0.01, (level, share)
    assert record.mean_skipped == np.isnan(cells.draws).sum() / 4
    gates = cells.draws[:, cells.positions == 1]
    assert np.array_equal(gates == 1, np.isnan(cells.draws[:, follower]))


def _asked_table(reasons=None):
    columns, rules = _chain()
    nan = np.nan
    values = np.array([[nan, 0, nan, nan], [nan, nan, nan, 1.0], [nan, nan, nan, nan]] * 30)
    table = CodedTable.from_values(columns, values)
    if reasons is not None:
        states = table.states
        combined = np.where(reasons > 0, reasons, states.reasons).astype(np.uint8)
        states = CellStates.from_masks(states.answered, states.skipped, states.names, combined)
        table = table.with_states(states)
    return rules, table


def test_a_gate_never_leads_past_a_question_that_was_answered_however_far_down(chain):
    rules, table = _asked_table()
    _, cells, record, events = _follow(table, rules, 6, chain[2])
    draws = np.full((6, 90, 4), np.nan)
    draws[:, cells.rows, cells.positions] = cells.draws
    assert (draws[:, 0::3, 0] == 0).all()
    # The answer to d says that all three gates before it were answered with 1.
    assert (draws[:, 1::3, :3] == 0).all()
    assert 0 < (draws[:, 2::3, 0] == 1).mean() < 1
    assert record.n_left_missing == 0
    assert record.counts["rb", "ruled_out"] == 6 * 30
    assert [event.kind for event in events if stage(event) == "routing"] == [
        "followers_settled_by_drawn_gates",
        "gate_answers_ruled_out",
    ]


def test_a_refused_question_was_asked_and_is_imputed_in_every_draw(chain):
    reasons = np.zeros((90, 4), dtype=np.uint8)
    reasons[2::3, 2] = reason_code(Reason.REFUSED)
    rules, table = _asked_table(reasons)
    _, cells, record, _ = _follow(table, rules, 4, chain[2])
    refused = (cells.rows % 3 == 2) & (cells.positions == 2)
    assert refused.sum() == 30
    assert not np.isnan(cells.draws[:, refused]).any()
    assert record.n_left_missing == 0


def test_where_no_answer_avoids_a_conflict_the_gate_is_left_and_the_answer_stays():
    columns = (
        Column("a", ColumnKind.NOMINAL, (1, 2)),
        Column("b", ColumnKind.NOMINAL, (1, 2)),
    )
    both = SkipRule("r", "b", ((Condition("a", (1,)),), (Condition("a", (2,)),)))
    rules = RuleSet((both,), columns)
    generator = np.random.default_rng(0)
    values = np.column_stack([generator.integers(2, size=60), np.full(60, np.nan)]).astype(float)
    values[:7, 0], values[:7, 1] = np.nan, [0, 1, 0, 1, 0, 1, 0]
    table = CodedTable.from_values(columns, values)
    engine = tiny_engine(table.with_states(rules.apply(table)))
    marked, cells, record, _ = _follow(table, rules, 3, engine)
    assert (record.counts, record.left_missing) == ({}, {("a", "r"): 7})
    assert cells.rows.size == 0
    assert np.array_equal(completed(marked, cells, cells.draws[0]).values[:7, 1], values[:7, 1])


def test_a_number_is_left_where_only_numbers_that_nobody_gave_would_fit():
    columns = (Column("hours", ColumnKind.CONTINUOUS), Column("b", ColumnKind.NOMINAL, (1, 2)))
    rules = RuleSet((SkipRule("r", "b", ((Condition("hours", up_to=65.0),),)),), columns)
    generator = np.random.default_rng(0)
    values = np.column_stack([generator.integers(10, 66, size=60), np.full(60, np.nan)])
    # Asked b: hours above 65, which nobody gave. Not asked: any hours.
    values[:12, 0], values[:7, 1] = np.nan, [0, 1, 0, 1, 0, 1, 0]
    table = CodedTable.from_values(columns, values)
    engine = tiny_engine(table.with_states(rules.apply(table)))
    _, cells, record, events = _follow(table, rules, 3, engine)
    assert record.left_missing == {("hours", "r"): 7}
    hours = cells.positions == 0
    assert sorted(cells.rows[hours]) == [7, 8, 9, 10, 11]
    assert (cells.draws[:, hours] <= 65).all()
    assert "cells_left_missing" in {event.kind for event in events}
    # With one respondent above 65, there is something to draw from.
    values[59] = [70, 1]
    table = CodedTable.from_values(columns, values)
    engine = tiny_engine(table.with_states(rules.apply(table)))
    _, cells, record, _ = _follow(table, rules, 3, engine)
    assert record.n_left_missing == 0
    assert (cells.draws[:, (cells.positions == 0) & (cells.rows < 7)] > 65).all()


def test_a_known_skip_determines_the_gate_even_if_another_follower_is_blank():
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abc")
    rules = RuleSet(tuple(SkipRule(f"r{t}", t, ((Condition("a", (2,)),),)) for t in "bc"), columns)
    generator = np.random.default_rng(0)
    values = generator.integers(2, size=(200, 3)).astype(float)
    values[values[:, 0] == 1, 1:] = np.nan
    values[:20] = np.nan
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:20, 1] = True
    table = CodedTable.from_values(columns, values, skipped)
    engine = tiny_engine(table.with_states(rules.apply(table)))
    _, cells, _, _ = _follow(table, rules, 3, engine)
    assert (cells.draws[:, (cells.rows < 20) & (cells.positions == 0)] == 1).all()
    assert np.isnan(cells.draws[:, (cells.rows < 20) & (cells.positions == 2)]).all()


def test_results_do_not_depend_on_the_order_of_rows():
    survey = make_survey(150, seed=5, n_columns=40)
    table = survey.table
    engine = tiny_engine(table.with_states(survey.rules.apply(table)))
    order = np.random.default_rng(0).permutation(150)
    _, cells, record, _ = _follow(table, survey.rules, 2, engine)
    _, moved, moved_record, _ = _follow(table.rows(order), survey.rules, 2, engine)
    one, other = np.full((2, *table.shape), np.nan), np.full((2, *table.shape), np.nan)
    one[:, cells.rows, cells.positions] = cells.draws
    other[:, moved.rows, moved.positions] = moved.draws
    np.testing.assert_allclose(one[:, order], other, rtol=1e-4, atol=1e-4)
    assert record == moved_record
    assert record.mean_skipped > 0


def test_rows_that_hang_on_nothing_are_imputed_as_the_engine_does_alone():
    survey = make_survey(150, seed=6, n_columns=40)
    table = survey.table
    engine = tiny_engine(table.with_states(survey.rules.apply(table)))
    marked, cells, _, _ = _follow(table, survey.rules, 2, engine)
    plain = engine.impute(marked, 2)
    free = ~find_unresolved(marked, survey.rules, engine.fillable).rows
    assert 10 < free.sum() < 150
    assert np.array_equal(cells.rows, plain.rows)
    mine = free[cells.rows]
    np.testing.assert_allclose(cells.draws[:, mine], plain.draws[:, mine], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(cells.mode[mine], plain.mode[mine], rtol=1e-4, atol=1e-4)


def test_planted_rules_hold_in_every_draw_with_hidden_gates():
    # Without stray answers, some answer of every gate agrees with all that was asked.
    survey = make_survey(300, seed=7, nonresponse=0.02, violations=0.0)
    gates = sorted({name for rule in survey.rules for name in rule.gates})
    hidden = np.zeros(survey.table.shape, dtype=bool)
    generator = np.random.default_rng(0)
    for name in gates:
        hidden[:, survey.names.index(name)] = generator.random(300) < 0.2
    table = survey.table.with_states(
        survey.table.states.hide(hidden & survey.table.states.answered)
    )
    engine = tiny_engine(table.with_states(survey.rules.apply(table)))
    marked, cells, record, _ = _follow(table, survey.rules, 3, engine)
    before = check(marked, survey.rules)
    assert record.n_left_missing == 0
    for imputed in cells.draws:
        after = check(completed(marked, cells, imputed), survey.rules)
        assert after.n_answered_although_skipped <= before.n_answered_although_skipped
        assert sum(column.unexplained for column in after.columns) == 0


def test_what_absent_respondents_are_led_past_is_skipped_in_every_completed_table():
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abcdefg")
    rule = SkipRule("r", "b", ((Condition("a", (2,)),),))
    rules = RuleSet((rule,), columns, absence=Absence(quiet_run=3, max_present_share=0.05))
    generator = np.random.default_rng(0)
    values = generator.integers(2, size=(500, 7)).astype(float)
    values[:200, 1:] = np.nan
    values[values[:, 0] == 1, 1] = np.nan
    table = CodedTable.from_values(columns, values)
    left = values[:200, 0] == 1
    states = rules.apply(table)
    assert states.missing[:200, 1].all()
    engine = tiny_engine(table.with_states(states))
    marked, cells, record, _ = _follow(table, rules, 2, engine)
    assert record.withheld == left.sum() == record.skipped[0]
    assert record.followers == 0
    for imputed in (*cells.draws, cells.mode):
        whole = completed(marked, cells, imputed)
        assert np.array_equal(np.isnan(whole.values[:200, 1]), left)
        assert check(whole, rules).n_answered_although_skipped == 0


@pytest.mark.slow
def test_draws_of_a_real_survey_under_its_mined_rules_add_no_violation(surveys):
    folder = surveys / "nsfg2006_2010_male"
    table = read_survey(folder / "values.parquet", folder / "schema.json").table
    table = table.rows(np.arange(2500))
    rules = RuleSet.from_mined(SkipMiner().mine(table), table.columns)
    engine = tiny_engine(table.with_states(rules.apply(table)))
    marked, cells, record, _ = _follow(table, rules, 2, engine)
    assert record.mean_skipped > 0
    before = broken_cells(rules, table)
    for imputed in (*cells.draws, cells.mode, cells.median):
        whole = completed(marked, cells, imputed)
        assert broken_cells(rules, whole) <= before
        found = check(whole, rules).totals
        assert found["unexplained"] + found["declined"] <= record.n_left_missing
