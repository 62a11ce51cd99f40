"""What must not be looked at: skipped, missing and held-out cells, whatever stands in them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.working_table import WorkingTable

PRESETS = pytest.mark.parametrize("preset", ["small", "path", "nsduh"])


def fit_and_draw(table, settings, seed=1):
    engine = PaperEngine.fit(table, settings, seed=seed, device="cpu")
    return engine, engine.impute(table, n_draws=2)


@pytest.fixture
def spoil_working_tables(monkeypatch):
    """Put garbage into every entry of working tables that nothing may read."""
    build = WorkingTable.build.__func__

    def spoilt(cls, table, codec, keys, device, held_out=None, weights=None):
        data = build(cls, table, codec, keys, device, held_out, weights)
        column_of = torch.as_tensor(codec.layout.column_of)
        # Level 1 exists in every column, and is not the 0 that stands there otherwise.
        held = data.held_out_columns
        return replace(
            data,
            encoded=torch.where(data.visible, data.encoded, torch.nan),
            levels=torch.where(data.visible_columns, data.levels, 1),
            held_out_encoded=torch.where(held[:, column_of], data.held_out_encoded, torch.nan),
            held_out_levels=torch.where(held, data.held_out_levels, 1),
        )

    return lambda: monkeypatch.setattr(WorkingTable, "build", classmethod(spoilt))


@PRESETS
@pytest.mark.parametrize("rounds", [1, 3])
def test_garbage_inside_the_engine_changes_nothing(
    preset, rounds, mixed_table, tiny_settings, differing, same_cells, spoil_working_tables
):
    settings = tiny_settings(preset, em={"rounds": rounds})
    one, drawn = fit_and_draw(mixed_table(), settings)
    spoil_working_tables()
    other, drawn_again = fit_and_draw(mixed_table(), settings)
    assert differing(one, other) == set()
    assert same_cells(drawn, drawn_again)


@pytest.fixture
def swap_held_out_answers(monkeypatch):
    """Let the held-out cells hold other answers, everything else being equal."""
    build = WorkingTable.build.__func__

    def swapped(cls, table, codec, keys, device, held_out=None, weights=None):
        data = build(cls, table, codec, keys, device, held_out, weights)
        return replace(
            data,
            held_out_encoded=data.held_out_encoded.flip(0),
            held_out_levels=(data.held_out_levels + 1) % 2,
        )

    return lambda: monkeypatch.setattr(WorkingTable, "build", classmethod(swapped))


def test_held_out_answers_choose_the_temperatures_alone(
    mixed_table, tiny_settings, differing, swap_held_out_answers
):
    settings = tiny_settings("path")
    assert settings.training.monitor == "training_loss"
    one, _ = fit_and_draw(mixed_table(), settings)
    swap_held_out_answers()
    other, _ = fit_and_draw(mixed_table(), settings)
    assert differing(one, other) <= {"temperatures"}


def test_held_out_answers_stop_the_training_choose_the_temperatures_and_nothing_else(
    mixed_table, tiny_settings, differing, swap_held_out_answers
):
    # With a single epoch there is nothing to stop and nothing to choose between.
    settings = tiny_settings("small", training={"max_steps": 4, "min_epoch_steps": 4})
    one, _ = fit_and_draw(mixed_table(), settings)
    swap_held_out_answers()
    other, _ = fit_and_draw(mixed_table(), settings)
    assert differing(one, other) <= {"temperatures"}
    assert one.history[0]["loss"] != other.history[0]["loss"]


def test_held_out_cells_are_invisible_and_imputed_during_training(mixed_table, tiny_settings):
    seen = {}
    build = WorkingTable.build.__func__

    def watched(cls, *arguments):
        seen["data"] = build(cls, *arguments)
        return seen["data"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkingTable, "build", classmethod(watched))
        PaperEngine.fit(mixed_table(), tiny_settings("small"), seed=1, device="cpu")
    data = seen["data"]
    held = data.held_out_columns
    assert held.any(dim=0).all()
    assert not (held & data.visible_columns).any()
    assert (data.levels[held] == 0).all()
    share = held.sum(0) / (held | data.visible_columns).sum(0)
    assert ((share >= 0.1) & (share < 0.12)).all()


def test_the_paper_holds_out_ordinals_only(mixed_table, tiny_settings):
    engine = PaperEngine.fit(mixed_table(), tiny_settings("path"), seed=1, device="cpu")
    counts = dict(zip(engine.model.codec.names, engine.model.codec.level_counts, strict=True))
    answered = mixed_table().states.answered.sum(0)
    by_name = dict(zip(engine.model.codec.names, answered, strict=True))
    assert counts["region"].sum() == by_name["region"]
    assert counts["likes"].sum() == by_name["likes"] - np.ceil(0.2 * by_name["likes"])
