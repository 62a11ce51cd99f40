"""Regressions as a predictor: what they read of missing predictors, and what they are fitted to."""

from dataclasses import replace

import numpy as np
import pytest

from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.predictor import CellAnswers
from tabsoda.engine.regressions import multinomial
from tabsoda.engine.regressions.fit import RegressionFit, questions_to_fit, rows_to_fit
from tabsoda.engine.settings import RegressionSettings
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import Event, EventLog
from tabsoda.schema import ColumnKind
from tabsoda.table import CodedTable


@pytest.fixture(scope="module")
def table(mixed_table):
    return mixed_table(300)


@pytest.fixture(scope="module")
def engine(table, quick_settings):
    settings = quick_settings(
        "fast",
        trees={"effort": "none"},
        regressions={"sets": 0, "point_sets": 2},
        draws={"method": "sequential"},
    )
    return DefaultEngine.fit(table, settings, seed=1, device="cpu")


@pytest.fixture(scope="module")
def regressions(engine):
    return engine.ensemble.predictors[1]


def test_regressions_are_blended_into_the_estimates(table, engine):
    assert engine.ensemble.blend.level_shares.any()
    blend = replace(engine.ensemble.blend, level_shares=np.zeros((1, 6)))
    without = replace(engine, ensemble=replace(engine.ensemble, blend=blend))
    one, other = engine.level_probabilities(table), without.level_probabilities(table)
    position = table.names.index("likes")
    missing = table.states.missing[:, position]
    gap = np.abs(one[position] - other[position])[missing]
    assert gap.max() > 0.02
    np.testing.assert_allclose(one[position][missing].sum(axis=1), 1.0)


def missing_ordinals(table):
    """Return otherwise complete rows in which two related ordinals are missing."""
    likes, agrees = table.names.index("likes"), table.names.index("agrees")
    rows = np.flatnonzero(table.states.answered.all(axis=1) | table.states.skipped.any(axis=1))
    values = table.values[rows].copy()
    values[:, [likes, agrees]] = np.nan
    return values, table.states.skipped[rows], likes, agrees


def asked_of(regressions, table, values, skipped, network):
    part = CodedTable.from_values(table.columns, values, skipped)
    return regressions.answers(part, part.states.missing, network)


def test_regressions_read_what_the_network_expects_of_a_missing_answer(table, regressions):
    """Where it is sure of a level, they say what they would say had it been answered."""
    values, skipped, likes, agrees = missing_ordinals(table)
    categorical = regressions.codec.categorical.tolist()
    sure = np.zeros((len(values), len(categorical), 5))
    sure[..., 1] = 1.0
    network = CellAnswers(sure, np.zeros((len(values), 2)))
    said = asked_of(regressions, table, values, skipped, network).probabilities
    values[:, agrees] = 1.0
    known = asked_of(regressions, table, values, skipped, network).probabilities
    place = categorical.index(likes)
    np.testing.assert_allclose(said[:, place], known[:, place], atol=1e-9)
    # Another level would have changed what they say.
    values[:, agrees] = 2.0
    changed = asked_of(regressions, table, values, skipped, network).probabilities
    assert np.abs(changed[:, place] - said[:, place]).max() > 0.02


def test_regressions_read_expected_numbers_in_the_units_of_the_answers(table, regressions):
    values, skipped, likes, _ = missing_ordinals(table)
    age = table.names.index("age")
    place = regressions.codec.numbers.tolist().index(age)
    bins = regressions.codec.bins
    probabilities = np.zeros((len(values), regressions.codec.categorical.size, 5))
    probabilities[..., 1] = 1.0
    numbers = np.zeros((len(values), 2))
    numbers[:, place] = (values[:, age] - bins.mean[place]) / bins.scale[place]
    network = CellAnswers(probabilities, numbers)
    own = regressions.codec.categorical.tolist().index(likes)
    known = asked_of(regressions, table, values, skipped, network).probabilities[:, own]
    values[:, age] = np.nan
    expected = asked_of(regressions, table, values, skipped, network)
    np.testing.assert_allclose(expected.probabilities[:, own], known, atol=1e-9)
    # What they say of the number itself is a deviation from the mean, too.
    assert np.abs(expected.numbers[:, place]).max() < 10


def test_regressions_are_less_sure_where_a_predictor_is_not_known(table, regressions):
    """The same expected level, once for sure and once as the middle of two others."""
    values, skipped, likes, agrees = missing_ordinals(table)
    categorical = regressions.codec.categorical.tolist()
    place = categorical.index(likes)
    spread_of = []
    for width in (0, 1):
        given = np.zeros((len(values), len(categorical), 5))
        given[..., 1 - width] += 0.5
        given[..., 1 + width] += 0.5
        network = CellAnswers(given, np.zeros((len(values), 2)))
        said = asked_of(regressions, table, values, skipped, network)
        shares, levels = said.probabilities[:, place], np.arange(5)
        spread_of.append(shares @ levels**2 - (shares @ levels) ** 2)
    assert table.columns[agrees].kind is table.columns[likes].kind is ColumnKind.ORDINAL
    assert (spread_of[1] > spread_of[0]).all()


