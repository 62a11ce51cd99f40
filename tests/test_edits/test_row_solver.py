"""Several cells solved together: brute force over all answers is the reference."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda import CodedTable, Column, ColumnKind, Schema
from tabsoda.edits.edit_set import EditSet
from tabsoda.edits.program import AtMost, Linear, Program
from tabsoda.edits.repair import Repairer
from tabsoda.edits.respondent import Respondent
from tabsoda.edits.row_solver import solved
from tabsoda.schema import Derivation, Edit

COLUMNS = (
    *(Column(name, ColumnKind.CONTINUOUS, minimum=0, maximum=5) for name in "ABCT"),
    Column("N", ColumnKind.NOMINAL, (1, 2, 9)),
    Column("R", ColumnKind.ORDINAL, ("low", "mid", "high")),
)
SIZES = (6, 6, 6, 6, 3, 3)
EVERYTHING = np.array([*itertools.product(*map(range, SIZES))], dtype=float)
LINEAR = (
    "A + B + C == T",
    "2 * A - B <= C + 1",
    "A < B",
    "B < C",
    "A != C",
    "not (N == 1 and A > 0)",
    "B < C or N == 2",
    "N in (1, 9) or R == 'high'",
    "R >= 'mid' or A == 0",
    "max(A, B) <= C",
    "min(B, C) + 1 >= T",
    "abs(A - B) >= 2",
    "count(A > 1, B > 1, C > 1) == 2",
    "A % 2 == 1",
    "mean(A, B, C) <= T / 2",
    "round(B / 2) == C",
    "0 < A <= B <= T",
    "not (A == B or N == 9)",
    "T // 2 == N",
)
CURVED = ("A * B <= 6", "A ** 2 + B == C", "B / A >= 2", "A * B * C == 12", "T == max(A * B, C)")


def edit_set(rules, derive=()):
    schema = Schema(COLUMNS, tuple(map(Edit, rules)), tuple(map(Derivation.of, derive)))
    return EditSet.of(schema, CodedTable.from_values(COLUMNS, EVERYTHING))


def every_answer(row, free):
    """Return all rows that the free cells could make."""
    tried = np.repeat(row[None, :], np.prod([SIZES[at] for at in free]), axis=0)
    tried[:, free] = [*itertools.product(*(range(SIZES[at]) for at in free))]
    return tried


def cost(edits, row, tried):
    """Return the cost of every row: one per changed cell, and how far it moved."""
    total = np.zeros(len(tried))
    for name, at in edits.place.items():
        if name in edits.facts:
            moved = np.abs(tried[:, at] - row[at])
            far = moved / edits.facts[name].spread
            # Nominal levels are equally frequent here; only that they changed counts.
            total += (moved > 0) + {"N": 0, "R": moved}.get(name, far)
    return total


rows = st.tuples(*(st.integers(0, size - 1) for size in SIZES))
cells = st.sets(st.integers(0, 5), min_size=3, max_size=5).map(sorted)


def possible(edits, tried, free):
    """Return which rows violate no constraint that a free cell takes part in."""
    imputed = np.zeros(tried.shape, dtype=bool)
    imputed[:, free] = True
    return ~Repairer(edits, imputed).violations(tried, np.arange(len(tried))).any(axis=1)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(LINEAR), min_size=2, max_size=5, unique=True), rows, cells)
def test_the_smallest_change_is_found_whenever_some_answers_satisfy_everything(rules, row, free):
    edits, row = edit_set(rules), np.array(row, dtype=float)
    is_free = np.isin(np.arange(6), free)
    found = solved(Respondent(edits, row, is_free))
    assert (found[~is_free] == row[~is_free]).all()
    tried = every_answer(row, free)
    fits = possible(edits, tried, free)
    if fits.any():
        assert possible(edits, found[None, :], free)[0], (rules, row, free, found)
        least = cost(edits, row, tried[fits]).min()
        assert cost(edits, row, found[None, :])[0] == pytest.approx(least, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(LINEAR), max_size=3, unique=True),
    st.lists(st.sampled_from(CURVED), min_size=1, max_size=2, unique=True),
    rows,
    cells,
)
def test_every_repairable_record_is_repaired(linear, curved, row, free):
    """The whole repair, also with products of imputed answers."""
    edits, row = edit_set([*linear, *curved]), np.array([row], dtype=float)
    imputed = np.isin(np.arange(6), free)[None, :]
    found = Repairer(edits, imputed).repair(row)
    assert (found.values[~imputed] == row[~imputed]).all()
    if possible(edits, every_answer(row[0], free), free).any():
        assert not found.after.any(), (linear, curved, row, free, found.values)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINEAR), min_size=3, max_size=6, unique=True), rows, cells)
def test_as_many_edits_as_possible_hold_if_not_all_can(rules, row, free):
    edits, row = edit_set(rules), np.array(row, dtype=float)
    is_free = np.isin(np.arange(6), free)
    found = Respondent(edits, row, is_free)
    tried = every_answer(row, free)
    imputed = np.repeat(is_free[None, :], len(tried), axis=0)
    fewest = Repairer(edits, imputed).violations(tried, np.arange(len(tried))).sum(axis=1).min()
    assert found.n_violated(solved(found)) == fewest


def test_a_sum_of_fractional_numbers_is_exact():
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "ABCT")
    generator = np.random.default_rng(1)
    parts = generator.uniform(0, 100, (300, 3))
    for decimals in (1, 2, 8):
        values = np.column_stack([parts.round(decimals), parts.round(decimals).sum(axis=1)])
        table = CodedTable.from_values(columns, values)
        rules = tuple(map(Edit, ("A + B + C == T", "A <= B", "B <= C")))
        edits = EditSet.of(Schema(columns, rules), table)
        imputed = np.zeros(values.shape, dtype=bool)
        imputed[:, :3] = True
        drawn = np.where(
            imputed, generator.permutation(values[:, :3], axis=0)[:, [0, 1, 2, 0]], values
        )
        found = Repairer(edits, imputed).repair(drawn)
        assert not found.after.any()
        assert (np.abs(found.values[:, :3].sum(axis=1) - values[:, 3]) < 1e-6).all()


def test_derived_variables_follow_their_parts():
    columns = (*COLUMNS[:4], Column("S", ColumnKind.CONTINUOUS))
    values = np.column_stack([EVERYTHING[:, :4], EVERYTHING[:, :3].mean(axis=1).round(1)])
    table = CodedTable.from_values(columns, values)
    schema = Schema(
        columns,
        (Edit("S >= 4"), Edit("A < B"), Edit("B < C")),
        (Derivation.of("S = mean(A, B, C)"),),
    )
    edits = EditSet.of(schema, table)
    imputed = np.array([[True, True, True, False, True]])
    found = Repairer(edits, imputed).repair(np.array([[0.0, 0, 0, 0, 0]]))
    assert found.values[0].tolist() == [3, 4, 5, 0, 4]
    # An observed mean of 4.0 determines the three together.
    imputed[0, 4] = False
    found = Repairer(edits, imputed).repair(np.array([[0.0, 0, 0, 0, 4]]))
    assert found.values[0].tolist() == [3, 4, 5, 0, 4]


def test_skipped_answers_stay_unknown():
    edits = edit_set(["A + B + C == T", "A < B", "B < C", "count(A > 1, T > 1) == 2"])
    row = np.array([[2.0, 2, 2, np.nan, 0, 0]])
    imputed = np.array([[True, True, True, True, False, False]])
    found = Repairer(edits, imputed).repair(row)
    assert not found.after.any()
    assert np.isnan(found.values[0, 3])


def test_rows_do_not_depend_on_each_other():
    edits = edit_set(["A + B + C == T", "A < B", "B < C", "not (N == 1 and A > 0)"])
    generator = np.random.default_rng(0)
    values = EVERYTHING[generator.choice(len(EVERYTHING), 60)]
    imputed = np.tile([True, True, True, False, True, False], (60, 1))
    whole = Repairer(edits, imputed).repair(values).values
    order = generator.permutation(60)
    again = Repairer(edits, imputed[order]).repair(values[order]).values
    np.testing.assert_array_equal(again, whole[order])


def test_the_most_probable_level_is_chosen_among_those_that_fit():
    edits = edit_set(["N != 1 or A == 0"])
    odds = {4: np.log([[0.7, 0.1, 0.2], [0.7, 0.2, 0.1]])}
    imputed = np.tile([False, False, False, False, True, False], (2, 1))

    def scores(rows, values, open_cells):
        assert open_cells.tolist() == imputed[rows].tolist()
        return {4: odds[4][rows]}

    own = Repairer(edits, imputed, scores=scores)
    found = own.repair(np.tile([3.0, 0, 0, 0, 0, 0], (2, 1)))
    assert found.values[:, 4].tolist() == [2, 1]


def test_limits_between_whole_numbers_are_kept():
    edits = edit_set(["A < 2.5", "B > 2.5", "A + B + C == T", "A >= 2"])
    row = np.array([5.0, 0, 0, 5, 0, 0])
    found = solved(Respondent(edits, row, np.array([True, True, True, False, False, False])))
    assert found.tolist() == [2, 3, 0, 5, 0, 0]


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e9])
def test_strict_order_of_large_whole_numbers(scale):
    # Comparisons take numbers as equal that differ by a billionth of their size.
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "ABCT")
    table = CodedTable.from_values(columns, scale * np.array([[0.0, 0, 0, 0], [9, 9, 9, 27]]))
    rules = tuple(map(Edit, ("A + B + C == T", "A < B", "B < C")))
    edits = EditSet.of(Schema(columns, rules), table)
    free = np.array([True, True, True, False])
    respondent = Respondent(edits, scale * np.array([3.0, 3, 3, 12]), free)
    assert respondent.n_violated(solved(respondent)) == 0


def test_a_condition_that_never_holds_leaves_its_guard_at_0():
    program = Program()
    guard = program.variable(0, 1, cost=-1.0)
    program.require(AtMost(Linear(0.0), strict=True), guard)
    assert program.solve().tolist() == [0.0]
