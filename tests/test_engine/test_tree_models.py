"""The trees of a whole table: what they learn, what they ignore, how they are saved."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from tabsoda.engine.trees.predictor_codes import MISSING, PredictorCodes
from tabsoda.engine.trees.settings import TreeSettings
from tabsoda.engine.trees.tree_models import TreeModels
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

FULL, QUICK = TreeSettings.named("full"), TreeSettings.named("quick")


def mixed_table(n_rows=600, seed=0):
    """Four questions of every kind, related, with blanks and a gate with its skips."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    level = np.clip(group + rng.integers(0, 3, n_rows), 0, 4)
    number = 10.0 * group + rng.normal(0, 1, n_rows)
    gate = rng.integers(0, 2, n_rows)
    after = np.where(rng.random(n_rows) < 0.9, group > 0, group == 0)
    values = np.column_stack([group, level, number, gate, after]).astype(float)
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[gate == 1, 4] = True
    values[(rng.random(values.shape) < 0.15) | skipped] = np.nan
    columns = (
        Column("group", ColumnKind.NOMINAL, ("a", "b", "c")),
        Column("level", ColumnKind.ORDINAL, (1, 2, 3, 4, 5)),
        Column("number", ColumnKind.CONTINUOUS),
        Column("gate", ColumnKind.NOMINAL, (1, 2)),
        Column("after", ColumnKind.NOMINAL, (1, 2)),
    )
    return CodedTable.from_values(columns, values, skipped)


def plain_table(values, kinds, n_levels):
    columns = tuple(
        Column(f"q{i}", kind, tuple(range(n)))
        for i, (kind, n) in enumerate(zip(kinds, n_levels, strict=True))
    )
    return CodedTable.from_values(columns, np.asarray(values, dtype=float))


def all_rows(table):
    return np.arange(table.shape[0])


def same(one, other):
    assert one.probabilities.keys() == other.probabilities.keys()
    assert one.numbers.keys() == other.numbers.keys()
    for ours, theirs in ((one.probabilities, other.probabilities), (one.numbers, other.numbers)):
        for position in ours:
            assert np.array_equal(ours[position], theirs[position])


@pytest.fixture(scope="module")
def table():
    return mixed_table()


@pytest.fixture(scope="module")
def models(table):
    return TreeModels.fit(table, table.states.answered, QUICK, seed=1)


def test_learns_what_is_there(table, models):
    fresh = mixed_table(400, seed=9)
    answers = models.predict(fresh, all_rows(fresh))
    group = fresh.values[:, 0]
    shown = ~np.isnan(group) & ~np.isnan(fresh.values[:, 2])
    assert (answers.probabilities[0].argmax(axis=1)[shown] == group[shown]).mean() > 0.97
    # The best guess of the number is 10 times the group: 8 would be the error of the overall mean,
    # 1 is the noise that nobody can foretell and that 600 rows leave a part of.
    error = answers.numbers[2][shown] - 10.0 * group[shown]
    assert np.sqrt(np.mean(error**2)) < 0.8
    # Nine in ten follow the group.
    follow = answers.probabilities[4][~np.isnan(group)]
    truth = group[~np.isnan(group)] > 0
    assert abs(np.where(truth, follow[:, 1], follow[:, 0]).mean() - 0.9) < 0.04


def test_probabilities_are_probabilities(table, models):
    answers = models.predict(table, all_rows(table))
    assert set(answers.probabilities) == {0, 1, 3, 4}
    for position, rows in answers.probabilities.items():
        assert rows.shape == (table.shape[0], table.columns[position].n_levels)
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    low, high = np.nanmin(table.values[:, 2]), np.nanmax(table.values[:, 2])
    assert ((answers.numbers[2] >= low) & (answers.numbers[2] <= high)).all()


