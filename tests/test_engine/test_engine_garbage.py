"""What must not be looked at: skipped, missing and held-out cells, whatever stands in them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.network.data import NetworkInput, TrainingData
from tabsoda.engine.training_table import TrainingTable
from tabsoda.engine.trees import background_fit
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

CPU = torch.device("cpu")
QUALITIES = pytest.mark.parametrize(
    "quality", ["balanced", pytest.param("best", marks=pytest.mark.slow)]
)


def fit_and_draw(table, settings):
    engine = DefaultEngine.fit(table, settings, seed=1, device="cpu")
    return engine, engine.impute(table, n_draws=2)


@pytest.mark.parametrize("garbage", [1.0, 1e30, np.inf, -np.inf])
def test_a_table_hides_what_stands_in_unanswered_cells(garbage, mixed_table):
    table = mixed_table()
    values = np.where(table.states.answered, table.values, garbage)
    spoilt = CodedTable(table.columns, values, table.states)
    assert np.isnan(spoilt.values).sum() > 0
    assert np.array_equal(spoilt.values, table.values, equal_nan=True)


@pytest.fixture
def spoil_tensors(monkeypatch):
    """Put garbage into every entry of the network's tensors that nothing may read."""
    code, code_training = NetworkInput.of.__func__, TrainingData.of.__func__

    def spoilt(cls, table, codec, device, held_out=None):
        inputs = code(cls, table, codec, device, held_out)
        n = codec.categorical.size
        # The answers of held-out cells are read, by the loss that stops the training.
        known = torch.as_tensor(table.states.answered[:, codec.modelled])
        return NetworkInput(
            # Level 1 exists in every column, and is not the 0 that stands there otherwise.
            torch.where(known[:, :n], inputs.levels, 1),
            torch.where(inputs.visible[:, n:], inputs.scores, torch.nan),
            inputs.visible,
            inputs.skipped,
        )

    def spoilt_training(cls, training, device):
        data = code_training(cls, training, device)
        known = torch.as_tensor(training.whole.states.answered[:, training.codec.numbers])
        return replace(
            data,
            numbers=torch.where(known, data.numbers, 7.0),
            bins=torch.where(known, data.bins, 1),
        )

    def spoil():
        monkeypatch.setattr(NetworkInput, "of", classmethod(spoilt))
        monkeypatch.setattr(TrainingData, "of", classmethod(spoilt_training))

    return spoil


@QUALITIES
def test_garbage_inside_the_engine_changes_nothing(
    quality, mixed_table, quick_settings, differing, same_cells, spoil_tensors
):
    settings = quick_settings(quality)
    one, drawn = fit_and_draw(mixed_table(), settings)
    spoil_tensors()
    other, drawn_again = fit_and_draw(mixed_table(), settings)
    assert differing(one, other) == set()
    assert same_cells(drawn, drawn_again)


@pytest.fixture
def swap_held_out_answers(monkeypatch):
    """Let the held-out cells hold other answers, everything else being equal."""
    build = TrainingTable.build.__func__

    def swapped(cls, *arguments):
        training = build(cls, *arguments)
        values = training.whole.values.copy()
        for position, column in enumerate(training.whole.columns):
            held = training.held_out[:, position]
            # Levels 0 and 1 exist in every column.
            other = (values[held, position] + 1) % 2
            values[held, position] = other if column.is_categorical else values[held, position] * -1
        whole = CodedTable(training.whole.columns, values, training.whole.states)
        return replace(training, whole=whole)

    return lambda: monkeypatch.setattr(TrainingTable, "build", classmethod(swapped))


@QUALITIES
def test_held_out_answers_stop_the_training_choose_the_blend_and_nothing_else_but_draws(
    quality, mixed_table, quick_settings, differing, swap_held_out_answers
):
    # With a single epoch there is nothing to stop and nothing to choose between.
    settings = quick_settings(quality, training={"max_steps": 4, "epoch_steps": 4})
    one, _ = fit_and_draw(mixed_table(), settings)
    swap_held_out_answers()
    other, _ = fit_and_draw(mixed_table(), settings)
    # Regressions for draws are fitted to all answers: nothing is chosen by what they say.
    parts = {name.partition(".")[0] for name in differing(one, other)}
    assert parts == {"blend", "draw_regressions"}
    assert one.history[0]["loss"] != other.history[0]["loss"]


def test_held_out_cells_are_invisible_to_all_who_learn(mixed_table):
    table = mixed_table()
    training = TrainingTable.build(table, 0.05, 1, EventLog())
    held, shown, whole = training.held_out, training.shown.states, training.whole.states
    assert held.any(axis=0).all()
    assert np.array_equal(shown.answered, whole.answered & ~held)
    assert np.array_equal(shown.missing, whole.missing | held)
    assert np.isnan(training.shown.values[held]).all()
    share = held.sum(axis=0) / whole.answered.sum(axis=0)
    assert ((share >= 0.05) & (share < 0.07)).all()
    codec = training.codec
    assert np.array_equal(
        codec.level_counts.sum(axis=1), shown.answered[:, codec.categorical].sum(axis=0)
    )
    data = TrainingData.of(training, CPU)
    assert np.array_equal(data.inputs.visible.numpy(), shown.answered[:, codec.modelled])
    # What a row misses, skips apart, is also what other rows may hide.
    assert np.array_equal(data.missing.numpy(), shown.missing[:, codec.modelled])
    assert np.array_equal(data.held_out.numpy(), held[:, codec.modelled])


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
def test_as_many_answers_are_held_out_as_the_settings_say(share, mixed_table, quick_settings):
    settings = quick_settings(training={"held_out_share": share}, trees={"effort": "none"})
    codec = DefaultEngine.fit(mixed_table(), settings, device="cpu").codec
    answered = mixed_table().states.answered.sum(axis=0)[codec.categorical]
    assert np.array_equal(codec.level_counts.sum(axis=1), answered - np.ceil(share * answered))


def test_trees_never_see_held_out_answers(mixed_table, quick_settings, monkeypatch):
    seen = {}
    fit, build = background_fit.fit_trees, TrainingTable.build.__func__

    def fitted(table, *arguments):
        seen["table"] = table
        return fit(table, *arguments)

    def built(cls, *arguments):
        return seen.setdefault("training", build(cls, *arguments))

    monkeypatch.setattr(background_fit, "fit_trees", fitted)
    monkeypatch.setattr(TrainingTable, "build", classmethod(built))
    DefaultEngine.fit(mixed_table(), quick_settings(), seed=1, device="cpu")
    held = seen["training"].held_out
    assert held.any(axis=0).all()
    assert np.isnan(seen["table"].values[held]).all()
    assert seen["table"].states.missing[held].all()
    answered = seen["training"].whole.states.answered
    assert np.array_equal(seen["table"].states.answered, answered & ~held)
