"""Planted routing is found, and only routing; what the miner may depend on."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.presence import absent_cells
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.settings import MinerSettings
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable

NOMINAL, NUMBER = ColumnKind.NOMINAL, ColumnKind.CONTINUOUS


def survey(seed=0, n=3000, lost_share=0.02):
    """Return a table with planted routing, and its true skips.

    age; smokes -> now -> per_day (a two-step cascade); drinks; either: asked of those who smoke
    now or drink (an AND of two gates in the skip); senior: asked above 64; last: asked of all.
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n).astype(float)
    smokes, now, drinks = (rng.integers(0, 2, n).astype(float) for _ in range(3))
    per_day, either, senior, last = (rng.integers(0, 3, n).astype(float) for _ in range(4))
    values = np.column_stack([age, smokes, now, per_day, drinks, either, senior, last])
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 2] = smokes == 1
    skipped[:, 3] = skipped[:, 2] | (now == 1)
    skipped[:, 5] = skipped[:, 3] & (drinks == 1)
    skipped[:, 6] = age <= 64
    values[skipped] = np.nan
    lost = rng.random(values.shape) < lost_share
    lost[:, 0] = False
    values[lost] = np.nan
    columns = (
        Column("age", NUMBER),
        *(Column(name, NOMINAL, (1, 2)) for name in ("smokes", "now")),
        Column("per_day", NOMINAL, (1, 2, 3)),
        Column("drinks", NOMINAL, (1, 2)),
        *(Column(name, NOMINAL, (1, 2, 3)) for name in ("either", "senior", "last")),
    )
    return CodedTable.from_values(columns, values), skipped


def rules_of(mined, target):
    return [
        (tuple(map(tuple, rule.any_of)), rule.evidence)
        for rule in mined.rules
        if rule.target == target
    ]


def conditions(mined, target):
    return [condition for (path,), _ in rules_of(mined, target) for condition in path]


@pytest.fixture(scope="module")
def planted():
    table, skipped = survey()
    return table, skipped, SkipMiner().mine(table)


def test_two_step_cascade_is_one_condition(planted):
    _, _, mined = planted
    (gate,) = conditions(mined, "now")
    assert (gate.column, gate.levels, gate.or_skipped) == ("smokes", (2,), False)
    (step,) = conditions(mined, "per_day")
    assert (step.column, step.levels, step.or_skipped) == ("now", (2,), True)


def test_two_gates_and_a_numeric_threshold(planted):
    _, _, mined = planted
    found = {c.column: (c.levels, c.or_skipped) for c in conditions(mined, "either")}
    assert found["drinks"] == ((2,), False)
    assert found.keys() - {"drinks"} <= {"now", "per_day"}
    (bound,) = conditions(mined, "senior")
    assert (bound.column, bound.above, bound.up_to) == ("age", None, 64.0)


def test_mask_is_right_and_nonresponse_stays_missing(planted):
    _, skipped, mined = planted
    found = mined.states.skipped
    assert (found & skipped).sum() / found.sum() > 0.995
    assert (found & skipped).sum() / skipped.sum() > 0.96
    assert not rules_of(mined, "last")
    assert not found[:, 7].any()


@pytest.mark.parametrize("screen", ["purity", "paper"])
def test_answered_cells_are_never_marked(screen):
    table, _ = survey(n=2000)
    values = table.values.copy()
    values[:40, 3] = 0.0  # answers inside a skip: the answer wins
    mined = SkipMiner(screen=screen).mine(CodedTable.from_values(table.columns, values))
    assert mined.rules
    np.testing.assert_array_equal(mined.states.answered, ~np.isnan(values))


def test_rule_fires_where_it_says(planted):
    table, _, mined = planted
    routed = table.with_states(mined.states)
    for rule in mined.rules:
        fires = rule.fires(routed)
        blank = ~table.states.answered[:, table.names.index(rule.target)]
        assert int((fires & blank).sum()) == rule.evidence.fired_blank
        assert int((fires & ~blank).sum()) == rule.evidence.fired_answered


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(keep=st.integers(2, 7), seed=st.integers(0, 2**16))
def test_later_columns_do_not_matter(keep, seed):
    table, _ = survey(n=1200)
    names = table.names
    rng = np.random.default_rng(seed)
    whole = SkipMiner().mine(table)
    shuffled = names[:keep] + tuple(rng.permutation(names[keep:]).tolist())
    for other in (table.select(names[:keep]), table.select(shuffled)):
        mined = SkipMiner().mine(other)
        for name in names[:keep]:
            assert rules_of(mined, name) == rules_of(whole, name)