def test_hidden_answers_are_not_seen(table):
    rng = np.random.default_rng(2)
    visible = table.states.answered & (rng.random(table.shape) < 0.7)
    scrambled = table.values.copy()
    for position in range(scrambled.shape[1]):
        hidden = np.flatnonzero(table.states.answered[:, position] & ~visible[:, position])
        scrambled[hidden, position] = scrambled[rng.permutation(hidden), position]
    other = CodedTable(table.columns, scrambled, table.states)
    seen = table.with_states(table.states.hide(~visible & table.states.answered))
    one = TreeModels.fit(table, visible, QUICK, seed=1)
    two = TreeModels.fit(other, visible, QUICK, seed=1)
    three = TreeModels.fit(seen, seen.states.answered, QUICK, seed=1)
    same(one.predict(seen, all_rows(seen)), two.predict(seen, all_rows(seen)))
    same(one.predict(seen, all_rows(seen)), three.predict(seen, all_rows(seen)))


def test_a_question_does_not_predict_itself(table, models):
    rows = np.flatnonzero(table.states.answered[:, 0])
    blank = table.with_states(
        table.states.hide(np.eye(1, 5, 0, dtype=bool) & table.states.answered)
    )
    shown, hidden = models.predict(table, rows), models.predict(blank, rows)
    assert np.array_equal(shown.probabilities[0], hidden.probabilities[0])
    assert not np.array_equal(shown.numbers[2], hidden.numbers[2])


def test_rows_and_threads_change_nothing(table, models):
    whole = models.predict(table, all_rows(table))
    order = np.random.default_rng(0).permutation(table.shape[0])
    shuffled = models.predict(table, order)
    for position, rows in whole.probabilities.items():
        assert np.array_equal(shuffled.probabilities[position], rows[order])
    assert np.array_equal(shuffled.numbers[2], whole.numbers[2][order])
    one = models.predict(table, np.array([17]))
    assert np.array_equal(one.probabilities[1][0], whole.probabilities[1][17])
    threads = TreeModels.fit(table, table.states.answered, QUICK, seed=1, n_threads=2)
    same(threads.predict(table, all_rows(table)), whole)
    other = TreeModels.fit(table, table.states.answered, QUICK, seed=2)
    assert not np.array_equal(other.predict(table, order).numbers[2], shuffled.numbers[2])


def test_skips_tell(table):
    """Whether ``after`` was skipped is the only thing that says what the gate was."""
    rng = np.random.default_rng(3)
    gate = rng.integers(0, 2, 500).astype(float)
    after = np.where(gate == 1, np.nan, rng.integers(0, 2, 500))
    skipped = np.column_stack([np.zeros(500, dtype=bool), gate == 1])
    for kind in ColumnKind:
        levels = () if kind is ColumnKind.CONTINUOUS else (1, 2)
        columns = (Column("gate", ColumnKind.NOMINAL, (1, 2)), Column("after", kind, levels))
        data = CodedTable.from_values(columns, np.column_stack([gate, after]), skipped)
        fitted = TreeModels.fit(data, data.states.answered, FULL, seed=1, columns=[0])
        chance = fitted.predict(data, all_rows(data)).probabilities[0]
        assert (chance[all_rows(data), gate.astype(int)] > 0.95).all()


def test_weights_of_two_are_rows_of_two():
    table = mixed_table(200)
    weights = np.random.default_rng(4).integers(0, 3, 200).astype(float)
    constant = dataclasses.replace(FULL, min_leaf_rows=10_000)
    twice = table.rows(np.repeat(np.arange(200), weights.astype(int)))
    weighted = TreeModels.fit(table, table.states.answered, constant, 1, row_weights=weights)
    repeated = TreeModels.fit(twice, twice.states.answered, constant, 1)
    ours, theirs = (e.predict(table, all_rows(table)) for e in (weighted, repeated))
    np.testing.assert_allclose(ours.numbers[2], theirs.numbers[2])
    np.testing.assert_allclose(ours.probabilities[1], theirs.probabilities[1], atol=0.02)


def test_only_questions_with_something_to_say_are_fitted(table):
    whole = mixed_table()
    filled = whole.values.copy()
    filled[np.isnan(filled[:, 3]), 3] = 0.0
    data = CodedTable(whole.columns, filled, CodedTable.from_values(
        whole.columns, filled, whole.states.skipped).states)  # fmt: skip
    seen = []
    fitted = TreeModels.fit(
        data, data.states.answered, QUICK, 1, progress=lambda *told: seen.append(told)
    )
    assert set(fitted.models) == {0, 1, 2, 4}
    assert seen == [(1, 4, "group"), (2, 4, "level"), (3, 4, "number"), (4, 4, "after")]
    asked = TreeModels.fit(data, data.states.answered, QUICK, 1, columns=[3])
    assert set(asked.models) == {3}
    with pytest.raises(InputError, match="no question at this position"):
        TreeModels.fit(data, data.states.answered, QUICK, 1, columns=[5])
    alone = data.select(("number",))
    assert TreeModels.fit(alone, alone.states.answered, QUICK, 1).models == {}


