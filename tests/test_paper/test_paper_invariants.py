"""The paper's variants agree where they must, and Algorithm 1 is followed line by line."""

import numpy as np
import polars as pl
import pytest
import torch

from tabsoda import TabSODAImputer
from tabsoda._internal.randomness import row_keys
from tabsoda.events import EventLog
from tabsoda.paper import em
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.em import initial_state, run_em
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.latents import interval_level, interval_means
from tabsoda.paper.m_step import m_step
from tabsoda.paper.model import Model
from tabsoda.paper.working_table import WorkingTable
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


@pytest.mark.parametrize("preset", ["small", "path"])
def test_without_skips_and_ordinals_all_variants_agree(preset, tiny_settings):
    rng = np.random.default_rng(0)
    columns = tuple(
        {"name": f"q{i}", "type": "nominal", "levels": [0, 1, 2]} for i in range(3)
    ) + tuple({"name": f"n{i}", "type": "continuous"} for i in range(2))
    values = np.column_stack([rng.integers(0, 3, (150, 3)), rng.normal(size=(150, 2))])
    values[rng.random(values.shape) < 0.1] = np.nan
    frame = pl.DataFrame(values, schema=[c["name"] for c in columns]).fill_nan(None)
    settings = tiny_settings(preset).to_dict()
    bits = settings | {"encoding": settings["encoding"] | {"ordinal": "bits"}}
    options = {"preset": preset, "description": list(columns), "random_state": 4}

    def draws(fit=None, **changes):
        imputer = TabSODAImputer(**({"settings": settings} | options | changes))
        fitted = imputer.fit(frame, **(fit or {}))
        assert not fitted.impute(frame, m=0).table.states.skipped.any()
        return fitted.impute(frame, m=2).cells

    mask = np.zeros(values.shape, dtype=bool)
    masked, mined, nominal = draws({"skip_mask": mask}), draws(skips="mine"), draws(settings=bits)
    assert masked.rows.size > 40
    for other in (mined, nominal):
        assert np.array_equal(masked.draws, other.draws)
        assert np.array_equal(masked.mode, other.mode)


def parts_of(table, settings, seed=1):
    settings = settings.resolve(len(table.columns), 2)
    codec = TableCodec.fit(table, table.states.answered, settings.encoding, EventLog())
    model = Model.start(codec, settings, seed, torch.device("cpu"))
    keys = row_keys(table.values, table.states.states)
    return model, WorkingTable.build(table, codec, keys, torch.device("cpu"))


def test_the_first_table_holds_means_medians_and_zeros(mixed_table, tiny_settings):
    """Line 4."""
    model, data = parts_of(mixed_table(), tiny_settings("path"))
    completed = initial_state(model, data).completed
    assert (completed[~data.applicable] == 0).all()
    assert torch.equal(completed[data.visible], data.encoded[data.visible])
    latents = set(model.objective.ordinal_coordinates.tolist())
    for coordinate in range(completed.shape[1]):
        seen = data.encoded[data.visible[:, coordinate], coordinate].numpy()
        middle = np.median(seen) if coordinate in latents else seen.mean(dtype=np.float64)
        filled = completed[data.to_impute[:, coordinate], coordinate]
        assert filled.numel() > 0
        np.testing.assert_allclose(filled, middle, atol=1e-5)


def rounds_seen(monkeypatch, model, data):
    """Run EM and note what every round trained on and every E-step conditioned on."""
    seen = []

    def watched_m_step(model, data, targets, number, events, progress):
        history = m_step(model, data, targets, number, events, progress)
        seen.append({"targets": targets, "codec": model.codec, "scale": model.standardizer.scale})
        return history

    def watched_expect(self, data, progress=None):
        seen[-1]["conditioned"] = data.encoded.clone()
        return inner(self, data, progress)

    inner = Sampler.expect
    monkeypatch.setattr(em, "m_step", watched_m_step)
    monkeypatch.setattr(Sampler, "expect", watched_expect)
    run_em(model, data, initial_state(model, data), EventLog())
    return seen


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("draws", [False, True])
def test_answers_are_encoded_by_the_cutpoints_in_use(
    shared, draws, mixed_table, tiny_settings, monkeypatch
):
    changes = {"shared_cutpoints": shared, "latent_draws": draws}
    settings = tiny_settings(
        "path",
        encoding=changes,
        em={"rounds": 3},
        training={"calibration_learning_rate": 0.05},
    )
    model, data = parts_of(mixed_table(), settings)
    columns, coordinates = model.objective.ordinal_columns, model.objective.ordinal_coordinates
    assert columns.numel() == 2
    start = model.codec.cutpoints.copy()
    seen = rounds_seen(monkeypatch, model, data)
    moved = [not np.array_equal(entry["codec"].cutpoints, start) for entry in seen]
    assert moved == [False, shared, shared]
    visible, levels = data.visible[:, coordinates], data.levels[:, columns]
    for number, entry in enumerate(seen, start=1):
        cutpoints = torch.from_numpy(entry["codec"].cutpoints)
        means = interval_means(cutpoints).T.gather(0, levels)
        conditioned = entry["conditioned"][:, coordinates]
        assert torch.equal(conditioned[visible], means[visible])
        trained = entry["targets"].encoded[:, coordinates]
        assert torch.equal(interval_level(trained, cutpoints)[visible], levels[visible])
        if number == 1 or not draws:
            assert torch.equal(trained[visible], means[visible])
        else:
            assert trained[visible].unique().numel() == visible.sum()


