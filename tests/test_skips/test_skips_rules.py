"""Rules on tables: conditions, cascades, and what is never marked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule, count_conditions
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable

NAN = np.nan
EVER = Column("ever", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Yes", 2: "No"})
NOW = Column("now", ColumnKind.ORDINAL, (1, 2, 3))
AGE = Column("age", ColumnKind.CONTINUOUS)
LAST = Column("last", ColumnKind.NOMINAL, ("a", "b"))
COLUMNS = (EVER, NOW, AGE, LAST)
NOW_RULE = SkipRule("r1", "now", ((Condition("ever", (2,)),),))
LAST_RULE = SkipRule("r2", "last", ((Condition("now", (3,), or_skipped=True),),))


def _table(rows):
    return CodedTable.from_values(COLUMNS, np.array(rows, dtype=float))


def test_numeric_bounds_are_open_below_and_closed_above():
    table = _table([[0, 0, age, 0] for age in (14, 15, 44, 45)])
    between = Condition("age", above=14, up_to=44)
    assert between.holds(table).tolist() == [False, True, True, False]
    assert Condition("age", above=44).holds(table).tolist() == [False, False, False, True]
    assert Condition("age", up_to=14).holds(table).tolist() == [True, False, False, False]


def test_an_unknown_gate_fulfils_nothing_unless_blank_is_asked_for():
    values = np.array([[1, NAN, NAN, 0], [NAN, NAN, NAN, 0]])
    skipped = np.array([[False, True, False, False], [False] * 4])
    table = CodedTable.from_values(COLUMNS, values, skipped)
    assert not Condition("ever", (1, 2)).holds(table)[1]
    assert Condition("now", (1,), or_skipped=True).holds(table).tolist() == [True, False]
    assert Condition("now", (1,), or_blank=True).holds(table).tolist() == [False, True]
    assert Condition("age", above=0).holds(table).tolist() == [False, False]


def test_a_path_needs_all_conditions_and_a_rule_one_path():
    rule = SkipRule(
        "r",
        "last",
        ((Condition("ever", (1,)), Condition("age", above=44)), (Condition("now", (3,)),)),
    )
    table = _table([[0, 0, 50, 0], [0, 0, 40, 0], [1, 0, 50, 0], [1, 2, 40, 0]])
    assert rule.fires(table).tolist() == [True, False, False, True]
    assert rule.gates == ("ever", "age", "now")


def test_skips_cascade_through_learned_states():
    table = _table([[1, NAN, 30, NAN], [0, 2, 30, NAN], [0, 0, 30, NAN], [NAN, NAN, 30, NAN]])
    skipped = RuleSet((LAST_RULE, NOW_RULE), COLUMNS).apply(table).skipped
    assert skipped[:, 1].tolist() == [True, False, False, False]
    # Row 3 answered "now" with 1, and nobody knows why row 4 has no gate: both stay missing.
    assert skipped[:, 3].tolist() == [True, True, False, False]


def test_a_rejected_rule_is_ignored_and_so_is_what_hangs_on_it():
    table = _table([[1, NAN, 30, NAN]])
    rules = RuleSet((NOW_RULE, LAST_RULE), COLUMNS).reject("r1", "another universe")
    assert rules["r1"].note == "another universe"
    assert not rules.apply(table).skipped.any()


def test_answers_and_refusals_win_and_known_skips_stay():
    values = np.array([[1, 0, 30, 0], [1, NAN, 30, 0], [1, NAN, 30, 0], [0, NAN, NAN, 0]])
    reasons = np.zeros((4, 4), dtype=np.uint8)
    reasons[1, 1], reasons[2, 1] = reason_code(Reason.REFUSED), reason_code(Reason.OTHER)
    known = np.zeros((4, 4), dtype=bool)
    known[3, 2] = True
    states = CellStates.from_masks(
        ~np.isnan(values), known, tuple(c.name for c in COLUMNS), reasons
    )
    result = RuleSet((NOW_RULE,), COLUMNS).apply(CodedTable(COLUMNS, values, states))
    assert np.argwhere(result.skipped).tolist() == [[2, 1], [3, 2]]
    assert result.reason_of(1, "now") is Reason.REFUSED


def test_the_order_of_the_tables_columns_does_not_matter():
    table = _table([[1, NAN, 30, NAN], [0, 2, 30, NAN], [0, 0, 30, 1]])
    rules = RuleSet((NOW_RULE, LAST_RULE), COLUMNS)
    turned = table.select(("last", "age", "now", "ever"))
    assert rules.apply(turned).select(table.names) == rules.apply(table)


cells = st.sampled_from([0.0, 1.0, NAN])


@given(st.lists(st.tuples(cells, cells, cells, cells), min_size=1, max_size=30), st.randoms())
def test_applying_marks_blanks_only_twice_is_once_and_rows_are_independent(rows, random):
    table = _table(rows)
    rules = RuleSet((NOW_RULE, LAST_RULE), COLUMNS)
    states = rules.apply(table)
    assert np.array_equal(states.answered, table.states.answered)
    assert rules.apply(table.with_states(states)) == states
    order = np.array(random.sample(range(len(rows)), len(rows)))
    assert rules.apply(table.rows(order)) == states.rows(order)


def test_rules_come_in_questionnaire_order_with_the_columns_they_use():
    rules = RuleSet((LAST_RULE, NOW_RULE), COLUMNS)
    assert [rule.identifier for rule in rules] == ["r1", "r2"]
    assert [column.name for column in rules.columns] == ["ever", "now", "last"]
    assert rules.targets == ("now", "last")


def test_approving_by_identifier_by_function_and_all():
    rules = RuleSet((NOW_RULE, LAST_RULE), COLUMNS)
    assert rules.approve("r2")["r1"].status is RuleStatus.PROPOSED
    some = rules.approve(lambda rule: rule.target == "last", note="seen")
    assert [rule.status for rule in some] == [RuleStatus.PROPOSED, RuleStatus.APPROVED]
    assert some["r2"].note == "seen"
    # Approving everything does not overrule a rejection.
    all_but_one = rules.reject("r1").approve()
    assert [rule.status for rule in all_but_one] == [RuleStatus.REJECTED, RuleStatus.APPROVED]
    assert rules["r1"].status is RuleStatus.PROPOSED
    with pytest.raises(InputError, match="There is no rule 'r9'"):
        rules.reject(["r1", "r9"])
    with pytest.raises(KeyError):
        rules["r9"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (SkipRule("r1", "nowhere", ((Condition("ever", (2,)),),)), "'nowhere'"),
        (SkipRule("r1", "now", ((Condition("nowhere", (2,)),),)), "'nowhere'"),
        (SkipRule("r1", "now", ((Condition("ever", (7,)),),)), "7 for 'ever'.*one of 1, 2"),
        (SkipRule("r1", "now", ((Condition("ever", ("2",)),),)), "'2' for 'ever'"),
        (SkipRule("r1", "last", ((Condition("age", (2,)),),)), "continuous.*above or up_to"),
        (SkipRule("r1", "now", ((Condition("ever", above=1),),)), "field 'above'.*nominal"),
        (SkipRule("r1", "last", ((Condition("age", above=5, up_to=5),),)), "a number above 5"),
        (SkipRule("r1", "last", ((Condition("age", above=NAN),),)), "a finite number"),
        (SkipRule("r1", "now", ((Condition("ever"),),)), "nothing asked of 'ever'"),
        (SkipRule("r1", "now", ()), "at least one condition"),
        (SkipRule("r1", "now", ((),)), "at least one condition"),
        (SkipRule("r1", "now", ((Condition("last", ("a",)),),)), "not come before 'now'"),
        (SkipRule("r1", "now", ((Condition("now", (1,)),),)), "not come before 'now'"),
    ],
)
def test_nonsense_names_the_rule_and_what_is_wrong(rule, message):
    with pytest.raises(InputError, match=f"(?s)Rule 'r1'.*{message}"):
        RuleSet((rule,), COLUMNS)


def test_identifiers_are_unique():
    with pytest.raises(InputError, match="'r1' twice"):
        RuleSet((NOW_RULE, NOW_RULE), COLUMNS)


def test_rules_of_another_survey_name_the_first_differences():
    rules = RuleSet((NOW_RULE, LAST_RULE), COLUMNS)
    other = (
        Column("ever", ColumnKind.NOMINAL, ("yes", "no")),
        Column("now", ColumnKind.CONTINUOUS),
        Column("final", ColumnKind.NOMINAL, ("a", "b")),
    )
    table = CodedTable.from_values(other, np.array([[0.0, 1.0, 1.0]]))
    with pytest.raises(InputError) as caught:
        rules.apply(table)
    message = str(caught.value)
    assert "another survey" in message
    assert "column 'ever' of the table has no answer 2" in message
    assert "column 'now' is continuous in the table and ordinal in the rules" in message
    assert "the table has no column 'last'" in message
    # What a rejected rule names need not be there.
    assert rules.reject(["r1", "r2"]).apply(table) == table.states


def test_many_differences_are_counted_not_listed():
    gates = tuple(Column(f"q{i}", ColumnKind.NOMINAL, (1,)) for i in range(9))
    rule = SkipRule("r", "end", (tuple(Condition(g.name, (1,)) for g in gates),))
    rules = RuleSet((rule,), (*gates, Column("end", ColumnKind.CONTINUOUS)))
    with pytest.raises(InputError, match="'q3'; and 5 more differences"):
        rules.apply(CodedTable.from_values((AGE,), np.array([[1.0]])))


def test_conditions_are_counted_as_the_paper_counts_rules():
    never, old = Condition("smokes", (2,)), Condition("age", above=60.0)
    rules = [
        SkipRule("r1", "per_day", ((never,),)),
        SkipRule("r2", "brand", ((never,),)),
        SkipRule("r3", "work", ((never, old),)),
        SkipRule("r4", "hours", ((old, never),)),
        SkipRule("r5", "pay", ((never,), (old,))),
        SkipRule("r6", "boss", ((old,), (never,))),
    ]
    # A conjunction is another rule than a disjunction of the same conditions.
    assert count_conditions(rules) == 3
    assert count_conditions([]) == 0
