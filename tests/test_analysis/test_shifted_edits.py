"""Shifts of imputed answers keep bounds, edits and derived variables."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.analysis import pooled_mean, sensitivity
from tabsoda.analysis.shifted_edits import edits_of
from tabsoda.errors import InputError
from tabsoda.results import Imputations, ImputedCells
from tabsoda.results.result_folder import load_result
from tabsoda.schema import Column, ColumnKind, Edit, Schema
from tabsoda.schema.column import Reason
from tabsoda.schema.edit import Derivation
from tabsoda.table import CodedTable

NUMBER, NOMINAL = ColumnKind.CONTINUOUS, ColumnKind.NOMINAL
N, N_DRAWS = 240, 4
SCHEMA = Schema(
    (
        Column("AGE", NUMBER),
        Column("FIRST", NUMBER),
        Column("KILOS", NUMBER, minimum=40, maximum=130),
        Column("HEIGHT", NUMBER),
        Column("NEVER", NOMINAL, (1, 2)),
        Column("SMOKES", NOMINAL, (1, 2)),
    ),
    (Edit("FIRST <= AGE"), Edit("not (NEVER == 1 and SMOKES == 1)")),
    (Derivation("BMI", "KILOS / (HEIGHT / 100) ** 2"),),
)
AGE, FIRST, KILOS, HEIGHT, NEVER, SMOKES, BMI = range(7)


def a_result(schema):
    """Return a result whose draws satisfy all edits, made without a model."""
    generator = np.random.default_rng(5)
    age = generator.integers(20, 80, N).astype(float)
    first = np.floor(age * generator.uniform(0.3, 1, N))
    kilos = generator.uniform(45, 125, N).round(1)
    height = generator.integers(150, 200, N).astype(float)
    never = generator.integers(1, 3, N).astype(float)
    smokes = np.where(never == 1, 2.0, generator.integers(1, 3, N))
    truth = np.column_stack([age, first, kilos, height, never, smokes])
    seen = truth.copy()
    seen[:60, FIRST] = seen[30:90, KILOS] = seen[80:100, HEIGHT] = seen[120:200, SMOKES] = np.nan
    seen[20:40, AGE] = seen[190:210, NEVER] = np.nan
    names = [column.name for column in SCHEMA.columns]
    survey = read_survey(pl.DataFrame(seen, schema=names).fill_nan(None), schema)
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.empty((N_DRAWS, rows.size))
    for number in range(N_DRAWS):
        full = truth.copy()
        full[:, FIRST] = np.floor(age * generator.uniform(0.3, 1, N))
        full[:, KILOS] = generator.uniform(45, 125, N).round(1)
        full[:, SMOKES] = np.where(never == 1, 2.0, generator.integers(1, 3, N))
        full = np.where(np.isnan(seen), full, truth)
        full = np.column_stack([full, bmi(full)])
        full[:, [NEVER, SMOKES]] -= 1
        draws[number] = full[rows, positions]
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)


def bmi(values):
    return np.round(values[:, KILOS] / (values[:, HEIGHT] / 100) ** 2, 6)


@pytest.fixture(scope="module")
def result():
    return a_result(SCHEMA)


def shifted(result, shift, name="AGE"):
    """Return the analysis and all shifted results that were pooled."""
    tables = []

    def estimate(one):
        tables.append(one)
        return pooled_mean(one, name, design=None)

    return sensitivity(result, estimate, shift), tables


def violations(result, tables):
    edits = edits_of(result)
    return sum(
        edits.violated(edits.named(one.values(number))).sum()
        for one in tables
        for number in range(1, N_DRAWS + 1)
    )


@pytest.mark.parametrize(
    "shift",
    [
        "FIRST=-1..2",
        "KILOS=-2..2",
        "KILOS=-60..60 percent",
        ["FIRST=0..1:0.5", "AGE=-1..0:0.5"],
        "SMOKES[1]=-2..2:1",
        "FIRST,KILOS,HEIGHT=-1..1:0.5",
    ],
)
def test_bounds_and_edits_hold_in_every_shifted_table(result, shift):
    found, tables = shifted(result, shift)
    assert len(tables) >= len(found.points)
    assert violations(result, [result]) == violations(result, tables) == 0
    assert any(point.n_moved_back for point in found.points)
    states = result.table.states
    for one in tables:
        values = one.values(1)
        np.testing.assert_array_equal(values[states.answered], result.table.values[states.answered])
        assert np.isnan(values[states.skipped]).all()


def test_an_order_is_kept_at_its_limit(result):
    _, tables = shifted(result, "FIRST=1000 units")
    cells = result.cells
    for number in range(N_DRAWS):
        own = cells.positions == FIRST
        values = tables[-1].values(number + 1)
        ages = values[cells.rows[own], AGE]
        # The nearest value to one that is too high by far is the age itself.
        np.testing.assert_array_equal(values[cells.rows[own], FIRST], ages)


def test_a_derived_variable_follows_its_shifted_part(result):
    _, tables = shifted(result, "KILOS=-5 units", "BMI")
    imputed = np.zeros(result.table.shape, dtype=bool)
    imputed[result.cells.rows, result.cells.positions] = True
    rows = imputed[:, BMI] & imputed[:, KILOS]
    assert rows.sum() == 60
    before, after = result.values(2), tables[-1].values(2)
    expected = np.maximum(before[rows, KILOS] - 5, 40)
    np.testing.assert_allclose(after[rows, KILOS], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(after[rows, BMI], bmi(after)[rows], rtol=0, atol=2e-6)
    np.testing.assert_array_equal(after[~rows], before[~rows])


def test_a_derived_variable_is_not_shifted_on_its_own(result):
    with pytest.raises(InputError, match=r"'BMI'.*computed.*Shift HEIGHT or KILOS instead"):
        sensitivity(result, lambda one: pooled_mean(one, "BMI"), "BMI=-1..1")


def small(minimum, draws):
    columns = (Column("KILOS", NUMBER, minimum=minimum),)
    values = np.array([[50.0], [90.0], [70.0], [np.nan], [np.nan]])
    draws = np.array(draws, dtype=float)
    rows, zeros = np.array([3, 4]), np.zeros(2, dtype=np.int64)
    table = CodedTable.from_values(columns, values)
    return Imputations(table, ImputedCells(rows, zeros, draws, draws[0], draws[0]))


def test_the_count_of_answers_moved_back_has_a_closed_form():
    one = small(40, [[41, 50], [45, 60]])
    found, tables = shifted(one, "KILOS=-12..0:6 units", "KILOS")
    assert tables[0].cells.draws.tolist() == [[41, 50], [45, 60]]
    assert [point.n_moved_back for point in found.points] == [3, 2, 0]
    assert [point.n_shifted for point in found.points] == [4, 4, 0]
    assert [one.cells.draws.tolist() for one in tables[1:3]] == [
        [[40, 40], [40, 48]],
        [[40, 44], [40, 54]],
    ]
    # (50 + 90 + 70) and the mean over both draws of what is left of the imputed answers.
    means = [(210 + (80 + 88) / 2) / 5, (210 + (84 + 94) / 2) / 5, (210 + (91 + 105) / 2) / 5]
    assert [point.estimate for point in found.points] == pytest.approx(means)
    assert [one["moved_back"] for one in found.to_dict()["points"]] == [3, 2, 0]
    assert found.table()["moved_back"].to_list() == [0.75, 0.5, 0]
    text = " ".join(str(found).split())
    assert "finding moved back" in text
    assert "up to 75.0 % of the shifted answers (at a shift of -12) were moved back" in text
    assert "up to 75.0 %" in found.sentence()


def test_an_edit_violated_before_the_shift_does_not_hold_answers_back():
    one = small(45, [[41, 50], [45, 60]])
    found, tables = shifted(one, "KILOS=-6 units", "KILOS")
    # 41 was below the bound already; 50, 45 and 60 were not.
    assert tables[1].cells.draws.tolist() == [[35, 45], [45, 54]]
    assert found.points[0].n_moved_back == 2


def test_without_edits_nothing_is_moved_back():
    one = small(None, [[41, 50], [45, 60]])
    found, tables = shifted(one, "KILOS=-100..0:50 units", "KILOS")
    assert tables[1].cells.draws.tolist() == [[-59, -50], [-55, -40]]
    assert [point.n_moved_back for point in found.points] == [0, 0, 0]
    assert "moved back" not in str(found)
    inside, _ = shifted(small(-1000, [[41, 50], [45, 60]]), "KILOS=-100..0:50 units", "KILOS")
    assert inside.to_dict() == found.to_dict() | {"notes": list(inside.notes)}


def test_edits_survive_saving(result, tmp_path):
    result.save(tmp_path / "out")
    again = load_result(tmp_path / "out")
    found, tables = shifted(again, "FIRST=-1..1:0.5")
    before, _ = shifted(result, "FIRST=-1..1:0.5")
    assert violations(result, tables) == 0
    assert found.to_dict() == before.to_dict()


def test_an_unapproved_edit_is_not_kept(result):
    proposed = replace(SCHEMA, edits=(Edit("FIRST <= AGE", approved=False),))
    found, tables = shifted(a_result(proposed), "FIRST=2")
    assert not found.points[0].n_moved_back
    assert violations(result, tables) > 0


def test_a_gate_that_an_edit_holds_keeps_its_followers():
    schema = Schema(
        (
            Column("WORKS", NOMINAL, (1, 2)),
            Column("HOURS", NUMBER, special_codes={-1: Reason.SKIP}),
            Column("PAID", NOMINAL, (1, 2)),
        ),
        (Edit("not (WORKS == 2 and PAID == 1)"),),
    )
    frame = pl.DataFrame(
        {
            "WORKS": [1, 2] * 60 + [None, None],
            "HOURS": [30, -1] * 60 + [None, None],
            "PAID": [1, 2] * 61,
        }
    )
    survey = read_survey(frame, schema)
    rows, positions = np.nonzero(survey.states.missing)
    # The second draw of the first respondent violates the edit before the shift already.
    draws = np.array([[0, 20, 0, 25], [1, np.nan, 1, np.nan]])
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    found, tables = shifted(Imputations(survey.table, cells, survey), "WORKS[2]=50", "HOURS")
    np.testing.assert_array_equal(
        tables[-1].cells.draws, [[0, 20, 1, np.nan], [1, np.nan, 1, np.nan]]
    )
    assert (found.points[-1].n_shifted, found.points[-1].n_moved_back) == (4, 2)
