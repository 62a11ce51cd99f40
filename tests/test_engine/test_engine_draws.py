"""Draws from regressions: slopes are kept, and a row's draw depends on the row alone."""

from dataclasses import replace

import numpy as np
import pytest

from tabsoda._internal.randomness import row_keys
from tabsoda.datasets import make_survey
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

CPU = {"seed": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def table(mixed_table):
    return mixed_table(300)


@pytest.fixture(scope="module")
def quick(quick_settings):
    return quick_settings("fast", regressions={"sets": 2, "point_sets": 2})


@pytest.fixture(scope="module")
def engine(table, quick):
    assert quick.draws.method == "refitted"
    return DefaultEngine.fit(table, quick, **CPU)


@pytest.fixture(scope="module")
def by_method(table, engine, quick_settings):
    """Return engines that draw from the network, from regressions, and from the tokens' network."""
    tokens = quick_settings("best", trees={"effort": "none"}, network={"members": 1})
    return {
        "sequential": network_alone(engine),
        "refitted": engine,
        "tokens": DefaultEngine.fit(table, tokens, **CPU),
    }


def with_settings(engine, **changes):
    """Return the same engine, drawing by other settings."""
    settings = engine.settings.replace(**changes)
    drawer = replace(engine.drawer, settings=settings)
    return replace(engine, settings=settings, drawer=drawer)


def network_alone(engine):
    """Return the same engine, drawing from the network alone."""
    return replace(engine, drawer=replace(engine.drawer, regressions=None))


def test_draws_are_answers_that_somebody_gave(table, engine):
    from_network = network_alone(engine).draw(table, 1)
    drawn = engine.draw(table, 1)
    states = table.states
    assert np.array_equal(drawn[states.answered], table.values[states.answered])
    assert np.isnan(drawn[states.skipped]).all()
    for position in range(table.shape[1]):
        given_answers = table.values[states.answered[:, position], position]
        assert np.isin(drawn[states.missing[:, position], position], given_answers).all()
    changed = (drawn != from_network)[states.missing].mean()
    assert changed > 0.3


@pytest.mark.parametrize("method", ["sequential", "refitted", "tokens"])
def test_a_single_draw_equals_the_same_draw_of_impute(method, table, by_method):
    chosen = by_method[method]
    cells = chosen.impute(table, n_draws=2)
    drawn = chosen.draw(table, 2)
    np.testing.assert_array_equal(drawn[cells.rows, cells.positions], cells.draws[1])


@pytest.mark.parametrize("method", ["sequential", "refitted", "tokens"])
def test_a_row_keeps_its_random_numbers_by_its_key(method, table, by_method):
    chosen = by_method[method]
    keys = row_keys(table.values, table.states.states)
    np.testing.assert_array_equal(chosen.draw(table, 1, keys), chosen.draw(table, 1))
    assert not np.array_equal(chosen.draw(table, 1, keys + 1), chosen.draw(table, 1))
    cells = chosen.impute(table, 1, keys=keys + 1)
    np.testing.assert_array_equal(
        chosen.draw(table, 1, keys + 1)[cells.rows, cells.positions], cells.draws[0]
    )


def test_without_draws_their_regressions_are_not_fitted_and_that_is_logged(table, quick, engine):
    pointed = DefaultEngine.fit(table, quick, draws=False, **CPU)
    assert pointed.drawer.regressions is None
    assert "draw_regressions_not_fitted" in {event.kind for event in pointed.events}
    assert "draw_regressions_not_fitted" not in {event.kind for event in engine.events}
    assert np.array_equal(pointed.impute(table).mode, engine.impute(table).mode)
    from_network = network_alone(engine)
    assert np.array_equal(pointed.draw(table, 1), from_network.draw(table, 1), equal_nan=True)


def test_draws_from_the_network_fit_no_regressions_for_draws(table, quick):
    changed = quick.replace(
        draws={"method": "sequential"}, regressions={"sets": 0}, trees={"effort": "none"}
    )
    sequential = DefaultEngine.fit(table, changed, **CPU)
    assert sequential.drawer.regressions is None
    assert "draw_regressions_not_fitted" not in {event.kind for event in sequential.events}


@pytest.mark.parametrize("block_rows", [7, 64])
def test_a_row_is_drawn_alike_in_any_order_company_and_block(table, engine, block_rows):
    whole = [engine.draw(table, number) for number in (1, 2, 3)]
    rng = np.random.default_rng(4)
    blocks = with_settings(engine, draws={"block_rows": block_rows})
    for rows in (rng.permutation(300), rng.permutation(300)[:17], np.array([5])):
        for number in (1, 2, 3):
            part = blocks.draw(table.rows(rows), number)
            assert np.array_equal(part, whole[number - 1][rows], equal_nan=True)
    assert not np.array_equal(whole[0], whole[1], equal_nan=True)
    # Two sets take turns; the third draw has the first one's regressions, not its random numbers.
    assert not np.array_equal(whole[0], whole[2], equal_nan=True)


def test_a_saved_engine_draws_and_estimates_the_same(table, engine, reloaded, same_cells):
    loaded = reloaded(engine)
    assert same_cells(engine.impute(table, 3), loaded.impute(table, 3))
    one, other = engine.level_probabilities(table), loaded.level_probabilities(table)
    for position, shares in one.items():
        assert np.array_equal(shares, other[position], equal_nan=True)


def test_probabilities_are_given_of_missing_cells_alone(table, engine):
    shares = engine.level_probabilities(table)
    imputed = engine.impute(table)
    categorical = [p for p, column in enumerate(table.columns) if column.is_categorical]
    assert sorted(shares) == categorical
    for position, given in shares.items():
        missing = table.states.missing[:, position]
        assert np.isnan(given[~missing]).all()
        np.testing.assert_allclose(given[missing].sum(axis=1), 1.0)
        cells = imputed.positions == position
        assert cells.sum() == missing.sum()
        assert np.array_equal(given[imputed.rows[cells]].argmax(axis=1), imputed.mode[cells])


def test_ordinals_have_the_median_of_their_probabilities(table, engine):
    shares, imputed = engine.level_probabilities(table), engine.impute(table)
    for position, given in shares.items():
        cells = imputed.positions == position
        rows = given[imputed.rows[cells]]
        if table.columns[position].kind is ColumnKind.ORDINAL:
            expected = (rows.cumsum(axis=1) >= 0.5).argmax(axis=1)
        else:
            expected = rows.argmax(axis=1)
        assert np.array_equal(imputed.median[cells], expected)


def test_sweeps_are_those_of_the_settings(table, engine, monkeypatch):
    seen = []
    plain = ChainedRegressions.redraw

    def watched(self, filled, missing, skipped, number, uniforms):
        seen.append(uniforms)
        return plain(self, filled, missing, skipped, number, uniforms)

    monkeypatch.setattr(ChainedRegressions, "redraw", watched)
    for sweeps in (1, 4):
        with_settings(engine, regressions={"sweeps": sweeps}).draw(table, 1)
    assert [len(uniforms) for uniforms in seen] == [1, 4]
    # A sweep has its own random numbers, which do not depend on how many sweeps there are.
    assert np.array_equal(seen[0][0], seen[1][0])
    assert not np.array_equal(seen[1][0], seen[1][1])


def test_weights_reach_the_regressions(quick):
    """Two halves contradict each other; the draws follow the one that weighs."""
    rng = np.random.default_rng(0)
    half = np.arange(600) % 2 == 0
    x = rng.normal(size=600)
    y = np.where(half, 1.0, -1.0) * x + 0.2 * rng.normal(size=600)
    values = np.column_stack([x, y])
    values[rng.random(600) < 0.3, 1] = np.nan
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "xy")
    table = CodedTable.from_values(columns, values)
    missing = table.states.missing[:, 1]
    for weighty, sign in ((half, 1.0), (~half, -1.0)):
        fit = DefaultEngine.fit(table, quick, row_weights=np.where(weighty, 1.0, 1e-3), **CPU)
        drawn = fit.draw(table, 1)
        assert np.corrcoef(x[missing], drawn[missing, 1])[0, 1] * sign > 0.7