def test_latents_are_redrawn_each_round(mixed_table, tiny_settings, monkeypatch):
    model, data = parts_of(mixed_table(), tiny_settings("path", em={"rounds": 3}))
    seen = rounds_seen(monkeypatch, model, data)
    coordinates = model.objective.ordinal_coordinates
    visible = data.visible[:, coordinates]
    second, third = (entry["targets"].encoded[:, coordinates][visible] for entry in seen[1:])
    assert (second != third).all()


@pytest.mark.parametrize("refresh", ["once", "each_round"])
def test_the_standardizer_is_refreshed_as_said(refresh, mixed_table, tiny_settings, monkeypatch):
    settings = tiny_settings("path", encoding={"standardizer_refresh": refresh}, em={"rounds": 3})
    model, data = parts_of(mixed_table(), settings)
    seen = rounds_seen(monkeypatch, model, data)
    first, second, third = (entry["scale"] for entry in seen)
    sd = [data.encoded[data.visible[:, c], c].double().std(correction=0) for c in range(3)]
    np.testing.assert_allclose(first[:3] * 0.5, sd, rtol=1e-5)
    if refresh == "once":
        assert torch.equal(first, second)
        assert torch.equal(second, third)
    else:
        table = seen[1]["targets"].encoded
        for c in range(table.shape[1]):
            entries = table[data.applicable[:, c], c].double()
            np.testing.assert_allclose(second[c] * 0.5, entries.std(correction=0), rtol=1e-4)


@pytest.mark.parametrize("preset", ["small", "path"])
def test_the_completed_table_keeps_answers_and_codes(
    preset, mixed_table, tiny_settings, monkeypatch
):
    model, data = parts_of(mixed_table(), tiny_settings(preset, em={"rounds": 2}))
    state = run_em(model, data, initial_state(model, data), EventLog())
    completed = state.completed
    assert (completed[~data.applicable] == 0).all()
    bits = torch.from_numpy(model.codec.layout.bit_coordinates[model.codec.layout.bit_valid])
    to_impute = data.to_impute[:, bits]
    assert set(completed[:, bits][to_impute].unique().tolist()) <= {0.0, 1.0}
    numbers = torch.from_numpy(model.codec.layout.continuous_coordinates)
    kept = data.visible[:, numbers]
    assert torch.equal(completed[:, numbers][kept], data.encoded[:, numbers][kept])
    imputed = completed[:, numbers][data.to_impute[:, numbers]]
    assert imputed.unique().numel() == imputed.numel()


def test_the_ramp_of_each_round_reaches_the_loss(mixed_table, tiny_settings, monkeypatch):
    model, data = parts_of(mixed_table(), tiny_settings("path", em={"rounds": 5}))
    seen = rounds_seen(monkeypatch, model, data)
    ramps = [entry["targets"].ramp.item() for entry in seen]
    assert ramps == [0.0, 0.0, 0.25, 0.5, 0.75]


def test_cutpoints_are_calibrated_before_and_after_but_not_before_the_first(
    mixed_table, tiny_settings, monkeypatch
):
    from tabsoda.paper import m_step as module

    calls = []
    monkeypatch.setattr(
        module, "calibrate_cutpoints", lambda *arguments: calls.append(arguments[3:])
    )
    monkeypatch.setattr(
        module, "train_denoiser", lambda *arguments: calls.append("train") or {"losses": []}
    )
    model, data = parts_of(mixed_table(), tiny_settings("path", em={"rounds": 2}))
    run_em(model, data, initial_state(model, data), EventLog())
    assert calls == ["train", (1, "after"), (2, "before"), "train", (2, "after")]