def test_papers_own_rules_do_not_depend_on_later_columns():
    # Their number does matter: a target's caps follow its place in the whole questionnaire.
    table, _ = survey(lost_share=0.001)
    miner, names = SkipMiner(screen="paper"), table.names[:5]
    shuffled = table.select((*names, "last", "senior", "either"))

    def own(mined):
        return [
            (rule.target, rule.any_of)
            for rule in mined.rules
            if rule.target in names and rule.extended_from in (None, *names)
        ]

    assert {target for target, _ in own(miner.mine(table))} == {"now", "per_day"}
    assert own(miner.mine(table)) == own(miner.mine(shuffled))


@pytest.mark.parametrize("screen", ["purity", "paper"])
def test_row_order_is_irrelevant(screen):
    table, _ = survey(n=1500)
    order = np.random.default_rng(3).permutation(1500)
    miner = SkipMiner(screen=screen)
    straight, mixed = miner.mine(table), miner.mine(table.rows(order))
    assert straight.rules == mixed.rules
    np.testing.assert_array_equal(straight.states.states[order], mixed.states.states)


def with_reason(table, rows, column, reason):
    reasons = table.states.reasons.copy()
    reasons[rows, column] = reason_code(reason)
    states = CellStates.from_masks(
        table.states.answered, np.zeros(table.shape, bool), table.names, reasons
    )
    return CodedTable(table.columns, table.values.copy(), states)


def test_refusals_were_asked():
    table, skipped = survey()
    rows = np.flatnonzero(skipped[:, 2] & (table.values[:, 1] == 1))[:50]
    mined = SkipMiner().mine(with_reason(table, rows, 2, Reason.REFUSED))
    assert not mined.states.skipped[rows, 2].any()
    assert {mined.states.reason_of(int(row), "now") for row in rows} == {Reason.REFUSED}
    ((_, found),) = rules_of(mined, "now")
    assert found.fired_answered == 50


def test_known_skips_are_kept_and_change_nothing_where_the_rules_find_them_too():
    table, _ = survey()
    known = np.zeros(table.shape, dtype=bool)
    known[:, 3] = SkipMiner().mine(table).explained[:, 3]
    known[:, 7] = np.isnan(table.values[:, 7])
    coded = CodedTable.from_values(table.columns, table.values, known)
    mined, blind = SkipMiner().mine(coded), SkipMiner().mine(table)
    assert mined.rules == blind.rules
    np.testing.assert_array_equal(mined.explained, blind.explained)
    np.testing.assert_array_equal(mined.states.skipped, blind.states.skipped | known)


def test_a_missing_gate_leaves_its_followers_missing(planted):
    table, _, mined = planted
    gate_lost = np.isnan(table.values[:, 1])
    assert gate_lost.sum() > 20
    assert not mined.states.skipped[gate_lost, 2].any()


def test_breakoff_and_missed_waves_are_not_routing():
    rng = np.random.default_rng(5)
    values = rng.integers(0, 3, (2000, 30)).astype(float)
    values[:300, 10:20] = np.nan  # a missed wave
    values[250:600, 22:] = np.nan  # breakoff
    columns = tuple(Column(f"q{i}", NOMINAL, (1, 2, 3)) for i in range(30))
    mined = SkipMiner().mine(CodedTable.from_values(columns, values))
    assert mined.rules == ()


def wave_survey(seed=0, n=3000, every=9):
    """Return the planted survey with a wave that some missed, and who did."""
    table, _ = survey(seed, n)
    values = np.column_stack([table.values] + [np.zeros(len(table.values))] * 6)
    gone = np.arange(len(values)) % every == 0
    values[gone, 6:] = np.nan
    extra = tuple(Column(f"z{i}", NOMINAL, (1,)) for i in range(6))
    return CodedTable.from_values(table.columns + extra, values), gone


def test_skips_of_absent_respondents_are_withheld():
    wave, gone = wave_survey()
    mined = SkipMiner().mine(wave)
    assert rules_of(mined, "senior")
    assert not mined.states.skipped[gone, 6].any()
    assert mined.states.skipped[~gone & (wave.values[:, 0] <= 64), 6].all()
    [withheld] = [e for e in mined.events if e.kind == "skips_withheld" and e.column == "senior"]
    assert withheld.counts["cells"] > 0


@given(st.integers(0, 2**32 - 1), st.integers(100, 1500), st.integers(2, 12))
@settings(max_examples=15)
def test_mined_rules_applied_give_the_mined_states(seed, n, every):
    wave, _ = wave_survey(seed, n, every)
    mined = SkipMiner().mine(wave)
    assert RuleSet.from_mined(mined, wave.columns).apply(wave) == mined.states


