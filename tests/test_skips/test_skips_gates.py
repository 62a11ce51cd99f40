"""The miner names the questionnaire's gates: forms and answers, not fellow followers or keys."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from tabsoda.events import Event
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.gate_choice import joined, shared_gates
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.predictors import GateSet
from tabsoda.skips.purity import FoundRule, TargetRules
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.settings import MinerSettings, PuritySettings
from tabsoda.skips.usable_gates import unusable_gates
from tabsoda.table import CodedTable

MINER = Path(__file__).parents[2] / "benchmarks" / "miner"


@pytest.fixture(scope="module")
def split_forms():
    spec = importlib.util.spec_from_file_location("split_forms", MINER / "split_forms.py")
    module = sys.modules["split_forms"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.split_forms
    del sys.modules["split_forms"]


def named(mined):
    """Return the gates that the rules of each target name."""
    gates = {}
    for rule in mined.rules:
        gates.setdefault(rule.target, set()).update(rule.gates)
    return gates


def nominal(name, n_levels=2):
    return Column(name, ColumnKind.NOMINAL, tuple(range(1, n_levels + 1)))


def mine(columns, values, **settings):
    table = CodedTable.from_values(tuple(columns), np.column_stack(values))
    return SkipMiner(MinerSettings().replace(purity=settings)).mine(table)


@pytest.mark.parametrize("nonresponse", [0.0, 0.002, 0.03])
def test_every_rule_names_the_gate_of_the_questionnaire(split_forms, nonresponse):
    made = split_forms(1000, seed=3, nonresponse=nonresponse)
    mined = SkipMiner().mine(made.table)
    assert named(mined) == made.gates
    found = mined.states.skipped
    assert not (found & ~made.mask).any()
    # What is missed follows a gate that was itself not answered.
    assert (found & made.mask).sum() >= (1 - 2 * nonresponse) * made.mask.sum()


def test_the_rules_of_a_form_hold_without_exception(split_forms):
    made = split_forms(1000, seed=4, nonresponse=0.01)
    rules = RuleSet.from_mined(SkipMiner().mine(made.table), made.table.columns)
    [worry] = [rule for rule in rules if rule.target == "WORRYD"]
    assert rules.sentence(worry) == "WORRYD is skipped when FORM is 1"
    assert worry.evidence.fired_answered == 0
    assert worry.evidence.fired_blank == made.answered("FORM", 1).sum()


def test_keys_and_interviewers_are_not_gates_and_this_is_logged(split_forms):
    made = split_forms(1000, seed=5, nonresponse=0.03)
    mined = SkipMiner().mine(made.table)
    left_out = [e for e in mined.events if e.kind == "column_not_used_as_gate"]
    assert {e.column: (e.counts["different"], e.counts["answers"]) for e in left_out} == {
        "KEY": (1000, 1000),
        "INTNR": (81, 1000),
        "SERIAL": (1000, 1000),
    }
    assert not {"KEY", "INTNR", "SERIAL"} & {gate for rule in mined.rules for gate in rule.gates}


def test_which_columns_can_be_gates_is_a_setting():
    key = np.arange(200.0)
    table = CodedTable.from_values(
        (nominal("KEY", 200), nominal("STATE", 40), nominal("ANSWER", 10)),
        np.column_stack([key, key % 40, key % 10]),
    )
    assert list(unusable_gates(table, PuritySettings())) == [0, 1]
    assert list(unusable_gates(table, PuritySettings(min_level_size=5))) == [0]
    assert not unusable_gates(table, PuritySettings(min_level_size=1, max_gate_levels=200))
    # Ten answers or fewer are a question, however few respondents there are.
    few = PuritySettings(max_gate_levels=2, min_level_size=100)
    assert list(unusable_gates(table, few)) == [0, 1]


def test_an_ordered_question_of_many_answers_can_be_a_gate():
    age = Column("AGE", ColumnKind.ORDINAL, tuple(range(60)))
    table = CodedTable.from_values((age,), (np.arange(300.0) % 60)[:, None])
    assert not unusable_gates(table, PuritySettings())


def test_a_follower_of_a_follower_keeps_its_nearer_gate():
    rng = np.random.default_rng(0)
    n = 1000
    ever = rng.integers(0, 2, n).astype(float)
    now = np.where(ever == 0, rng.integers(0, 2, n), np.nan)
    packs = np.where(now == 0, rng.integers(0, 3, n), np.nan)
    mined = mine((nominal("EVER"), nominal("NOW"), nominal("PACKS", 3)), (ever, now, packs))
    assert named(mined) == {"NOW": {"EVER"}, "PACKS": {"NOW"}}


def test_a_gate_behind_several_rules_is_traced_to_all_of_them():
    rng = np.random.default_rng(1)
    n = 2000
    young, idle = rng.random(n) < 0.3, rng.random(n) < 0.4
    asked = ~young & ~idle
    first, second = (np.where(asked, rng.integers(0, 3, n), np.nan) for _ in range(2))
    columns = (nominal("YOUNG"), nominal("IDLE"), nominal("JOB", 3), nominal("PAY", 3))
    mined = mine(columns, (1.0 - young, 1.0 - idle, first, second))
    assert named(mined) == {"JOB": {"YOUNG", "IDLE"}, "PAY": {"YOUNG", "IDLE"}}
    assert [len(rule.gates) for rule in mined.rules] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("n_unknown", "marked", "named_gate"),
    [(0, True, "GATE"), (20, True, "GATE"), (20, False, "FIRST"), (80, True, "FIRST")],
)
def test_a_fellow_with_coded_skips_is_traced_where_few_cells_stay_unexplained(
    n_unknown, marked, named_gate
):
    rng = np.random.default_rng(6)
    n = 1000
    gate = rng.integers(0, 2, n).astype(float)
    skipped = gate == 1
    first, second = (np.where(skipped, np.nan, rng.integers(0, 3, n)) for _ in range(2))
    # The gate is missing for some who were routed past both; codes of the file mark their skips.
    gate[np.flatnonzero(skipped)[:n_unknown]] = np.nan
    columns = (nominal("GATE"), nominal("FIRST", 3), nominal("SECOND", 3))
    known = np.column_stack([np.zeros(n, dtype=bool), skipped, skipped & marked])
    mined = SkipMiner().mine(
        CodedTable.from_values(columns, np.column_stack([gate, first, second]), known)
    )
    assert named(mined) == {"FIRST": {"GATE"}, "SECOND": {named_gate}}
    # Whichever gate is named, no skip is lost.
    assert np.array_equal(mined.states.skipped[:, 1:], np.column_stack([skipped, skipped]))


def test_the_gate_that_serves_more_questions_is_chosen_and_the_other_listed():
    rng = np.random.default_rng(2)
    n = 1000
    gate = rng.integers(0, 2, n).astype(float)
    # The copy comes later, so it is nearer to the last follower, and misses two of its blanks.
    copy = gate.copy()
    copy[np.flatnonzero(gate == 1)[:2]] = 0
    follower = [np.where(gate == 0, rng.integers(0, 3, n), np.nan) for _ in range(3)]
    names = ("GATE", "Q1", "Q2", "COPY", "LAST")
    columns = [nominal(name, 2 if name in ("GATE", "COPY") else 3) for name in names]
    mined = mine(columns, (gate, *follower[:2], copy, follower[2]))
    assert named(mined) == {"Q1": {"GATE"}, "Q2": {"GATE"}, "LAST": {"GATE"}}
    rule = mined.rules[-1]
    assert [rival.gates for rival in rule.rivals] == [("COPY",)]
    assert rule.rivals[0].fired_blank == rule.evidence.fired_blank - 2
    assert rule.rivals[0].fired_answered == 0
    [event] = [e for e in mined.events if e.kind == "other_gates_fit_as_well"]
    assert event == Event("other_gates_fit_as_well", "LAST", {"chosen": "GATE", "others": ["COPY"]})


def test_halves_without_a_form_are_explained_by_each_other():
    rng = np.random.default_rng(3)
    n = 1000
    form = rng.integers(0, 2, n)
    halves = [np.where(form == half, rng.integers(0, 3, n), np.nan) for half in (0, 0, 1)]
    mined = mine([nominal(name, 3) for name in ("A1", "A2", "B1")], halves)
    [rule] = [rule for rule in mined.rules if rule.target == "B1"]
    assert rule.gates in (("A1",), ("A2",))
    assert [rival.gates for rival in rule.rivals] == [("A2",) if rule.gates == ("A1",) else ("A1",)]


def test_shared_gates_counts_a_target_for_one_gate_only():
    def rule(*gates):
        paths = [[GateSet(gate, np.ones(3, dtype=bool))] for gate in gates]
        return FoundRule(paths[0], paths[1:])

    nowhere = np.zeros(1, dtype=bool)
    found = {
        10: TargetRules(nowhere, [rule(1, 2)]),
        11: TargetRules(nowhere, [rule(1, 2)]),
        12: TargetRules(nowhere, [rule(2, 3)]),
        13: TargetRules(nowhere, [rule(3)]),
    }
    # Gate 2 fits three targets and takes them; what is left of gate 3 is one.
    assert shared_gates(found) == {2: 3, 3: 1}


def test_joined_asks_for_both_conditions_of_one_gate():
    first = GateSet(1, np.array([False, True, True]))
    second = GateSet(1, np.array([True, True, False]))
    other = GateSet(2, np.array([True, False]))
    [both, rest] = joined([first], [other, second])
    assert (both.gate, both.member.tolist()) == (1, [False, True, False])
    assert rest is not first
    assert rest.gate == 2