def test_questions_without_a_regression_are_answered_by_the_network(table, regressions):
    without = {p: v for p, v in regressions.chained.terms.items() if p != 0}
    fewer = replace(regressions, chained=replace(regressions.chained, terms=without))
    values, skipped, _, _ = missing_ordinals(table)
    values[:, 0] = np.nan
    probabilities = np.full((len(values), 6, 5), 0.2)
    network = CellAnswers(probabilities, np.zeros((len(values), 2)))
    said = asked_of(fewer, table, values, skipped, network)
    assert (said.probabilities[:, 0] == 0.2).all()
    assert not (
        asked_of(regressions, table, values, skipped, network).probabilities[:, 0] == 0.2
    ).all()


def test_regressions_need_the_network(table, regressions):
    with pytest.raises(ValueError, match="answers of the network"):
        regressions.answers(table, table.states.missing)


@pytest.fixture(scope="module")
def training(table):
    return TrainingTable.build(table, 0.1, 1, EventLog())


def regression_fit(training, events=None, **changes):
    settings = RegressionSettings(**({"sets": 2, "rounds": 1, "point_sets": 2} | changes))
    generator = np.random.default_rng(0)

    def complete(rows):
        # What the network would draw: here any answer of the column.
        part = training.shown.rows(rows)
        filled = part.values.copy()
        for position in range(filled.shape[1]):
            given = filled[part.states.answered[:, position], position]
            missing = part.states.missing[:, position]
            filled[missing, position] = generator.choice(given, missing.sum())
        return filled

    log = EventLog() if events is None else events
    return RegressionFit.start(training, settings, 1, complete, log)


def swap_held_out(training):
    """Return the training table with other answers in the held-out cells."""
    values = training.whole.values
    order = np.random.default_rng(1).permutation(len(values))
    answered = training.whole.states.answered
    other = np.where(training.held_out & answered[order], values[order], values)
    return replace(training, whole=CodedTable(training.whole.columns, other, training.whole.states))


def state_of(chained):
    return chained.to_state()[0]


def equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def test_estimates_are_fitted_without_held_out_answers_and_draws_with_them(training):
    one, other = regression_fit(training), regression_fit(swap_held_out(training))
    assert equal(state_of(one.for_points()), state_of(other.for_points()))
    assert not equal(state_of(one.for_draws()), state_of(other.for_draws()))


def test_sets_are_as_many_as_the_settings_say(training):
    fit = regression_fit(training, sets=3, point_sets=2)
    seen = []
    assert len(fit.for_points().sets) == 2
    assert len(fit.for_draws(lambda *one: seen.append(one)).sets) == 3
    assert seen == [(1, 3, "regressions"), (2, 3, "regressions"), (3, 3, "regressions")]


def test_rows_without_weight_are_not_fitted(training):
    n_rows = training.whole.shape[0]
    weights = np.where(np.arange(n_rows) % 3 == 0, 0.0, 2.0)
    weighted = replace(training, weights=weights)
    log = EventLog()
    assert np.array_equal(rows_to_fit(weighted, 1000, 1, log), np.flatnonzero(weights))
    assert len(log) == 0
    some = rows_to_fit(weighted, 50, 1, log)
    assert some.size == np.unique(some).size == 50
    assert (weights[some] > 0).all()
    assert [event.kind for event in log] == ["regressions_fitted_to_sample"]
    assert np.array_equal(some, rows_to_fit(weighted, 50, 1, log))
    assert not np.array_equal(some, rows_to_fit(weighted, 50, 2, log))


def test_questions_of_many_levels_or_few_answers_are_left_out_and_logged(training):
    log = EventLog()
    found = questions_to_fit(training, 3, log)
    names = training.whole.names
    assert [names[p] for p in found] == ["sex", "age", "rarely", "income", "agrees", "pregnant"]
    assert list(log) == [
        Event("many_levels_not_regressed", "region", {"levels": 5}),
        Event("many_levels_not_regressed", "likes", {"levels": 5}),
    ]
    answered = training.shown.states.answered[:, 0]
    few = training.shown.states.hide(
        np.column_stack([answered & (np.cumsum(answered) > 19), np.zeros((300, 7), dtype=bool)])
    )
    log = EventLog()
    found = questions_to_fit(replace(training, shown=training.shown.with_states(few)), 40, log)
    assert 0 not in found
    assert list(log) == [Event("few_answers_not_regressed", "sex", {"answers": 19})]


def test_a_regression_whose_solver_stops_early_is_logged(training, monkeypatch):
    monkeypatch.setattr(multinomial, "_MOST_STEPS", 1)
    log = EventLog()
    regression_fit(training, log).for_draws()
    assert [(one.kind, one.column) for one in log if one.kind == "regression_not_converged"] == [
        ("regression_not_converged", "region")
    ]
