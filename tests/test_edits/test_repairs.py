"""Repairs: what can be satisfied is, as near as possible, and nothing observed changes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda import CodedTable, Column, ColumnKind, Schema
from tabsoda.edits.candidates import Cell
from tabsoda.edits.edit_set import EditSet
from tabsoda.edits.repair import Repairer, same_groups
from tabsoda.schema import Derivation, Edit

COLUMNS = (
    Column("A", ColumnKind.CONTINUOUS, maximum=5),
    Column("B", ColumnKind.CONTINUOUS),
    Column("C", ColumnKind.CONTINUOUS),
    Column("N", ColumnKind.NOMINAL, (0, 1)),
)
RULES = (
    "A <= B",
    "A + B == C",
    "A != C",
    "not (N == 1 and A > 0)",
    "B < C or N == 1",
    "A * B <= 6",
)
EVERYTHING = np.array([*itertools.product(range(6), repeat=3)], dtype=float)
EVERYTHING = np.column_stack([EVERYTHING, np.arange(len(EVERYTHING)) % 2])


def repairer(rules, imputed, derive=(), values=EVERYTHING, columns=COLUMNS):
    table = CodedTable.from_values(columns, values)
    schema = Schema(columns, tuple(map(Edit, rules)), tuple(map(Derivation.of, derive)))
    return Repairer(EditSet.of(schema, table), np.array(imputed, dtype=bool))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True),
    st.tuples(*[st.integers(0, 5)] * 3, st.integers(0, 1)),
    st.sampled_from([*itertools.combinations(range(4), 1), *itertools.combinations(range(4), 2)]),
)
def test_one_or_two_cells_are_repaired_whenever_some_answers_satisfy_everything(rules, row, cells):
    values = np.array([row], dtype=float)
    imputed = np.zeros((1, 4), dtype=bool)
    imputed[0, list(cells)] = True
    own = repairer(rules, imputed)
    found = own.repair(values)
    assert (found.values[~imputed] == values[~imputed]).all()
    # Everything the imputed cells could be, among constraints that they take part in.
    options = [[0, 1] if at == 3 else range(6) for at in cells]
    tried = np.repeat(values, np.prod([len(one) for one in options]), axis=0)
    tried[:, list(cells)] = [*itertools.product(*options)]
    whole = Repairer(own.edits, np.repeat(imputed, len(tried), axis=0))
    possible = ~whole.violations(tried, np.arange(len(tried))).any(axis=1)
    # C may be larger than any observed answer if a sum requires it.
    if possible.any():
        assert not found.after.any(), (rules, row, cells, found.values)
    if found.before.any() and not found.after.any() and len(cells) == 1:
        at = cells[0]
        distance = np.abs(tried[possible][:, at] - row[at]).min() if possible.any() else np.inf
        if possible.any() and at != 3:
            assert abs(found.values[0, at] - row[at]) == distance


def test_a_cell_that_an_equality_determines_is_computed():
    own = repairer(["A + B == C"], [[True, False, False, False], [False, True, False, False]])
    found = own.repair(np.array([[0, 2, 5, 0], [1, 0, 4, 0]], dtype=float))
    assert found.values[:, :2].tolist() == [[3, 2], [1, 3]]


def test_a_number_that_a_nonlinear_formula_determines_is_computed():
    generator = np.random.default_rng(0)
    kilos, cm = generator.normal(75, 9, 300).round(1), generator.normal(172, 8, 300).round()
    bmi = (kilos / (cm / 100) ** 2).round(1)
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in ("KILOS", "CM", "BMI"))
    values = np.column_stack([kilos, cm, bmi])
    imputed = np.zeros(values.shape, dtype=bool)
    imputed[:100, 0], imputed[100:200, 1], imputed[200:, 2] = True, True, True
    drawn = np.where(imputed, np.nanmean(values, axis=0).round(), values)
    own = repairer([], imputed, ("BMI = KILOS / (CM / 100) ** 2",), values, columns)
    found = own.repair(drawn)
    assert not found.after.any()
    # Heights are whole, and several of them give the same rounded index.
    assert np.abs(found.values - values)[:, 1].max() <= 3
    assert np.abs(found.values - values)[:, 0].max() < 0.5
    assert (found.values[200:, 2] == bmi[200:]).all()


def test_bounds_hold_and_nothing_can_be_done_about_observed_answers():
    own = repairer([], [[True, False, False, False], [False] * 4])
    found = own.repair(np.array([[9, 0, 0, 0], [9, 0, 0, 0]], dtype=float))
    assert found.values[:, 0].tolist() == [5, 9]
    assert found.before.sum() == 1


def test_what_no_value_satisfies_is_reported():
    own = repairer(["A + B == C"], [[True, False, False, False]])
    found = own.repair(np.array([[3, 4, 1, 0]], dtype=float))
    titles = [one.title for one in own.edits.constraints]
    assert [titles[at] for at in np.flatnonzero(found.after[0])] == ["A + B == C"]


def test_redraws_come_first_and_only_consistent_ones_are_taken():
    calls = []

    def redraw(rows, values, open_cells, attempt):
        calls.append(attempt)
        drawn = values.copy()
        drawn[:, 0] = [5, 5, 1][attempt - 1]
        assert open_cells.tolist() == [[True, False, False, False]]
        return drawn

    own = repairer(["A <= B"], [[True, False, False, False]])
    found = own.repair(np.array([[4, 2, 0, 0]], dtype=float), redraw)
    assert calls == [1, 2, 3]
    assert found.values[0, 0] == 1


def test_gates_keep_their_route():
    own = repairer(["A <= B"], [[True, True, False, False]])
    routes = same_groups({0: lambda values: (values > 3).astype(np.int64)})
    kept = Repairer(own.edits, own.imputed, frozenset({0}), routes)
    found = kept.repair(np.array([[5, 1, 0, 0]], dtype=float))
    assert found.values[0, 0] > 3
    assert found.values[0, 1] >= found.values[0, 0]


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_limits_of_conditions_are_among_the_candidates(shift):
    own = repairer([f"A + {shift} <= B"], [[True, False, False, False]])
    values = own.edits.named(np.array([[5, 3, 0, 0]], dtype=float))
    tried, distance = Cell(own.edits, "A", values, {}).candidates()
    assert 3 - shift in tried[0]
    assert distance[0, tried[0].tolist().index(5)] == 0
