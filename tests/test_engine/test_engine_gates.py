"""Gates whose followers are unresolved are estimated without them; others are left alone."""

from dataclasses import replace

import numpy as np
import pytest

from tabsoda.bench.gates import seen_table
from tabsoda.datasets import make_survey
from tabsoda.engine.engine import DefaultEngine
from tabsoda.followers import find_followers, unresolved_gates

N_ROWS = 900


@pytest.fixture(scope="module")
def survey():
    """Return the complete answers, and the cells of gates to hide."""
    table = make_survey(n_rows=N_ROWS, n_columns=25, seed=1).complete_table
    gates = find_followers(table).any(axis=1)
    chosen = np.random.default_rng(0).random(table.shape) < 0.2
    return table, table.states.answered & gates & chosen


@pytest.fixture(scope="module")
def settings(quick_settings):
    return quick_settings(
        "fast",
        network={"width": 64},
        training={"max_steps": 40, "epoch_steps": 20, "batch_size": 256},
        draws={"method": "sequential"},
        regressions={"sets": 0, "point_sets": 1},
    )


@pytest.fixture(scope="module")
def fits(survey, settings):
    """Return, by track, the table that is seen, the cells to score and an engine."""
    table, hidden = survey
    found = {}
    for track in ("resolved", "unresolved"):
        seen, scored = seen_table(table, hidden, find_followers(table), track)
        found[track] = seen, scored, DefaultEngine.fit(seen, settings, seed=1, device="cpu")
    return found


def predictors_of(engine):
    return {one.name: one for one in engine.ensemble.predictors}


def without_gates(engine):
    """Return the engine, with the network and the plain trees asked about all gates."""
    parts = predictors_of(engine)
    network = replace(parts["network"], gates=np.zeros_like(parts["network"].gates))
    trees = replace(parts["trees"], gate_models=None)
    ensemble = replace(engine.ensemble, predictors=(network, trees, parts["regressions"]))
    return replace(engine, ensemble=ensemble)


def accuracies(table, seen, scored, engine):
    """Return the share of right answers to categorical gates: the engine's, and the mode's."""
    gates = predictors_of(engine)["trees"].followers.any(axis=1)
    cells = engine.impute(seen)
    estimated = seen.values.copy()
    estimated[cells.rows, cells.positions] = cells.mode
    by_engine, by_mode = [], []
    for gate in np.flatnonzero(gates):
        if not table.columns[gate].is_categorical:
            continue
        asked, answers = scored[:, gate], table.values[:, gate]
        shown = seen.values[seen.states.answered[:, gate], gate].astype(int)
        by_engine.append(estimated[asked, gate] == answers[asked])
        by_mode.append(answers[asked] == np.bincount(shown).argmax())
    return np.concatenate(by_engine).mean(), np.concatenate(by_mode).mean()


def test_unresolved_gates_are_estimated_better_than_by_their_mode(survey, fits):
    seen, scored, engine = fits["unresolved"]
    found, by_mode = accuracies(survey[0], seen, scored, engine)
    assert found > by_mode + 0.08, (found, by_mode)


def test_missing_followers_mislead_without_separate_models(survey, fits):
    seen, scored, engine = fits["unresolved"]
    found, _ = accuracies(survey[0], seen, scored, engine)
    cells = {
        name: one.impute(seen)
        for name, one in (("with", engine), ("without", without_gates(engine)))
    }
    gates = np.flatnonzero(predictors_of(engine)["trees"].followers.any(axis=1))
    gates = [g for g in gates if survey[0].columns[g].is_categorical]
    shares = {}
    for name, estimate in cells.items():
        mine = np.isin(estimate.positions, gates) & scored[estimate.rows, estimate.positions]
        truth = survey[0].values[estimate.rows, estimate.positions]
        shares[name] = (estimate.mode == truth)[mine].mean()
    assert shares["with"] == pytest.approx(found)
    assert shares["with"] > shares["without"] + 0.1, shares