def test_rules_withhold_skips_among_many_rows_and_judge_few_rows_alone():
    wave, gone = wave_survey()
    mined = SkipMiner().mine(wave)
    rules = RuleSet.from_mined(mined, wave.columns)
    by_rules_alone = replace(rules, absence=None).apply(wave).skipped
    assert (by_rules_alone & ~mined.states.skipped)[gone, 6].sum() > 100
    assert rules.apply(wave) == mined.states
    few = np.arange(60)
    assert np.array_equal(rules.apply(wave.rows(few)).skipped, by_rules_alone[few])
    assert rules.apply(wave.rows(few[:0])).skipped.shape == (0, wave.shape[1])


def test_skips_known_from_codes_stay_and_do_not_indicate_absence():
    wave, gone = wave_survey()
    rules = RuleSet.from_mined(SkipMiner().mine(wave), wave.columns)
    known = np.zeros(wave.shape, dtype=bool)
    known[gone, 6:] = np.isnan(wave.values[gone, 6:])
    applied = rules.apply(wave.with_states(wave.states.with_skips(known)))
    assert applied.skipped[known].all()


def test_the_papers_screen_withholds_nothing():
    assert SkipMiner(screen="paper").mine(survey(n=300)[0]).absence is None


def test_quiet_respondents_who_answered_were_there():
    asked = np.zeros((400, 7), dtype=bool)
    asked[200:] = True
    asked[:200, 0] = True  # all quiet respondents answered the first question
    absent = absent_cells(asked, np.zeros_like(asked), run=5, max_share=0.05)
    assert not absent[:, 0].any()
    assert absent[:200, 1].all()
    assert not absent[200:].any()


def test_a_rarely_asked_question_does_not_make_everything_pure():
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 3, (8000, 6)).astype(float)
    rare = np.where(rng.random(8000) < 0.02, 1.0, np.nan)
    columns = tuple(Column(f"q{i}", NOMINAL, (1, 2, 3)) for i in range(7))
    mined = SkipMiner().mine(CodedTable.from_values(columns, np.column_stack([noise, rare])))
    assert mined.rules == ()


def test_targets_left_out_are_logged():
    table, _ = survey(n=400)
    values = table.values.copy()
    values[:, 7] = np.nan
    mined = SkipMiner().mine(CodedTable.from_values(table.columns, values))
    events = {event.column: event for event in mined.events if event.column in ("last", "smokes")}
    assert events["last"].kind == "question_blank_in_every_row"
    assert events["smokes"].kind == "question_with_few_blanks"
    assert dict(events["smokes"].counts) == {"blanks": 7, "needed": 30}


def test_progress_counts_every_column():
    table, _ = survey(n=300)
    seen = []
    SkipMiner().mine(table, progress=lambda done, total, name: seen.append((done, total, name)))
    assert seen == [(i + 1, 8, name) for i, name in enumerate(table.names)]


def test_paper_extends_a_rule_to_its_block():
    rng = np.random.default_rng(2)
    gate = rng.integers(0, 2, 4000).astype(float)
    block = np.where(gate[:, None] == 0, rng.integers(0, 2, (4000, 4)), np.nan)
    columns = tuple(Column(f"q{i}", NOMINAL, (1, 2)) for i in range(5))
    table = CodedTable.from_values(columns, np.column_stack([gate, block]))
    mined = SkipMiner(screen="paper").mine(table)
    assert {rule.target for rule in mined.rules} == {"q1", "q2", "q3", "q4"}
    assert {rule.target for rule in mined.rules if rule.extended_from == "q1"} >= {"q2", "q3"}
    np.testing.assert_array_equal(mined.states.skipped, np.isnan(table.values))


def test_paper_takes_breakoff_for_routing_and_purity_does_not():
    rng = np.random.default_rng(7)
    values = rng.integers(0, 2, (4000, 3)).astype(float)
    values[:1500, 1:] = np.nan
    columns = tuple(Column(f"q{i}", NOMINAL, (1, 2)) for i in range(3))
    mine = partial(CodedTable.from_values, columns)
    assert SkipMiner(screen="paper").mine(mine(values)).states.skipped[:1500, 2].all()
    assert not SkipMiner().mine(mine(values)).states.skipped.any()


def test_small_surveys_need_their_preset():
    table, skipped = survey(n=160)
    preset = MinerSettings.preset("small-survey")
    found = SkipMiner(preset).mine(table).states.skipped
    assert (found & skipped).sum() > 0.7 * skipped.sum()
    assert (found & ~skipped).sum() <= 0.05 * found.sum()
    paper = SkipMiner(preset, screen="paper").mine(table)
    assert paper.rules
    assert not SkipMiner(screen="paper").mine(table).rules


def test_unknown_screen():
    with pytest.raises(InputError, match="purity or paper"):
        SkipMiner(screen="both")
