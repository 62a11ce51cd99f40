"""On a GPU the sampler, the heads and the draws give what they give on a CPU."""

import numpy as np
import torch
from cuda_parts import first_targets, settings_of, survey, untrained_model, untrained_network
from marks import cases, cuda

from tabsoda._internal.randomness import row_keys
from tabsoda.engine.draws import Drawer
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.network.data import NetworkInput
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.events import EventLog
from tabsoda.paper.denoiser import sampling_copy
from tabsoda.paper.reverse_process import ReverseProcess
from tabsoda.paper.reverse_sampler import SampledRows

PAPER = cases("network", ["mlp", "noisy mlp"])
DEFAULT = cases("network", ["embedding", "tokens"])


def standardized(network, device):
    """Return a model of the paper whose draws differ between rows, and its table."""
    model, data = untrained_model(settings_of(network), device)
    first_targets(model, data)
    strengthen(model.denoiser)
    return model, data


@torch.no_grad()
def strengthen(network):
    """Let an untrained network give different rows different answers."""
    for parameter in network.parameters():
        parameter.mul_(2.0)
    network.eval()


def drawer_of(network, device, regressions=None):
    """Return what draws with an untrained network of the default engine."""
    settings = settings_of(network)
    untrained, _ = untrained_network(settings, device)
    strengthen(untrained.members[0])
    return Drawer(untrained, regressions, settings, 1)


def open_rows():
    """Return the rows of the survey that miss something, and their keys."""
    table = survey()
    rows = np.flatnonzero(table.states.missing.any(axis=1))
    return table.rows(rows), row_keys(table.values, table.states.states)[rows]


def rows_of(model, data):
    observed = model.standardizer.apply(data.encoded, data.visible)
    return SampledRows(observed, data.to_impute, data.applicable, data.row_keys)


@cuda
@PAPER
@cases("way", ["captured", "compiled"])
def test_the_sampler_draws_the_same_however_its_steps_run(way, network):
    model, data = standardized(network, "cuda")
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
def test_the_sampler_draws_on_a_gpu_what_it_draws_on_a_cpu(network):
    draws = []
    for device in ("cpu", "cuda"):
        model, data = standardized(network, device)
        process = ReverseProcess(
            sampling_copy(model.denoiser),
            model.settings.sampler,
            model.settings.training.conditioning,
        )
        draws.append(process.sample(rows_of(model, data), key=5).cpu())
    torch.testing.assert_close(draws[1], draws[0], rtol=5e-3, atol=5e-3)


@cuda
@DEFAULT
def test_the_heads_say_the_same_on_both_devices(network):
    said = []
    for device in ("cpu", "cuda"):
        untrained = drawer_of(network, device).network
        inputs = NetworkInput.of(survey(), untrained.codec, untrained.device)
        said.append([part.cpu() for part in untrained.mean_answers(inputs)])
    for one, other in zip(*said, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
    assert float(said[0][1].std()) > 0.01


def share_of_equal_draws(one, other):
    known = ~np.isnan(one)
    assert np.array_equal(known, ~np.isnan(other))
    return (one[known] == other[known]).mean()


@cuda
@DEFAULT
def test_draws_are_the_same_on_both_devices(network):
    table, keys = open_rows()
    drawn = [drawer_of(network, device).draw(table, keys, 1) for device in ("cpu", "cuda")]
    # A uniform that lies on a boundary up to rounding may fall to either side.
    same = share_of_equal_draws(*drawn)
    assert same > 0.98, same


@cuda
def test_regressions_draw_the_same_on_both_devices():
    table, keys = open_rows()
    drawn = drawer_of("embedding", "cpu").draw(table, keys, 1)
    filled = np.where(np.isnan(drawn), table.values, drawn)
    nothing = np.zeros((8, 8), dtype=bool)
    regressions = ChainedRegressions.fit(
        table, filled, list(range(8)), nothing, n_sets=1, rounds=1, max_questions=8, seed=1
    )
    redrawn = [
        drawer_of("embedding", device, regressions).draw(table, keys, 1)
        for device in ("cpu", "cuda")
    ]
    same = share_of_equal_draws(*redrawn)
    assert same > 0.95, same
    assert not np.array_equal(redrawn[0], drawn, equal_nan=True)


FIT = {"training": {"max_steps": 120, "epoch_steps": 20}}


@cuda
@DEFAULT
def test_a_fit_on_a_gpu_is_near_one_on_a_cpu(network):
    table = survey()
    settings = settings_of(network, **FIT)
    engines = [DefaultEngine.fit(table, settings, seed=1, device=d) for d in ("cpu", "cuda")]
    losses = [engine.history[0]["loss"] for engine in engines]
    # The same batches and hidden cells; bfloat16 on one side.
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
@DEFAULT
def test_members_leave_everything_on_the_device(network):
    settings = settings_of(
        network,
        dropout=0.2,
        training={"max_steps": 8, "epoch_steps": 4},
        network={"members": 3},
    )
    table = survey()
    engine = DefaultEngine.fit(table, settings, seed=1, device="cuda")
    fitted = engine.drawer.network
    assert len(fitted.members) == 3
    tensors = [*fitted.heads.buffers()]
    for member in fitted.members:
        tensors += [*member.parameters(), *member.buffers()]
    assert {tensor.device.type for tensor in tensors} == {"cuda"}
    cells = engine.impute(table, n_draws=3)
    assert cells.draws.shape == (3, cells.rows.size)
    assert (engine.impute(table, n_draws=3).draws == cells.draws).all()


@cuda
@DEFAULT
def test_the_same_seed_gives_the_same_imputations_on_a_gpu(network):
    table = survey()
    settings = settings_of(network, dropout=0.2, **FIT)
    cells = [
        DefaultEngine.fit(table, settings, seed=1, device="cuda").impute(table, n_draws=2)
        for _ in range(2)
    ]
    # Sums on a GPU come in no fixed order, so last bits may differ, and with them a few draws.
    assert (cells[0].draws == cells[1].draws).mean() > 0.9
    categorical = [table.columns[p].is_categorical for p in cells[0].positions]
    assert (cells[0].mode == cells[1].mode)[categorical].mean() > 0.95
