"""Tables of one column, of constants, of empty questions: imputed, or logged why not."""

import warnings

import numpy as np
import pytest

from tabsoda.engine.engine import DefaultEngine
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

CPU = {"seed": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def quick(quick_settings):
    return quick_settings("fast", regressions={"sets": 2, "point_sets": 2})


def levels(column_name, n_levels, kind=ColumnKind.NOMINAL):
    return Column(column_name, kind, levels=tuple(range(n_levels)))


def number(name):
    return Column(name, ColumnKind.CONTINUOUS)


def digits(taste, n_levels, rng):
    noisy = taste + 0.5 * rng.normal(size=taste.size)
    return np.digitize(noisy, np.linspace(-1, 1, n_levels - 1)).astype(float)


ODD = {
    "one nominal": lambda x, rng: [(levels("a", 2), digits(x, 2, rng))],
    "one nominal of three": lambda x, rng: [(levels("a", 3), digits(x, 3, rng))],
    "one ordinal": lambda x, rng: [(levels("a", 4, ColumnKind.ORDINAL), digits(x, 4, rng))],
    "one number": lambda x, rng: [(number("a"), x)],
    "two": lambda x, rng: [(levels("a", 2), digits(x, 2, rng)), (number("b"), x)],
    "two numbers": lambda x, rng: [(number("a"), np.round(x, 1)), (number("b"), x)],
    "constants": lambda x, rng: [
        (levels("a", 3), digits(x, 3, rng)),
        (levels("same level", 3), np.full(x.size, 2.0)),
        (number("same number"), np.full(x.size, 7.0)),
        (levels("b", 4, ColumnKind.ORDINAL), digits(x, 4, rng)),
        (number("c"), x),
    ],
    "nobody answers": lambda x, rng: [
        (levels("a", 3), digits(x, 3, rng)),
        (levels("nobody", 3), np.full(x.size, np.nan)),
        (number("no number"), np.full(x.size, np.nan)),
        (number("b"), x),
    ],
    "few answer": lambda x, rng: [
        (levels("a", 3), digits(x, 3, rng)),
        (levels("few", 2), np.where(np.arange(x.size) < 19, np.arange(x.size) % 2, np.nan)),
        (number("b"), x),
    ],
    "many levels": lambda x, rng: [
        (levels("many", 50), rng.integers(0, 50, x.size).astype(float)),
        (levels("a", 3), digits(x, 3, rng)),
        (number("b"), x),
    ],
}
NOT_REGRESSED = {"few answer": [("few", "answers")], "many levels": [("many", "levels")]}


def odd_table(case):
    """Return a table of 140 rows with missing cells, three of them empty throughout."""
    rng = np.random.default_rng(0)
    columns, values = zip(*ODD[case](rng.normal(size=140), rng), strict=True)
    missing = rng.random((140, len(columns))) < 0.2
    # Not in the first rows: whoever answers there is among few.
    missing[:30] = False
    missing[100:103] = True
    return CodedTable.from_values(columns, np.where(missing, np.nan, np.column_stack(values)))


@pytest.mark.parametrize("case", ODD)
def test_odd_tables_are_imputed_and_what_is_not_regressed_is_logged(
    case, quick, reloaded, same_cells
):
    table = odd_table(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = DefaultEngine.fit(table, quick, **CPU)
        cells = engine.impute(table, 2)
    states = table.states
    drawable = states.answered.any(axis=0)
    expected = np.nonzero(states.missing & drawable)
    assert np.array_equal(np.array([cells.rows, cells.positions]), np.array(expected))
    for position in np.flatnonzero(drawable):
        given_answers = np.unique(table.values[states.answered[:, position], position])
        mine = cells.positions == position
        if table.names[position] != "many":
            # The network may draw a level that exists though nobody chose it.
            assert np.isin(cells.draws[:, mine], given_answers).all()
        assert np.isfinite(cells.mode[mine]).all()
        assert np.isfinite(cells.median[mine]).all()
    logged = [(event.column, *event.counts) for event in not_regressed(engine)]
    assert logged == NOT_REGRESSED.get(case, [])
    assert same_cells(cells, reloaded(engine).impute(table, 2))


@pytest.mark.parametrize("case", ODD)
def test_attention_between_questions_takes_odd_tables(case, quick_settings):
    settings = quick_settings("best", network={"members": 1}, training={"max_steps": 4})
    table = odd_table(case)
    engine = DefaultEngine.fit(table, settings, **CPU)
    cells = engine.impute(table, 1)
    assert np.isfinite(cells.draws).all()
    assert np.isfinite(cells.mode).all()


def not_regressed(engine):
    kinds = ("many_levels_not_regressed", "few_answers_not_regressed")
    return [event for event in engine.events if event.kind in kinds]


def test_what_was_constant_may_differ_in_another_table(quick):
    """Nothing was learned about another value, however far away it is."""
    table = odd_table("constants")
    engine = DefaultEngine.fit(table, quick, **CPU)
    elsewhere = table.values.copy()
    elsewhere[:, table.names.index("same number")] = 1e4
    other = CodedTable.from_values(table.columns, elsewhere)
    keys = np.arange(table.shape[0])
    one, two = engine.draw(table, 1, keys), engine.draw(other, 1, keys)
    varying = [0, 3, 4]
    same = (one == two)[:, varying][table.states.missing[:, varying]]
    assert same.mean() > 0.95


def test_a_table_of_constants_has_nothing_to_train(quick, mixed_table, reloaded):
    table = mixed_table()
    values = np.where(table.states.answered, 1.0, np.nan)
    constant = CodedTable(table.columns, values, table.states)
    engine = DefaultEngine.fit(constant, quick, **CPU)
    assert "nothing_to_train" in {event.kind for event in engine.events}
    assert engine.history == []
    for one in (engine, reloaded(engine)):
        cells = one.impute(constant, 1)
        assert cells.rows.size == table.states.missing.sum()
        assert (cells.draws == 1.0).all()
        assert (cells.mode == 1.0).all()
        assert one.level_probabilities(constant) == {}
        drawn = one.draw(constant, 1)
        assert (drawn[~table.states.skipped] == 1.0).all()
        assert np.isnan(drawn[table.states.skipped]).all()


def test_a_complete_table_has_nothing_to_impute(quick, mixed_table):
    table = mixed_table()
    engine = DefaultEngine.fit(table, quick, **CPU)
    complete = np.flatnonzero(~table.states.missing.any(axis=1))
    cells = engine.impute(table.rows(complete), 2)
    assert cells.rows.size == 0
    assert cells.draws.shape == (2, 0)


@pytest.mark.parametrize("n_rows", [3, 6])
def test_hardly_any_rows(n_rows, quick, mixed_table):
    table = mixed_table(n_rows, seed=4)
    engine = DefaultEngine.fit(table, quick, **CPU)
    cells = engine.impute(table, 2)
    fillable = table.states.answered.any(axis=0)
    assert np.array_equal(
        np.array([cells.rows, cells.positions]),
        np.array(np.nonzero(table.states.missing & fillable)),
    )
    assert np.isfinite(cells.draws).all()
    assert np.isfinite(cells.median).all()
