"""On a GPU the sampler, the heads and the draws give what they give on a CPU."""

import importlib.util

import numpy as np
import torch
from cuda_parts import first_targets, settings_of, survey, untrained
from marks import cases, cuda
from tabsoda.em.answering import answers_of
from tabsoda.em.engine import Engine
from tabsoda.em.refitting import redraw
from tabsoda.em.sequential_draws import draw_values

from tabsoda.events import EventLog
from tabsoda.paper.denoiser import sampling_copy
from tabsoda.paper.reverse_process import ReverseProcess
from tabsoda.paper.reverse_sampler import SampledRows

PAPER = cases("backbone", ["mlp", "noisy mlp"])
HEADS = cases("backbone", ["embedding", "tokens"])


def standardized(backbone, device):
    """Return a model whose answers differ between rows, and its table."""
    model, data = untrained(settings_of(backbone), device)
    first_targets(model, data)
    with torch.no_grad():
        for parameter in model.denoiser.parameters():
            parameter.mul_(2.0)
    model.denoiser.eval()
    return model, data


def rows_of(model, data):
    observed = model.standardizer.apply(data.encoded, data.visible)
    return SampledRows(observed, data.to_impute, data.applicable, data.row_keys)


@cuda
@PAPER
@cases("way", ["captured", "compiled"])
def test_the_sampler_draws_the_same_however_its_steps_run(way, backbone):
    model, data = standardized(backbone, "cuda")
    settings = model.settings
    denoiser = sampling_copy(model.denoiser)
    rows = rows_of(model, data)
    draws = []
    for execution in ("eager", way):
        events = EventLog()
        process = ReverseProcess(
            denoiser,
            settings.sampler,
            settings.training.conditioning,
            execution=execution,
            events=events,
        )
        draws.append(process.sample(rows, key=5))
        assert process.execution == execution, events.to_dicts()
    torch.testing.assert_close(draws[1], draws[0], rtol=1e-3, atol=1e-3)
    assert float(draws[0][rows.to_impute].std()) > 0.01
    # A smaller block is padded, and weights may change in place.
    half = SampledRows(*(part[:100] for part in rows))
    torch.testing.assert_close(process.sample(half, key=5), draws[0][:100], rtol=1e-3, atol=1e-3)


@cuda
@PAPER
def test_the_sampler_draws_on_a_gpu_what_it_draws_on_a_cpu(backbone):
    draws = []
    for device in ("cpu", "cuda"):
        model, data = standardized(backbone, device)
        process = ReverseProcess(
            sampling_copy(model.denoiser),
            model.settings.sampler,
            model.settings.training.conditioning,
        )
        draws.append(process.sample(rows_of(model, data), key=5).cpu())
    torch.testing.assert_close(draws[1], draws[0], rtol=5e-3, atol=5e-3)


@cuda
@HEADS
def test_the_heads_say_the_same_on_both_devices(backbone):
    said = []
    for device in ("cpu", "cuda"):
        model, data = standardized(backbone, device)
        rows = data.incomplete_rows()
        said.append([part.cpu() for part in answers_of(model, data, rows)])
    for one, other in zip(*said, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@cuda
@HEADS
def test_draws_are_the_same_on_both_devices(backbone):
    drawn = []
    for device in ("cpu", "cuda"):
        model, data = standardized(backbone, device)
        drawn.append(torch.from_numpy(draw_values(model, data, data.incomplete_rows(), 1)))
    known = ~drawn[0].isnan()
    assert torch.equal(known, ~drawn[1].isnan())
    # A uniform that lies on a boundary up to rounding may fall to either side.
    same = (drawn[0][known] == drawn[1][known]).double().mean()
    assert float(same) > 0.98, float(same)


@cuda
def test_regressions_draw_the_same_on_both_devices():
    if importlib.util.find_spec("sklearn") is None:
        # Regressions need it, and the machine may have little more than torch.
        return
    from tabsoda.regressions import ChainedRegressions

    table = survey()
    model, data = standardized("embedding", "cpu")
    rows = data.incomplete_rows()
    drawn = draw_values(model, data, rows, 1)
    filled = table.values.copy()
    filled[rows.numpy()] = np.where(np.isnan(drawn), filled[rows.numpy()], drawn)
    nothing = np.zeros((8, 8), dtype=bool)
    regressions = ChainedRegressions.fit(
        table, filled, list(range(8)), nothing, n_sets=1, rounds=1, max_questions=8, seed=1
    )
    redrawn = []
    for device in ("cpu", "cuda"):
        model, data = standardized("embedding", device)
        rows = data.incomplete_rows()
        redrawn.append(redraw(model, regressions, table, data, rows, 1, drawn))
    assert np.array_equal(*redrawn, equal_nan=True)
    assert not np.array_equal(redrawn[0], drawn, equal_nan=True)


FIT = {"training": {"max_steps": 120, "min_epoch_steps": 20}, "noise": {"top_share": 0.75}}


@cuda
@HEADS
def test_a_fit_on_a_gpu_is_near_one_on_a_cpu(backbone):
    table = survey()
    settings = settings_of(backbone, **FIT)
    engines = [Engine.fit(table, settings, seed=1, device=d) for d in ("cpu", "cuda")]
    losses = [engine.history[0]["loss"] for engine in engines]
    # The same batches, hidden cells and noise; bfloat16 on one side.
    assert abs(losses[0] - losses[1]) < 0.03 * losses[0], losses
    said = [engine.level_probabilities(table) for engine in engines]
    gaps = []
    for position, on_cpu in said[0].items():
        gap = abs(said[1][position] - on_cpu)
        gaps.append(gap[~(gap != gap)].mean())
    assert max(gaps) < 0.04, gaps
    cells = [engine.impute(table) for engine in engines]
    assert (cells[0].rows == cells[1].rows).all()
    categorical = [table.columns[p].is_categorical for p in cells[0].positions]
    agree = (cells[0].mode == cells[1].mode)[categorical].mean()
    assert agree > 0.85, agree


@cuda
@HEADS
def test_members_and_fresh_starts_leave_everything_on_the_device(backbone):
    settings = settings_of(
        backbone,
        training={"max_steps": 8, "min_epoch_steps": 4, "warm_start": False},
        em={"rounds": 2},
        backbone={"members": 3, "bootstrap": True, "dropout": 0.2},
    )
    table = survey()
    engine = Engine.fit(table, settings, seed=1, device="cuda")
    model = engine.model
    assert len(model.members) == 2
    tensors = [*model.heads.buffers()]
    for network in model.networks:
        tensors += [*network.parameters(), *network.buffers()]
    assert {tensor.device.type for tensor in tensors} == {"cuda"}
    cells = engine.impute(table, n_draws=3)
    assert cells.draws.shape == (3, cells.rows.size)
    assert (engine.impute(table, n_draws=3).draws == cells.draws).all()


@cuda
@HEADS
def test_the_same_seed_gives_the_same_imputations_on_a_gpu(backbone):
    table = survey()
    settings = settings_of(backbone, **FIT, backbone={"dropout": 0.2})
    cells = [
        Engine.fit(table, settings, seed=1, device="cuda").impute(table, n_draws=2)
        for _ in range(2)
    ]
    # Sums on a GPU come in no fixed order, so last bits may differ, and with them a few draws.
    assert (cells[0].draws == cells[1].draws).mean() > 0.9
    categorical = [table.columns[p].is_categorical for p in cells[0].positions]
    assert (cells[0].mode == cells[1].mode)[categorical].mean() > 0.95