def test_resolved_gates_need_no_separate_models(fits):
    seen, _, engine = fits["resolved"]
    assert predictors_of(engine)["trees"].gate_models is None
    assert not predictors_of(engine)["network"].gates.any()
    kind = "gate_estimated_without_followers"
    assert not [event for event in engine.events if event.kind == kind]
    cells = engine.impute(seen)
    assert np.array_equal(cells.mode, without_gates(engine).impute(seen).mode)


def test_resolved_gates_are_read_off_their_followers(survey, fits):
    seen, scored, engine = fits["resolved"]
    cells = engine.impute(seen)
    gate = survey[0].names.index("CHRONIC")
    mine = (cells.positions == gate) & scored[cells.rows, cells.positions]
    truth = survey[0].values[cells.rows, cells.positions]
    assert (cells.mode == truth)[mine].mean() > 0.95


def test_the_gates_are_logged(fits):
    _, _, engine = fits["unresolved"]
    kind = "gate_estimated_without_followers"
    logged = [event.column for event in engine.events if event.kind == kind]
    followers = predictors_of(engine)["trees"].followers
    gates = [column.name for column, f in zip(engine.columns, followers, strict=True) if f.any()]
    assert logged == gates
    assert "CHRONIC" in logged


def test_other_cells_are_estimated_as_without(fits):
    seen, _, engine = fits["unresolved"]
    unresolved = unresolved_gates(predictors_of(engine)["trees"].followers, seen.states)
    one, other = engine.impute(seen), without_gates(engine).impute(seen)
    elsewhere = ~unresolved[one.rows, one.positions]
    assert elsewhere.any()
    assert np.array_equal(one.mode[elsewhere], other.mode[elsewhere])
    assert not np.array_equal(one.mode, other.mode)


@pytest.fixture(scope="module")
def part(fits):
    """Return 200 rows with missing cells, and which of their categorical cells are unresolved."""
    seen, _, engine = fits["unresolved"]
    rows = np.flatnonzero(seen.states.missing.any(axis=1))[:200]
    part = seen.rows(rows)
    followers = predictors_of(engine)["trees"].followers
    return part, unresolved_gates(followers, part.states)[:, engine.codec.categorical]


def test_the_network_abstains_on_unresolved_gates(fits, part):
    """It reads a missing follower as one that was asked, so the trees answer for it."""
    table, unresolved = part
    engine = fits["unresolved"][2]
    parts = predictors_of(engine)
    missing = table.states.missing
    said = parts["network"].answers(table, missing)
    n_categorical = engine.codec.categorical.size
    assert unresolved.any()
    assert np.array_equal(said.abstains[:, :n_categorical], unresolved)
    network, trees, regressions = engine.ensemble.all_answers(table, missing)
    assert np.array_equal(network.probabilities[unresolved], trees.probabilities[unresolved])
    assert np.array_equal(network.probabilities[~unresolved], said.probabilities[~unresolved])
    # Without trees, the regressions answer.
    without = replace(engine.ensemble, predictors=(parts["network"], parts["regressions"]))
    network, _ = without.all_answers(table, missing)
    assert np.array_equal(network.probabilities[unresolved], regressions.probabilities[unresolved])
    # Alone, the network answers all the same.
    alone = replace(engine.ensemble, predictors=(parts["network"],))
    [network] = alone.all_answers(table, missing)
    assert np.array_equal(network.probabilities, said.probabilities)


def test_regressions_of_unresolved_gates_read_no_follower(fits):
    parts = predictors_of(fits["unresolved"][2])
    followers, chained = parts["trees"].followers, parts["regressions"].chained
    for gate in np.flatnonzero(followers.any(axis=1)):
        used = chained.design.column_of[chained.terms[gate].places]
        assert not followers[gate, used].any()
        assert used.size


def test_a_saved_engine_keeps_its_gates(fits, reloaded, same_cells):
    seen, _, engine = fits["unresolved"]
    loaded = reloaded(engine)
    one, other = predictors_of(engine), predictors_of(loaded)
    assert np.array_equal(one["trees"].followers, other["trees"].followers)
    assert np.array_equal(one["network"].gates, other["network"].gates)
    assert same_cells(engine.impute(seen, 1), loaded.impute(seen, 1))
