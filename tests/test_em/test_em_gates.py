"""Gates whose followers are unresolved are estimated without them; others are left alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsoda.bench.gates import seen_table
from tabsoda.datasets import make_survey
from tabsoda.em.engine import Engine
from tabsoda.em.model_files import load_engine, save_engine
from tabsoda.followers import find_followers

N_ROWS = 900


@pytest.fixture(scope="module")
def survey():
    """Return the complete answers, and the cells of gates to hide."""
    table = make_survey(n_rows=N_ROWS, n_columns=25, seed=1).complete_table
    gates = find_followers(table).any(axis=1)
    chosen = np.random.default_rng(0).random(table.shape) < 0.2
    return table, table.states.answered & gates & chosen


@pytest.fixture(scope="module")
def settings(tiny_settings):
    return tiny_settings(
        "fast",
        backbone={"width": 64},
        training={"max_steps": 40, "min_epoch_steps": 20, "batch_size": 256},
        em={"rounds": 1},
        sampler={"draws": "sequential"},
        regressions={"sets": 0, "point_sets": 1},
    )


@pytest.fixture(scope="module")
def fits(survey, settings):
    """Return, by track, the table that is seen, the cells to score and an engine."""
    table, hidden = survey
    found = {}
    for track in ("resolved", "unresolved"):
        seen, scored = seen_table(table, hidden, find_followers(table), track)
        found[track] = seen, scored, Engine.fit(seen, settings, seed=1, device="cpu")
    return found


def without_gate_experts(engine):
    advisers = replace(engine.estimator.advisers, gate_experts=None)
    return replace(engine, estimator=replace(engine.estimator, advisers=advisers))


def accuracies(table, seen, scored, engine):
    """Return the share of right answers to categorical gates: the engine's, and the mode's."""
    gates = engine.estimator.advisers.gate_experts.followers.any(axis=1)
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


def test_blank_followers_mislead_without_experts_of_their_own(survey, fits):
    seen, scored, engine = fits["unresolved"]
    found, _ = accuracies(survey[0], seen, scored, engine)
    plain = without_gate_experts(engine)
    cells = {name: one.impute(seen) for name, one in (("with", engine), ("without", plain))}
    gates = np.flatnonzero(engine.estimator.advisers.gate_experts.followers.any(axis=1))
    gates = [g for g in gates if survey[0].columns[g].is_categorical]
    shares = {}
    for name, estimate in cells.items():
        mine = np.isin(estimate.positions, gates) & scored[estimate.rows, estimate.positions]
        truth = survey[0].values[estimate.rows, estimate.positions]
        shares[name] = (estimate.mode == truth)[mine].mean()
    assert shares["with"] == pytest.approx(found)
    assert shares["with"] > shares["without"] + 0.1, shares


def test_resolved_gates_need_no_experts_of_their_own(fits):
    seen, _, engine = fits["resolved"]
    assert engine.estimator.advisers.gate_experts is None
    assert not [event for event in engine.events if event.decision.startswith("gate estimated")]
    cells = engine.impute(seen)
    plain = without_gate_experts(engine).impute(seen)
    assert np.array_equal(cells.mode, plain.mode)


def test_resolved_gates_are_read_off_their_followers(survey, fits):
    """What the codebook knows is worth more than anything that trees could guess."""
    seen, scored, engine = fits["resolved"]
    cells = engine.impute(seen)
    gate = survey[0].names.index("CHRONIC")
    mine = (cells.positions == gate) & scored[cells.rows, cells.positions]
    truth = survey[0].values[cells.rows, cells.positions]
    assert (cells.mode == truth)[mine].mean() > 0.95


def test_the_gates_are_told(fits):
    _, _, engine = fits["unresolved"]
    told = [e.column for e in engine.events if e.decision == "gate estimated without its followers"]
    followers = engine.estimator.advisers.gate_experts.followers
    gates = [column.name for column, f in zip(engine.columns, followers, strict=True) if f.any()]
    assert told == gates
    assert "CHRONIC" in told


def test_other_cells_are_estimated_as_without(fits):
    seen, _, engine = fits["unresolved"]
    experts = engine.estimator.advisers.gate_experts
    unresolved = experts.unresolved(seen.states)
    one, other = engine.impute(seen), without_gate_experts(engine).impute(seen)
    elsewhere = ~unresolved[one.rows, one.positions]
    assert elsewhere.any()
    assert np.array_equal(one.mode[elsewhere], other.mode[elsewhere])
    assert not np.array_equal(one.mode, other.mode)


def test_the_network_is_not_asked_about_unresolved_gates(fits):
    """It reads a blank follower as one that was asked, so the experts speak in its place."""
    seen, _, engine = fits["unresolved"]
    rows = np.flatnonzero(seen.states.missing.any(axis=1))[:200]
    part = seen.rows(rows)
    data = engine._working(seen, None)
    network, experts, regressions = engine.estimator.voices(part, data, torch.from_numpy(rows))
    plain = engine.estimator.network_answers(data, torch.from_numpy(rows))
    categorical = engine.model.codec.categorical_columns
    unresolved = engine.estimator.advisers.gate_experts.unresolved(part.states)[:, categorical]
    assert unresolved.any()
    assert np.array_equal(network.probabilities[unresolved], experts.probabilities[unresolved])
    assert np.array_equal(network.probabilities[~unresolved], plain.probabilities[~unresolved])
    # Without trees, the regressions do.
    advisers = replace(engine.estimator.advisers, experts=None)
    voices = advisers.without_blanks(engine.model, part, plain, None, regressions)
    assert np.array_equal(voices.probabilities[unresolved], regressions.probabilities[unresolved])


def test_regressions_of_unresolved_gates_see_no_follower(fits):
    _, _, engine = fits["unresolved"]
    advisers = engine.estimator.advisers
    for gate in np.flatnonzero(advisers.gate_experts.followers.any(axis=1)):
        used = advisers.regressions.design.column_of[advisers.regressions.predictors[gate]]
        assert not advisers.gate_experts.followers[gate, used].any()
        assert used.size


def test_a_saved_engine_keeps_its_gates(fits, tmp_path, same_cells):
    seen, _, engine = fits["unresolved"]
    save_engine(engine, tmp_path / "model")
    loaded = load_engine(tmp_path / "model", device="cpu")
    one, other = engine.estimator.advisers.gate_experts, loaded.estimator.advisers.gate_experts
    assert np.array_equal(one.followers, other.followers)
    assert same_cells(engine.impute(seen, 1), loaded.impute(seen, 1))
