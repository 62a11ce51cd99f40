"""Draws from regressions: slopes stay, rows stay apart, and odd tables are told about."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tabsoda.datasets import make_survey
from tabsoda.em.blending import CellAnswers
from tabsoda.em.engine import Engine
from tabsoda.em.model_files import load_engine, save_engine
from tabsoda.regressions import ChainedRegressions
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

CPU = {"seed": 1, "device": "cpu"}
FEW_SETS = {"sets": 2, "point_sets": 2}


@pytest.fixture(scope="module")
def table(mixed_table):
    return mixed_table(300)


@pytest.fixture(scope="module")
def quick(tiny_settings):
    return tiny_settings("fast", em={"rounds": 1}, regressions=FEW_SETS)


@pytest.fixture(scope="module")
def engine(table, quick):
    assert quick.sampler.draws == "refitted"
    return Engine.fit(table, quick, **CPU)


def with_settings(engine, **changes):
    """Return the same engine, sampling by other settings."""
    model = replace(engine.model, settings=engine.model.settings.replace(**changes))
    estimator = replace(engine.estimator, model=model)
    return Engine(engine.columns, model, engine.history, engine.events, estimator)


def test_draws_are_answers_that_somebody_gave(table, engine):
    from_heads = with_settings(engine, sampler={"draws": "sequential"}).draw(table, 1)
    drawn = engine.draw(table, 1)
    states = table.states
    assert np.array_equal(drawn[states.answered], table.values[states.answered])
    assert np.isnan(drawn[states.skipped]).all()
    for position in range(table.shape[1]):
        given_answers = table.values[states.answered[:, position], position]
        assert np.isin(drawn[states.missing[:, position], position], given_answers).all()
    changed = (drawn != from_heads)[states.missing].mean()
    assert changed > 0.3


def test_without_draws_to_come_their_regressions_are_not_fitted_and_that_is_told(
    table, quick, engine
):
    pointed = Engine.fit(table, quick, draws=False, **CPU)
    assert pointed.estimator.advisers.draw_regressions is None
    assert "no regressions for draws" in {event.decision for event in pointed.events}
    assert "no regressions for draws" not in {event.decision for event in engine.events}
    assert np.array_equal(pointed.impute(table).mode, engine.impute(table).mode)
    from_heads = with_settings(engine, sampler={"draws": "sequential"})
    assert np.array_equal(pointed.draw(table, 1), from_heads.draw(table, 1), equal_nan=True)


@pytest.mark.parametrize("block_rows", [7, 64])
def test_a_row_is_drawn_alike_in_any_order_company_and_block(table, engine, block_rows):
    whole = [engine.draw(table, number) for number in (1, 2, 3)]
    rng = np.random.default_rng(4)
    blocks = with_settings(engine, sampler={"block_rows": block_rows})
    for rows in (rng.permutation(300), rng.permutation(300)[:17], np.array([5])):
        for number in (1, 2, 3):
            part = blocks.draw(table.rows(rows), number)
            assert np.array_equal(part, whole[number - 1][rows], equal_nan=True)
    assert not np.array_equal(whole[0], whole[1], equal_nan=True)
    # Two sets take turns; the third draw has the first one's regressions, not its noise.
    assert not np.array_equal(whole[0], whole[2], equal_nan=True)


def test_a_saved_engine_draws_and_estimates_the_same(table, engine, tmp_path, same_cells):
    save_engine(engine, tmp_path / "model")
    loaded = load_engine(tmp_path / "model", device="cpu")
    assert same_cells(engine.impute(table, 3), loaded.impute(table, 3))
    one, other = engine.level_probabilities(table), loaded.level_probabilities(table)
    for position, shares in one.items():
        assert np.array_equal(shares, other[position], equal_nan=True)


def test_probabilities_are_given_of_missing_cells_alone(table, engine):
    shares = engine.level_probabilities(table)
    imputed = engine.impute(table)
    for position, given in shares.items():
        missing = table.states.missing[:, position]
        assert np.isnan(given[~missing]).all()
        cells = imputed.positions == position
        assert cells.sum() == missing.sum()
        assert np.array_equal(given[imputed.rows[cells]].argmax(axis=1), imputed.mode[cells])


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
    # The noise of a sweep is its own, and does not depend on how many there are.
    assert np.array_equal(seen[0][0], seen[1][0])
    assert not np.array_equal(seen[1][0], seen[1][1])


def test_regressions_are_blended_into_the_estimates(table, engine):
    blend = engine.estimator.blend
    assert blend.regression_level_share.any()
    advisers = replace(engine.estimator.advisers, regressions=None)
    without = replace(engine, estimator=replace(engine.estimator, advisers=advisers))
    one, other = engine.level_probabilities(table), without.level_probabilities(table)
    position = table.names.index("likes")
    blank = table.states.missing[:, position]
    gap = np.abs(one[position] - other[position])[blank]
    assert gap.max() > 0.02
    np.testing.assert_allclose(one[position][blank].sum(axis=1), 1.0)


def test_regressions_read_what_the_network_expects_of_a_blank(table, engine):
    """Where it is sure of a level, they say what they would say had it been answered."""
    likes, agrees = table.names.index("likes"), table.names.index("agrees")
    rows = np.flatnonzero(table.states.answered.all(axis=1) | table.states.skipped.any(axis=1))[:9]
    values = table.values[rows].copy()
    values[:, [likes, agrees]] = np.nan
    blank = CodedTable.from_values(table.columns, values, table.states.skipped[rows])
    categorical = engine.model.codec.categorical_columns.tolist()
    sure = np.zeros((rows.size, len(categorical), 5))
    sure[..., 1] = 1.0
    network = CellAnswers(sure, np.zeros((rows.size, 2)))
    advisers = engine.estimator.advisers
    said = advisers.regression_answers(engine.model, blank, network).probabilities
    values[:, agrees] = 1.0
    told = CodedTable.from_values(table.columns, values, table.states.skipped[rows])
    known = advisers.regression_answers(engine.model, told, network).probabilities
    place = categorical.index(likes)
    np.testing.assert_allclose(said[:, place], known[:, place], atol=1e-9)
    # Another level would have changed what they say.
    values[:, agrees] = 2.0
    other = CodedTable.from_values(table.columns, values, table.states.skipped[rows])
    changed = advisers.regression_answers(engine.model, other, network).probabilities
    assert np.abs(changed[:, place] - said[:, place]).max() > 0.02


def test_regressions_are_less_sure_where_a_predictor_is_not_known(table, engine):
    """The same expected level, once for sure and once as the middle of two others."""
    likes, agrees = table.names.index("likes"), table.names.index("agrees")
    rows = np.flatnonzero(table.states.answered.all(axis=1) | table.states.skipped.any(axis=1))
    values = table.values[rows].copy()
    values[:, [likes, agrees]] = np.nan
    blank = CodedTable.from_values(table.columns, values, table.states.skipped[rows])
    categorical = engine.model.codec.categorical_columns.tolist()
    place = categorical.index(likes)
    spread_of = []
    for width in (0, 1):
        given = np.zeros((rows.size, len(categorical), 5))
        given[..., 1 - width] += 0.5
        given[..., 1 + width] += 0.5
        network = CellAnswers(given, np.zeros((rows.size, 2)))
        said = engine.estimator.advisers.regression_answers(engine.model, blank, network)
        shares, levels_ = said.probabilities[:, place], np.arange(5)
        spread_of.append(shares @ levels_**2 - (shares @ levels_) ** 2)
    assert table.columns[agrees].kind is table.columns[likes].kind is ColumnKind.ORDINAL
    assert (spread_of[1] > spread_of[0]).all()


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
    blank = table.states.missing[:, 1]
    for weighty, sign in ((half, 1.0), (~half, -1.0)):
        fit = Engine.fit(table, quick, row_weights=np.where(weighty, 1.0, 1e-3), **CPU)
        drawn = fit.draw(table, 1)
        assert np.corrcoef(x[blank], drawn[blank, 1])[0, 1] * sign > 0.7


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
NOT_REGRESSED = {"few answer": [("few", "answers;")], "many levels": [("many", "levels;")]}


def odd_table(case):
    """Return a table of 140 rows with blanks, three of them empty throughout."""
    rng = np.random.default_rng(0)
    columns, values = zip(*ODD[case](rng.normal(size=140), rng), strict=True)
    blanks = rng.random((140, len(columns))) < 0.2
    # Not in the first rows: whoever answers there is among few.
    blanks[:30] = False
    blanks[100:103] = True
    return CodedTable.from_values(columns, np.where(blanks, np.nan, np.column_stack(values)))


@pytest.mark.parametrize("case", ODD)
def test_odd_tables_are_drawn_or_told_about(case, quick, tmp_path, same_cells):
    table = odd_table(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = Engine.fit(table, quick, **CPU)
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
    told = [(event.column, event.detail.split()[1]) for event in not_regressed(engine)]
    assert told == NOT_REGRESSED.get(case, [])
    save_engine(engine, tmp_path / "model")
    assert same_cells(cells, load_engine(tmp_path / "model", device="cpu").impute(table, 2))


def not_regressed(engine):
    return [event for event in engine.events if event.decision == "column not regressed"]


def test_what_was_constant_may_differ_in_another_table(quick):
    """Nothing was learned about another value, however far away it is."""
    table = odd_table("constants")
    engine = Engine.fit(table, quick, **CPU)
    elsewhere = table.values.copy()
    elsewhere[:, table.names.index("same number")] = 1e4
    other = CodedTable.from_values(table.columns, elsewhere)
    keys = np.arange(table.shape[0])
    one, two = engine.draw(table, 1, keys), engine.draw(other, 1, keys)
    varying = [0, 3, 4]
    same = (one == two)[:, varying][table.states.missing[:, varying]]
    assert same.mean() > 0.95


def test_regressions_of_large_tables_are_fitted_to_some_rows(table, quick):
    engine = Engine.fit(table, quick.replace(regressions={"max_rows": 100}), **CPU)
    [event] = [e for e in engine.events if e.decision == "regressions fitted to some rows"]
    assert event.detail.startswith("100 of 300")
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


def test_slopes_survive_where_draws_from_the_heads_lose_them(tiny_settings):
    survey = make_survey(n_rows=1000, n_columns=25, seed=1).complete_table
    asked = np.flatnonzero(~survey.states.skipped.any(axis=0))
    columns = tuple(survey.columns[p] for p in asked)
    truth = survey.values[:, asked]
    blanks = np.random.default_rng(0).random(truth.shape) < 0.3
    table = CodedTable.from_values(columns, np.where(blanks, np.nan, truth))
    settings = tiny_settings(
        "fast",
        backbone={"width": 64},
        training={"max_steps": 40, "min_epoch_steps": 20, "batch_size": 256},
        em={"rounds": 1},
        experts={"trees": "none"},
        regressions={"sets": 5},
    )
    engine = Engine.fit(table, settings, **CPU)
    heads = with_settings(engine, sampler={"draws": "sequential"})
    place = table.names.index
    questions = [
        ("AGE", ("CHILDREN", "MARITAL")),
        ("HEIGHT", ("SEX", "KILOS")),
        ("KILOS", ("SEX", "AGE")),
        ("LADDER", ("EDUC", "INCOME")),
    ]
    errors = {}
    for name, drawn_by in (("refitted", engine), ("heads", heads)):
        draws = [drawn_by.draw(table, number) for number in range(1, 6)]
        errors[name] = np.abs(
            [
                pooled_errors(draws, truth, place(outcome), [place(p) for p in predictors])
                for outcome, predictors in questions
            ]
        )
    assert errors["refitted"].max() < 3, errors
    assert (errors["heads"].max(axis=1) > 3).sum() >= 3, errors
