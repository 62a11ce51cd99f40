"""Subsets: conditions on answers, blanks that decide nothing, and no code that runs."""

import numpy as np
import pytest

from tabsoda.analysis.model_frame import model_frame
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError


def frame_mask(result, draw, condition):
    return condition(model_frame(result, draw)).to_numpy()


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ("age >= 40", lambda t: t.age >= 40),
        ("age >= 40 and smokes == 2", lambda t: (t.age >= 40) & (t.smokes == 2)),
        ("smokes == 'Yes'", lambda t: t.smokes == 1),
        ("region == 'north' or health < 2", lambda t: (t.region == "north") | (t.health < 2)),
        ("region in ('north', 'west')", lambda t: t.region.isin(["north", "west"])),
        ("not region in ['north']", lambda t: t.region != "north"),
        ("smokes not in (2,)", lambda t: t.smokes == 1),
        ("20 < age <= 50", lambda t: (t.age > 20) & (t.age <= 50)),
        ("age - 10 * health > -(5 + 2) * 2", lambda t: t.age - 10 * t.health > -14),
        ("cigarettes is None", lambda t: t.cigarettes.isna()),
        (
            "Q('cigarettes') is not None and age / 2 > 20",
            lambda t: t.cigarettes.notna() & (t.age > 40),
        ),
        ("weight > 1 and person != 3", lambda t: (t.weight > 1) & (t.person != 3)),
    ],
)
def test_a_condition_selects_the_rows_that_meet_it_in_every_draw(where, condition, result):
    rows = selected_rows(result, where)
    for draw in range(1, 5):
        expected = frame_mask(result, draw, condition)
        np.testing.assert_array_equal(rows.counted[draw - 1], expected)
    assert (rows.counts().total == 80).all()


def test_a_blank_is_neither_inside_nor_outside(result):
    blank = np.isnan(model_frame(result, 1)["cigarettes"].to_numpy())
    for where in ("cigarettes > 10", "not cigarettes > 10", "cigarettes not in (1, 2)"):
        rows = selected_rows(result, where)
        assert not (rows.counted & blank).any()
        undecided = [n for why, n in rows.left_out.items() if "undecided" in why]
        assert undecided[0].tolist() == [int(blank.sum())] * 4
    # One side that holds, or fails, decides without the other.
    assert selected_rows(result, "cigarettes > 10 or person > 0").counted.all()
    assert (
        not selected_rows(result, "cigarettes > 10 and person < 0")
        .counts()
        .left_out["subset undecided (a question of the condition is blank)"]
        .any()
    )


def test_an_imputed_answer_moves_a_respondent_in_and_out(result):
    rows = selected_rows(result, "age > 40")
    imputed = result.cells.positions == result.table.names.index("age")
    drawn = result.cells.draws[:, imputed] > 40
    np.testing.assert_array_equal(rows.counted[:, result.cells.rows[imputed]], drawn)
    assert len({row.tobytes() for row in rows.counted}) > 1


def test_levels_that_are_texts_have_an_order_if_they_are_ordinal():
    from tabsoda import CodedTable, Column, ColumnKind, Imputations
    from tabsoda.results import ImputedCells

    levels = ("poor", "fair", "good")
    columns = (
        Column("health", ColumnKind.ORDINAL, levels),
        Column("area", ColumnKind.NOMINAL, levels),
    )
    table = CodedTable.from_values(columns, np.array([[0, 0], [1, 1], [2, 2.0]]))
    none = np.zeros(0, dtype=np.int64)
    cells = ImputedCells(none, none, np.zeros((2, 0)), np.zeros(0), np.zeros(0))
    made = Imputations(table, cells)
    assert selected_rows(made, "health >= 'fair'").counted.tolist() == [[False, True, True]] * 2
    assert selected_rows(made, "health == area").counted.all()
    with pytest.raises(InputError, match="'area' has unordered answers"):
        selected_rows(made, "area >= 'fair'")


def test_a_mask_is_a_subset_too(result):
    mask = np.arange(80) < 30
    assert selected_rows(result, mask).counted.sum() == 120
    assert selected_rows(result, np.tile(mask, (4, 1))).counted.sum() == 120
    for wrong in (np.ones(80), np.ones(79, dtype=bool)):
        with pytest.raises(InputError, match="not a mask of the rows"):
            selected_rows(result, wrong)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("", "cannot be read"),
        ("age >", "cannot be read"),
        ("age = 30", "Write == for equals"),
        ("age", "Write a comparison"),
        ("1", "Write a comparison"),
        ("ages > 3", "'ages' named in where is not in this result. Similar names: age"),
        ("Smokes == 1", "Similar names: smokes"),
        ("smokes == 'Maybe'", "'smokes' does not have the answer.*'Maybe'.*1 'Yes', 2 'No'"),
        ("region == 'nord'", "'region' does not have the answer.*north"),
        ("region > 'north'", "'region' has unordered answers"),
        ("region + 1 > 2", "answers are texts, not numbers"),
        ("age == 'old'", "compares a text with numbers"),
        ("(age > 3) & (smokes == 1)", "Write and, or instead"),
        ("smokes in 1", "After in comes a list"),
        ("smokes is 1", "only with None"),
        ("age == True", "not allowed"),
        ("region == health", "'region' is compared in where with a column that has other levels"),
        ("-" * 1500 + "1 > 0", "cannot be read"),
        ("age > 1" + "0" * 400, "cannot be read"),
        ("age > 1" + " and age > 1" * 400, "cannot be read"),
    ],
)
def test_conditions_that_cannot_be_used(where, message, result):
    with pytest.raises(InputError, match=message):
        selected_rows(result, where)


INJECTIONS = [
    "__import__('os').system('touch {path}')",
    "open('{path}', 'w') == 1",
    "exec(\"open('{path}', 'w')\") == 1",
    "age.__class__ == 1",
    "[open('{path}', 'w') for x in (1,)] == 1",
    "(lambda: open('{path}', 'w'))() == 1",
    "f\"{{open('{path}', 'w')}}\" == region",
    "age > (x := 3)",
    "age in open('{path}', 'w')",
    "age[0] > 1",
    "Q(open('{path}', 'w')) == 1",
    "age ** 9 ** 9 ** 9 > 1",
    "'a' * 99 == region",
    "age % 2 == 1",
    "age << 99999 > 1",
    "__class__ == 1",
    "Q('__class__') == 1",
    "Q('age').__class__ == 1",
    "age == {{'a': 1}}",
    "age in (1, open('{path}', 'w'))",
    "age in (*range(9),)",
    "(yield) == 1",
    "age == ...",
    "age > 1; import os",
    "age > 1\nimport os",
    "(" * 900 + "age > 1" + ")" * 900,
    "age > 1 and " * 20_000 + "age > 1",
]


@pytest.mark.parametrize("where", INJECTIONS)
def test_code_is_not_executed(where, result, tmp_path):
    path = tmp_path / "made"
    with pytest.raises(InputError):
        selected_rows(result, where.format(path=path))
    assert not path.exists()
