"""Codes, histograms and intervals against the plain way to compute them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.predictors import (
    CODE_OF_REASON,
    FIRST_ANSWER,
    MISSING,
    UNKNOWN,
    CellCodes,
    GateSet,
    upper_edges,
)
from tabsoda.skips.settings import PuritySettings
from tabsoda.skips.single_gate import best_interval, count, nearest_best
from tabsoda.skips.tree_rules import design, grow, one_hot, splittable, walk
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable


def table(seed=0, n=300):
    rng = np.random.default_rng(seed)
    values = np.column_stack(
        [rng.integers(0, 4, n), rng.integers(0, 60, n), rng.integers(0, 2, n)]
    ).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    columns = (
        Column("a", ColumnKind.ORDINAL, ("w", "x", "y", "z")),
        Column("b", ColumnKind.CONTINUOUS),
        Column("c", ColumnKind.NOMINAL, (1, 2)),
    )
    plain = CodedTable.from_values(columns, values)
    reasons = rng.choice([reason_code(r) for r in (*CODE_OF_REASON, Reason.BLANK)], values.shape)
    known = plain.states.missing & (rng.random(values.shape) < 0.2)
    states = CellStates.from_masks(plain.states.answered, known, plain.names, reasons)
    return plain.with_states(states)


@given(seed=st.integers(0, 50), low=st.integers(0, 30), high=st.integers(30, 59))
def test_a_described_condition_holds_where_its_codes_do(seed, low, high):
    survey = table(seed)
    codes = CellCodes(survey, max_bins=100)
    learned = ~survey.states.answered & (np.arange(300)[:, None] % 2 == 0)
    for position in range(3):
        codes.mark_skipped(position, learned[:, position])
    # What the table called a skip from the start is one, too.
    routed = survey.with_states(survey.states.with_skips(learned | survey.states.skipped))
    rng = np.random.default_rng(seed)
    nominal = rng.random(codes.n_codes(0)) < 0.5
    number = np.zeros(codes.n_codes(1), dtype=bool)
    number[FIRST_ANSWER + low : FIRST_ANSWER + high] = True
    for gate, member in ((0, nominal), (1, number)):
        member[:FIRST_ANSWER] = rng.random(FIRST_ANSWER) < 0.5
        if member[UNKNOWN]:
            # "Blank" means missing for any reason.
            member[list(MISSING)] = True
        chosen = GateSet(gate, member)
        np.testing.assert_array_equal(codes.holds(chosen), codes.describe(chosen).holds(routed))


@given(seed=st.integers(0, 50), share=st.floats(0, 1))
def test_counts_are_those_of_the_rows(seed, share):
    survey = table(seed)
    codes = CellCodes(survey, max_bins=100)
    blank = np.random.default_rng(seed).random(300) < share
    counts = count(codes, 2, blank)
    for value in range(4):
        place = codes.start[0] + FIRST_ANSWER + value
        here = survey.values[:, 0] == value
        assert counts.blank[place] == (here & blank).sum()
        assert counts.asked[place] == (here & ~blank).sum()


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
def test_best_interval_is_the_best(scores):
    first, last = best_interval(np.array(scores, dtype=float))
    best = max(sum(scores[i : j + 1]) for i in range(len(scores)) for j in range(i, len(scores)))
    assert sum(scores[first : last + 1]) == best


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.integers(2, 20))
def test_thresholds_are_answers_somebody_gave(answers, max_bins):
    edges = upper_edges(np.array(answers), max_bins)
    assert set(edges) <= set(answers)
    assert edges[-1] == max(answers)
    assert len(edges) <= max_bins


def test_the_nearest_gate_with_answers_is_preferred():
    gain = np.array([1000.0, 998.0, 999.0, 500.0])
    answers = np.array([True, True, False, True])
    close, exact = PuritySettings(gain_tolerance=0.005), PuritySettings(gain_tolerance=0.0)
    assert nearest_best(gain, answers, close) == 1
    assert nearest_best(gain, answers, exact) == 0
    assert nearest_best(gain, np.zeros(4, dtype=bool), close) == 2
    # A gate with answers may explain a little less than one of which all answers lead past.
    assert nearest_best(gain, np.array([False, True, False, True]), exact) == 1
    wide = PuritySettings(answer_tolerance=0.001)
    assert nearest_best(gain, np.array([False, True, False, True]), wide) == 2


def test_features_left_out_could_not_split():
    survey = table(3, n=300)
    codes = CellCodes(survey, max_bins=8)
    blank = ~survey.states.answered[:, 2]
    features = one_hot(codes, [0, 1])
    kept = splittable(codes, features, codes.totals[: codes.start[2]], min_leaf=60)
    assert 0 < len(kept) < len(features)
    rows = np.ones(300, dtype=bool)
    grown = {"depth": 4, "min_leaf": 60, "asked_weight": 2.0, "blank_weight": 1.0}
    whole = grow(design(codes, features, rows), blank, **grown).tree_
    part = grow(design(codes, kept, rows), blank, **grown).tree_
    np.testing.assert_allclose(np.sort(whole.impurity), np.sort(part.impurity))


def test_a_path_leads_to_the_rows_of_its_node():
    survey = table(1, n=600)
    codes = CellCodes(survey, max_bins=20)
    blank = survey.values[:, 1] > 30
    features = one_hot(codes, [0, 1])
    X = design(codes, features, np.ones(600, dtype=bool))
    tree = grow(X, blank, depth=3, min_leaf=20, asked_weight=1.0, blank_weight=1.0)
    sizes = sorted(
        int(codes.all_hold(list(node.path)).sum()) for node in walk(tree, features, codes)
    )
    assert sizes == sorted(tree.tree_.n_node_samples[1:].tolist())