def test_state_survives_json_and_a_file(table, models, tmp_path):
    arrays, content = models.to_state()
    np.savez(tmp_path / "arrays.npz", **arrays)
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as stored:
        loaded = TreeModels.from_state(dict(stored), json.loads(json.dumps(content)))
    same(loaded.predict(table, all_rows(table)), models.predict(table, all_rows(table)))


def damaged_states(arrays, content):
    """Yield one state per way to break it."""
    for key in ("format", "names", "kinds", "n_levels", "fitted"):
        yield f"no {key}", arrays, {k: v for k, v in content.items() if k != key}
    yield "version", arrays, content | {"format": 99}
    yield "kind", arrays, content | {"kinds": ["nothing"] * 5}
    yield "not numbers", arrays, content | {"n_levels": ["x"] * 5}
    yield "position", arrays, content | {"fitted": [0, 77]}
    for name, array in arrays.items():
        yield f"no {name}", {k: v for k, v in arrays.items() if k != name}, content
        if array.size:
            yield f"short {name}", arrays | {name: array.ravel()[:-1]}, content
        yield f"text {name}", arrays | {name: np.full(array.shape, "x")}, content
    far = arrays["0.predictor"] + np.uint16(500)
    yield "far question", arrays | {"0.predictor": far}, content
    yield "no leaf", arrays | {"0.leaves_right": arrays["0.leaves_right"] * 0}, content
    yield "infinite", arrays | {"0.leaf_values": arrays["0.leaf_values"] + np.inf}, content
    yield "shares", arrays | {"0.spread": arrays["0.spread"] * 2}, content
    yield "edges", arrays | {"edges": arrays["edges"][::-1].copy()}, content


def test_damaged_states_are_refused(models):
    broken = 0
    for what, arrays, content in damaged_states(*models.to_state()):
        if what.startswith("text") and arrays[what.split()[1]].size == 0:
            continue
        try:
            TreeModels.from_state(arrays, content)
        except InputError:
            broken += 1
        else:
            pytest.fail(what)
    assert broken > 100


def test_other_tables_are_refused(table, models):
    with pytest.raises(InputError, match="other questions"):
        models.predict(table.select(table.names[::-1]), np.arange(3))
    columns = (*table.columns[:4], Column("after", ColumnKind.NOMINAL, (1, 2, 3)))
    with pytest.raises(InputError, match=r"after.*another description"):
        models.predict(CodedTable(columns, table.values, table.states), np.arange(3))
    with pytest.raises(InputError, match="does not match"):
        TreeModels.fit(table, table.states.answered[:-1], QUICK, 1)


def test_constant_and_nearly_empty_questions():
    rng = np.random.default_rng(0)
    nothing = np.full(300, np.nan)
    values = np.column_stack(
        [np.ones(300), np.full(300, 5.0), nothing, nothing, rng.integers(0, 3, 300), nothing]
    )
    values[:10] = np.nan
    values[20, 2], values[21, 3] = 2.0, 7.5
    kinds = [ColumnKind.NOMINAL, ColumnKind.CONTINUOUS, ColumnKind.ORDINAL,
             ColumnKind.CONTINUOUS, ColumnKind.NOMINAL, ColumnKind.CONTINUOUS]  # fmt: skip
    table = plain_table(values, kinds, [2, 0, 4, 0, 3, 0])
    events = EventLog()
    fitted = TreeModels.fit(table, table.states.answered, FULL, 1, events=events)
    answers = fitted.predict(table, np.arange(2))
    assert answers.probabilities[0][0, 1] > 0.99
    assert answers.numbers[1].tolist() == [5.0, 5.0]
    # One answer and one more, split evenly.
    np.testing.assert_allclose(answers.probabilities[2][0], [0.125, 0.125, 0.625, 0.125])
    assert answers.numbers[3].tolist() == [7.5, 7.5]
    assert answers.numbers[5].tolist() == [0.0, 0.0]
    assert {e.column for e in events} >= {"q0", "q1", "q2", "q3", "q5"}
    arrays, content = fitted.to_state()
    same(TreeModels.from_state(arrays, content).predict(table, np.arange(2)), answers)