def test_regressions_of_large_tables_are_fitted_to_some_rows(table, quick):
    engine = DefaultEngine.fit(table, quick.replace(regressions={"max_rows": 100}), **CPU)
    [event] = [e for e in engine.events if e.kind == "regressions_fitted_to_sample"]
    assert dict(event.counts) == {"rows": 100, "of_rows": 300}
    drawn = engine.draw(table, 1)
    assert not np.isnan(drawn[~table.states.skipped]).any()


def slopes(values, outcome, predictors):
    """Return least-squares slopes and their variances."""
    terms = np.column_stack([values[:, predictors], np.ones(len(values))])
    found = np.linalg.lstsq(terms, values[:, outcome], rcond=None)[0]
    residual = values[:, outcome] - terms @ found
    spread = np.linalg.inv(terms.T @ terms) * (residual @ residual) / (len(values) - len(found))
    return found[:-1], np.diag(spread)[:-1]


def pooled_errors(draws, truth, outcome, predictors):
    """Return by how many standard errors (Rubin's) pooled slopes miss those of all answers."""
    each, within = map(np.array, zip(*(slopes(d, outcome, predictors) for d in draws), strict=True))
    total = within.mean(axis=0) + (1 + 1 / len(draws)) * each.var(axis=0, ddof=1)
    return (each.mean(axis=0) - slopes(truth, outcome, predictors)[0]) / np.sqrt(total)


def test_regressions_keep_slopes_that_draws_from_a_short_training_lose(quick_settings):
    survey = make_survey(n_rows=1000, n_columns=25, seed=1).complete_table
    asked = np.flatnonzero(~survey.states.skipped.any(axis=0))
    columns = tuple(survey.columns[p] for p in asked)
    truth = survey.values[:, asked]
    hidden = np.random.default_rng(0).random(truth.shape) < 0.3
    table = CodedTable.from_values(columns, np.where(hidden, np.nan, truth))
    settings = quick_settings(
        "fast",
        network={"width": 64},
        training={"max_steps": 40, "epoch_steps": 20, "batch_size": 256},
        trees={"effort": "none"},
        regressions={"sets": 5},
    )
    engine = DefaultEngine.fit(table, settings, **CPU)
    place = table.names.index
    questions = [
        ("AGE", ("CHILDREN", "MARITAL")),
        ("HEIGHT", ("SEX", "KILOS")),
        ("KILOS", ("SEX", "AGE")),
        ("LADDER", ("EDUC", "INCOME")),
    ]
    errors = {}
    for name, drawn_by in (("refitted", engine), ("network", network_alone(engine))):
        draws = [drawn_by.draw(table, number) for number in range(1, 6)]
        errors[name] = np.abs(
            [
                pooled_errors(draws, truth, place(outcome), [place(p) for p in predictors])
                for outcome, predictors in questions
            ]
        )
    assert errors["refitted"].max() < 3, errors
    assert (errors["network"].max(axis=1) > 3).sum() >= 3, errors