def test_cutpoints_are_frozen_while_the_denoiser_trains(mixed_table, tiny_settings):
    model, data = parts_of(mixed_table(), tiny_settings("path", training={"calibration_steps": 0}))
    before = model.cutpoints().detach().clone()
    run_em(model, data, initial_state(model, data), EventLog())
    assert torch.equal(model.cutpoints().detach(), before)


def test_the_e_step_is_the_mean_of_the_chains(mixed_table, tiny_settings):
    settings = tiny_settings("path", sampler={"chains": 3})
    model, data = parts_of(mixed_table(), settings)
    model.denoiser.eval()
    sampler = Sampler(model, EventLog())
    rows, mean = sampler.expect(data)
    chains = [sampler.draw(data, number)[1] for number in (1, 2, 3)]
    torch.testing.assert_close(mean, torch.stack(chains).mean(0))
    assert rows.tolist() == torch.nonzero(data.to_impute.any(1)).ravel().tolist()


def test_a_round_never_takes_more_steps_than_allowed(mixed_table, tiny_settings):
    table = mixed_table()
    for max_steps, min_epoch_steps, steps in ((7, 25, 7), (30, 25, 25), (12, 4, 12)):
        changes = {"max_steps": max_steps, "min_epoch_steps": min_epoch_steps, "patience": 100}
        settings = tiny_settings("small", training=changes | {"batch_size": 512})
        engine = PaperEngine.fit(table, settings, device="cpu")
        assert [entry["steps"] for entry in engine.history] == [steps, steps]


def test_patience_stops_a_round_and_the_best_weights_are_kept(
    mixed_table, tiny_settings, monkeypatch
):
    from tabsoda.paper import m_step as module

    losses = iter([5.0, 3.0, 4.0, 4.0, 4.0, 4.0])
    kept = []

    def fake(model, data, weights):
        kept.append([weight.detach().clone() for weight in weights])
        return next(losses)

    monkeypatch.setattr(module, "held_out_loss", fake)
    settings = tiny_settings("small", training={"max_steps": 400, "patience": 3}, em={"rounds": 1})
    engine = PaperEngine.fit(mixed_table(), settings, device="cpu")
    entry = engine.history[0]
    assert (entry["epochs"], entry["best_epoch"], entry["loss"]) == (5, 2, 3.0)
    for parameter, weight in zip(engine.model.denoiser.parameters(), kept[1], strict=True):
        assert torch.equal(parameter, weight)


def test_rounds_start_from_the_last_weights_by_default(mixed_table, tiny_settings):
    frozen = {"learning_rate": 0.0, "calibration_steps": 0}
    engines = [
        PaperEngine.fit(
            mixed_table(),
            tiny_settings("path", training=frozen | {"warm_start": warm}, em={"rounds": rounds}),
            device="cpu",
        )
        for warm, rounds in ((True, 1), (True, 2), (False, 2))
    ]
    one, two, fresh = (engine.model.denoiser.backbone.read_out.weight for engine in engines)
    assert torch.equal(one, two)
    assert not torch.equal(one, fresh)


def test_temperatures_come_from_the_grid_and_are_logged(mixed_table, tiny_settings):
    engine = PaperEngine.fit(mixed_table(), tiny_settings("path"), device="cpu")
    assert set(engine.model.temperatures.tolist()) <= set(
        np.float32([0.5, 0.7, 1.0, 1.4, 2.0]).tolist()
    )
    logged = {e.column for e in engine.events if e.kind == "temperature_chosen"}
    assert logged == {"likes", "agrees"}
    assert {e.column for e in engine.events if e.kind == "ordinal_encoded_as_bits"} == {"rarely"}


def test_a_column_that_repeats_another_is_imputed_by_it(tiny_settings):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 1))
    values = np.hstack([x, x, (x > 0).astype(float)])
    hidden = rng.random(400) < 0.2
    values[hidden, 1] = np.nan
    columns = (
        Column("x", ColumnKind.CONTINUOUS),
        Column("copy", ColumnKind.CONTINUOUS),
        Column("sign", ColumnKind.NOMINAL, levels=(0, 1)),
    )
    table = CodedTable.from_values(columns, values)
    settings = tiny_settings(
        "small",
        backbone={"width": 32},
        training={
            "max_steps": 120,
            "min_epoch_steps": 20,
            "batch_size": 256,
            "learning_rate": 4e-3,
        },
        em={"rounds": 1},
    )
    cells = PaperEngine.fit(table, settings, seed=1, device="cpu").impute(table)
    truth = x[cells.rows, 0]
    assert np.corrcoef(truth, cells.mode)[0, 1] > 0.9
