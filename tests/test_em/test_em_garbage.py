"""What must not be looked at: skipped, missing and held-out cells, whatever stands in them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsoda.em.engine import Engine
from tabsoda.em.working_table import WorkingTable
from tabsoda.table import CodedTable

PRESETS = pytest.mark.parametrize(
    "preset", ["balanced", pytest.param("best", marks=pytest.mark.slow)]
)


def fit_and_draw(table, settings, seed=1):
    engine = Engine.fit(table, settings, seed=seed, device="cpu")
    return engine, engine.impute(table, n_draws=2)


@pytest.mark.parametrize("garbage", [1.0, 1e30, np.inf, -np.inf])
def test_a_table_hides_what_stands_in_unanswered_cells(garbage, mixed_table):
    table = mixed_table()
    values = np.where(table.states.answered, table.values, garbage)
    assert np.isnan(CodedTable(table.columns, values, table.states).values).sum() > 0
    spoilt = CodedTable(table.columns, values, table.states)
    assert np.array_equal(spoilt.values, table.values, equal_nan=True)


@PRESETS
@pytest.mark.parametrize("where", ["skipped", "missing"])
def test_garbage_in_the_array_handed_in_changes_nothing(
    preset, where, mixed_table, tiny_settings, differing, same_cells
):
    table = mixed_table()
    cells = getattr(table.states, where)
    values = table.values.copy()
    values[cells] = np.random.default_rng(3).choice([0.0, 1.0, 7e9, np.inf], cells.sum())
    spoilt = CodedTable(table.columns, values, table.states)
    one, drawn = fit_and_draw(table, tiny_settings(preset))
    other, drawn_again = fit_and_draw(spoilt, tiny_settings(preset))
    assert differing(one, other) == set()
    assert same_cells(drawn, drawn_again)


@pytest.fixture
def spoil_working_tables(monkeypatch):
    """Put garbage into every entry of working tables that nothing may read."""
    build = WorkingTable.build.__func__

    def spoilt(cls, table, codec, keys, device, held_out=None, weights=None, bins=None):
        data = build(cls, table, codec, keys, device, held_out, weights, bins)
        column_of = torch.as_tensor(codec.layout.column_of)
        # Level 1 exists in every column, and is not the 0 that stands there otherwise.
        held = data.held_out_columns
        known = (data.visible_columns | held)[:, torch.as_tensor(codec.layout.continuous_columns)]
        return replace(
            data,
            encoded=torch.where(data.visible, data.encoded, torch.nan),
            levels=torch.where(data.visible_columns, data.levels, 1),
            held_out_encoded=torch.where(held[:, column_of], data.held_out_encoded, torch.nan),
            held_out_levels=torch.where(held, data.held_out_levels, 1),
            numbers=torch.where(known, data.numbers, 7.0),
            number_bins=torch.where(known, data.number_bins, 1),
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

    def swapped(cls, table, codec, keys, device, held_out=None, weights=None, bins=None):
        data = build(cls, table, codec, keys, device, held_out, weights, bins)
        held = data.held_out_columns[:, torch.as_tensor(codec.layout.continuous_columns)]
        return replace(
            data,
            held_out_encoded=data.held_out_encoded.flip(0),
            held_out_levels=(data.held_out_levels + 1) % 2,
            numbers=torch.where(held, -data.numbers, data.numbers),
            number_bins=torch.where(held, (data.number_bins + 1) % 2, data.number_bins),
        )

    return lambda: monkeypatch.setattr(WorkingTable, "build", classmethod(swapped))


BLEND = {
    f"estimator.blend.{name}"
    for name in (
        "temperatures",
        "level_share",
        "number_share",
        "regression_level_share",
        "regression_number_share",
    )
}


@pytest.mark.parametrize(
    ("preset", "chosen"),
    [
        ("balanced", BLEND),
        ("best", BLEND),
    ],
)
def test_held_out_answers_stop_the_training_choose_the_blend_and_nothing_else(
    preset, chosen, mixed_table, tiny_settings, differing, swap_held_out_answers
):
    # With a single epoch there is nothing to stop and nothing to choose between.
    settings = tiny_settings(preset, training={"max_steps": 4, "min_epoch_steps": 4})
    one, _ = fit_and_draw(mixed_table(), settings)
    swap_held_out_answers()
    other, _ = fit_and_draw(mixed_table(), settings)
    assert differing(one, other) <= chosen
    assert one.history[0]["loss"] != other.history[0]["loss"]


@pytest.mark.parametrize(("preset", "held_share"), [("balanced", 0.05)])
def test_held_out_cells_are_invisible_and_imputed_during_training(
    preset, held_share, mixed_table, tiny_settings
):
    seen = {}
    build = WorkingTable.build.__func__

    def watched(cls, *arguments):
        seen["data"] = build(cls, *arguments)
        return seen["data"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkingTable, "build", classmethod(watched))
        Engine.fit(mixed_table(), tiny_settings(preset), seed=1, device="cpu")
    data = seen["data"]
    held = data.held_out_columns
    assert held.any(dim=0).all()
    assert not (held & data.visible_columns).any()
    assert (data.levels[held] == 0).all()
    share = held.sum(0) / (held | data.visible_columns).sum(0)
    assert ((share >= held_share) & (share < held_share + 0.02)).all()
    # What a row misses, skips apart, is also what other rows may hide.
    skipped = torch.as_tensor(mixed_table().states.skipped)
    assert torch.equal(data.missing_columns.sum(0), (~data.visible_columns).sum(0) - skipped.sum(0))
    assert not (data.missing_columns & data.visible_columns).any()
    assert (held & ~data.missing_columns).sum() == 0


def test_trees_never_see_held_out_answers(mixed_table, tiny_settings, monkeypatch):
    from tabsoda.experts import growing

    seen = {}
    fit, build = growing.grow_experts, WorkingTable.build.__func__

    def grown(table, *arguments):
        seen["table"] = table
        return fit(table, *arguments)

    def built(cls, *arguments):
        return seen.setdefault("data", build(cls, *arguments))

    monkeypatch.setattr(growing, "grow_experts", grown)
    monkeypatch.setattr(WorkingTable, "build", classmethod(built))
    Engine.fit(mixed_table(), tiny_settings("balanced"), seed=1, device="cpu")
    held = seen["data"].held_out_columns.numpy()
    assert held.any(axis=0).all()
    assert np.isnan(seen["table"].values[held]).all()
    assert seen["table"].states.missing[held].all()
    assert np.array_equal(seen["table"].states.answered, seen["data"].visible_columns.numpy())
