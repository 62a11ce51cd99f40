"""Checking: violations and open blanks, counted against the plain definitions."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.checking import check
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable

NAN = np.nan
COLUMNS = (
    Column("ever", ColumnKind.NOMINAL, (1, 2), level_labels={2: "No"}),
    Column("now", ColumnKind.NOMINAL, (1, 2)),
    Column("last", ColumnKind.CONTINUOUS),
)
RULES = RuleSet(
    (
        SkipRule("r1", "now", ((Condition("ever", (2,)),),)),
        SkipRule("r2", "last", ((Condition("now", (2,), or_skipped=True),),)),
    ),
    COLUMNS,
)


def test_violations_have_counts_rows_and_the_sentence():
    values = np.tile([0.0, 0.0, 5.0], (30, 1))
    values[3:18, 0] = 1
    result = check(CodedTable.from_values(COLUMNS, values), RULES)
    first = result.rules[0]
    assert (first.identifier, first.fired, first.answered) == ("r1", 15, 15)
    assert first.example_rows == tuple(range(4, 14))
    assert first.sentence == "now is skipped when ever is 2 'No'"
    assert [finding.identifier for finding in result.violations] == ["r1"]
    # "now" was answered against r1, so it was not skipped and r2 has nothing to say.
    assert result.rules[1].fired == 0
    assert result.totals["answered_although_skipped"] == 15
    assert result.totals["rules_broken"] == 1


def test_blanks_are_skipped_declined_or_open():
    values = np.array([[1, NAN, NAN], [0, NAN, 3], [0, 0, NAN], [NAN, NAN, NAN]])
    reasons = np.zeros(values.shape, dtype=np.uint8)
    reasons[1, 1] = reason_code(Reason.DONT_KNOW)
    names = tuple(column.name for column in COLUMNS)
    states = CellStates.from_masks(~np.isnan(values), np.zeros_like(values, bool), names, reasons)
    result = check(CodedTable(COLUMNS, values, states), RULES)
    found = {c.column: (c.answered, c.skipped, c.declined, c.unexplained) for c in result.columns}
    assert found == {"ever": (3, 0, 0, 1), "now": (1, 1, 1, 1), "last": (1, 1, 0, 2)}
    assert [finding.column for finding in result.unexplained] == ["last", "ever", "now"]
    assert result.totals["unexplained"] == 4


def test_rejected_rules_are_not_checked():
    table = CodedTable.from_values(COLUMNS, np.array([[1.0, 0.0, 1.0]]))
    assert [rule.identifier for rule in check(table, RULES.reject("r1")).rules] == ["r2"]


cells = st.sampled_from([0.0, 1.0, NAN])


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=40))
def test_counts_add_up_and_survive_json(rows):
    table = CodedTable.from_values(COLUMNS, np.array(rows))
    result = check(table, RULES)
    for finding in result.columns:
        total = finding.answered + finding.skipped + finding.declined + finding.unexplained
        assert total == len(rows)
    ever, now, last = np.array(rows).T
    no = ever == 1
    routed = no & np.isnan(now)
    assert result.rules[0].answered == int((no & ~np.isnan(now)).sum())
    assert result.rules[1].fired == int((routed | (now == 1)).sum())
    assert result.columns[2].skipped == int(((routed | (now == 1)) & np.isnan(last)).sum())
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["totals"] == result.totals