def test_predictors_never_known():
    rng = np.random.default_rng(0)
    values = np.full((200, 3), np.nan)
    values[:, 0] = rng.integers(0, 2, 200)
    values[0, 0] = np.nan
    table = plain_table(values, [ColumnKind.NOMINAL] * 3, [2, 2, 2])
    answers = TreeModels.fit(table, table.states.answered, FULL, 1).predict(table, np.arange(1))
    np.testing.assert_allclose(
        answers.probabilities[0][0, 1], (np.nansum(values[:, 0]) + 0.5) / 200, atol=0.02
    )
    assert answers.probabilities[1].tolist() == [[0.5, 0.5]]


def test_many_levels_share_a_class():
    rng = np.random.default_rng(1)
    side = rng.integers(0, 2, 4000)
    # Levels 0..149 on one side, 150..299 on the other, the lower ones far more frequent.
    level = np.minimum(rng.geometric(0.05, 4000) - 1, 148) + 150 * side
    values = np.column_stack([level, side]).astype(float)
    values[:5, 0] = np.nan
    table = plain_table(values, [ColumnKind.NOMINAL, ColumnKind.NOMINAL], [300, 2])
    fitted = TreeModels.fit(table, table.states.answered, QUICK, 1)
    assert fitted.models[0].trees.start.size == QUICK.max_classes
    chance = fitted.predict(table, all_rows(table)).probabilities[0]
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    # Never given, still not impossible; one of the common levels knows its side.
    assert 0 < chance[:, 149].max() < 1e-4
    assert chance[side == 0, 0].mean() > 10 * chance[side == 1, 0].mean()
    # As a predictor it is beyond the sets of levels and split in its order, in groups: only the
    # group across the border of the sides is of two minds.
    back = TreeModels.fit(table, table.states.answered, QUICK, 1, columns=[1])
    sure = back.predict(table, np.arange(5, 4000)).probabilities[1]
    assert (sure.argmax(axis=1) == side[5:]).mean() > 0.95


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_hardly_any_rows(n_rows):
    table = mixed_table(20).rows(np.arange(n_rows))
    fitted = TreeModels.fit(table, table.states.answered, FULL, 1, columns=[0, 1, 2, 3, 4])
    answers = fitted.predict(table, np.arange(n_rows))
    assert answers.numbers[2].shape == (n_rows,)
    assert answers.probabilities[1].shape == (n_rows, 5)
    assert fitted.predict(mixed_table(30), np.arange(30)).probabilities[4].shape == (30, 2)


def test_levels_are_named():
    assert QUICK.max_rounds < FULL.max_rounds
    with pytest.raises(InputError, match=r"Unknown effort.*'slow'.*'quick' or 'full'"):
        TreeSettings.named("slow")
    with pytest.raises(InputError, match="max_leaves has an invalid value: 65"):
        TreeSettings(max_leaves=65)


def test_codes_keep_the_order_of_answers():
    answers = np.random.default_rng(0).normal(size=1000) ** 3
    table = plain_table(answers[:, None], [ColumnKind.CONTINUOUS], [0])
    coding = PredictorCodes.of(table, table.states.answered, FULL)
    codes = coding.encode(table)[np.argsort(answers), 0].astype(int)
    assert (np.diff(codes) >= 0).all()
    sizes = np.bincount(codes)
    assert sizes[0] == 0
    assert sizes.size == FULL.max_bins + 1
    assert sizes[1:].max() <= 2 * 1000 / FULL.max_bins
    beyond = plain_table([[1e9], [-1e9], [np.nan]], [ColumnKind.CONTINUOUS], [0])
    assert coding.encode(beyond)[:, 0].tolist() == [FULL.max_bins, 1, MISSING]


def test_importable_without_data_frames():
    code = (
        "import sys\n"
        "for name in ('polars', 'pydantic'): sys.modules[name] = None\n"
        "import tabsoda.engine.trees.fit\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
