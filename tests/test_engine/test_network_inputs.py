"""How cells enter the networks, and what can never reach an answer."""

import numpy as np
import pytest
import torch

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.network import embedding
from tabsoda.engine.network.data import NetworkInput
from tabsoda.engine.network.heads import level_scores
from tabsoda.engine.network.inputs import N_WAVES, InputLayer, multi_hot
from tabsoda.engine.network.network import Network
from tabsoda.engine.settings import EngineSettings
from tabsoda.events import EventLog
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.keyed_noise import torch_generator

CPU = torch.device("cpu")
BOTH = pytest.mark.parametrize("name", ["embedding", "tokens"])
# Nominals of 2, 5 and 3 levels, ordinals of 3, 2 and 5 levels, then two numbers.
N_LEVELS = (2, 5, 3, 3, 2, 5, 0, 0)
COLUMNS = (
    *(Column(f"nominal {k}", ColumnKind.NOMINAL, levels=tuple(range(k))) for k in N_LEVELS[:3]),
    *(Column(f"ordinal {k}", ColumnKind.ORDINAL, levels=tuple(range(k))) for k in N_LEVELS[3:6]),
    *(Column(f"number {i}", ColumnKind.CONTINUOUS) for i in range(2)),
)
N_CATEGORICAL, N_COLUMNS = 6, 8


@pytest.fixture(scope="module")
def codec():
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [*(rng.integers(0, k, 300) for k in N_LEVELS[:6]), rng.normal(size=(300, 2))]
    )
    table = CodedTable.from_values(COLUMNS, values.astype(float))
    return AnswerCodec.fit(table, table.states.answered, EventLog())


def batch(n_rows=50, seed=0):
    """Return random rows with visible, missing and skipped cells in every column."""
    generator = torch.Generator().manual_seed(seed)
    kind = torch.randint(3, (n_rows, N_COLUMNS), generator=generator)
    kind[:3] = torch.arange(3)[:, None]
    top = torch.tensor(N_LEVELS[:6])
    levels = (torch.rand(n_rows, N_CATEGORICAL, generator=generator) * top).long()
    scores = torch.randn(n_rows, 2, generator=generator)
    return NetworkInput(levels, scores, kind == 0, kind == 2)


def layer_of(codec):
    return InputLayer(codec, torch_generator(1, "waves"))


def network_of(codec, name, width=16):
    """Return a network whose answers depend on everything it is shown, in evaluation."""
    changes = {"name": name, "width": width, "depth": 2, "dropout": 0.3}
    network = Network.untrained(codec, EngineSettings().replace(network=changes), 1, CPU)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in network.members[0].parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return network


@torch.no_grad()
def outputs_of(network, inputs):
    return network.members[0](inputs)


def test_tokens_tell_column_state_and_level_apart(codec):
    inputs, layer = batch(400), layer_of(codec)
    tokens = layer(inputs).tokens
    seen = {}
    for column in range(N_COLUMNS):
        for row in range(400):
            state = "missing"
            if inputs.visible[row, column]:
                is_level = column < N_CATEGORICAL
                state = int(inputs.levels[row, column]) if is_level else "number"
            elif inputs.skipped[row, column]:
                state = "skipped"
            seen.setdefault((column, state), set()).add(int(tokens[row, column]))
    # One token each, and no two the same: levels, missing, skipped, and one for visible numbers.
    assert all(len(found) == 1 for found in seen.values())
    used = [next(iter(found)) for found in seen.values()]
    assert sorted(used) == list(range(layer.n_tokens))
    expected = {(c, s) for c in range(N_COLUMNS) for s in ("missing", "skipped")}
    expected |= {(c, k) for c in range(N_COLUMNS) for k in range(N_LEVELS[c])}
    assert set(seen) == expected | {(6, "number"), (7, "number")}


def test_waves_are_sines_of_visible_scores_and_zero_elsewhere(codec):
    inputs, layer = batch(), layer_of(codec)
    waves = layer(inputs).waves.detach()
    # Numbers first, then ordinals of more than two levels.
    columns = [6, 7, 3, 5]
    assert layer.score_columns.tolist() == columns
    for place, column in enumerate(columns):
        if column < N_CATEGORICAL:
            counts = codec.level_counts[column, : N_LEVELS[column]]
            scores = torch.as_tensor(level_scores(counts), dtype=torch.float32)
            score = scores[inputs.levels[:, column], None]
        else:
            score = inputs.scores[:, column - N_CATEGORICAL, None]
        angle = 2 * np.pi * score * layer.frequencies[place].detach()
        expected = torch.cat([angle.sin(), angle.cos(), score], dim=1)
        shown = inputs.visible[:, column, None]
        torch.testing.assert_close(waves[:, place], torch.where(shown, expected, 0.0))
    assert waves.shape[2] == 2 * N_WAVES + 1


@BOTH
@pytest.mark.parametrize("garbage", [-3.0, 1e20, torch.inf, torch.nan])
def test_answers_that_are_not_visible_are_not_read(name, garbage, codec):
    inputs, network = batch(), network_of(codec, name)
    levels, numbers = inputs.visible[:, :N_CATEGORICAL], inputs.visible[:, N_CATEGORICAL:]
    spoilt = NetworkInput(
        torch.where(levels, inputs.levels, (inputs.levels + 1) % 2),
        torch.where(numbers, inputs.scores, garbage),
        inputs.visible,
        inputs.skipped,
    )
    assert torch.equal(outputs_of(network, inputs), outputs_of(network, spoilt))


@BOTH
def test_a_hidden_answer_cannot_reach_the_outputs_of_its_column(name, codec):
    """Whatever a hidden cell holds, level or score, what is said of it stays the same."""
    network, inputs = network_of(codec, name), batch()
    for column in range(N_COLUMNS):
        visible = inputs.visible.clone()
        visible[:, column] = False
        said = []
        for value in (0, 1):
            levels, scores = inputs.levels.clone(), inputs.scores.clone()
            if column < N_CATEGORICAL:
                levels[:, column] = value
            else:
                scores[:, column - N_CATEGORICAL] = 3.0 * value - 1.0
            said.append(outputs_of(network, NetworkInput(levels, scores, visible, inputs.skipped)))
        assert torch.equal(*said)


@BOTH
def test_every_visible_column_reaches_the_outputs_of_every_other(name, codec):
    network = network_of(codec, name)
    is_number, place = network.heads.owners()
    owner = torch.as_tensor(np.where(is_number, N_CATEGORICAL + place, place))
    everything = torch.ones(1, N_COLUMNS, dtype=torch.bool)
    levels, scores = torch.zeros(1, 6, dtype=torch.int64), torch.zeros(1, 2)
    plain = outputs_of(network, NetworkInput(levels, scores, everything, ~everything))
    for column in range(N_COLUMNS):
        other_levels, other_scores = levels.clone(), scores.clone()
        if column < N_CATEGORICAL:
            other_levels[:, column] = 1
        else:
            other_scores[:, column - N_CATEGORICAL] = 1.0
        changed = NetworkInput(other_levels, other_scores, everything, ~everything)
        moved = (outputs_of(network, changed) - plain)[0].abs() > 1e-6
        for other in range(N_COLUMNS):
            assert moved[owner == other].any(), (column, other)


@BOTH
@pytest.mark.parametrize("state", ["visible", "missing", "skipped"])
def test_the_state_of_a_cell_is_seen(name, state, codec):
    network, inputs = network_of(codec, name), batch().rows(torch.arange(1))
    every = torch.ones(1, N_COLUMNS, dtype=torch.bool)
    found = {}
    for other in ("visible", "missing", "skipped"):
        visible, skipped = every.clone(), ~every
        visible[0, 2], skipped[0, 2] = other == "visible", other == "skipped"
        shown = NetworkInput(inputs.levels, inputs.scores, visible, skipped)
        found[other] = outputs_of(network, shown)
    own = found.pop(state)
    assert all((own - other).abs().max() > 1e-3 for other in found.values())


@BOTH
def test_row_order_and_batch_size_do_not_matter(name, codec):
    network, inputs = network_of(codec, name), batch()
    whole = outputs_of(network, inputs)
    assert whole.shape == (50, network.heads.n_outputs)
    assert whole.std(dim=0).min() > 1e-4
    order = torch.randperm(50, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(
        outputs_of(network, inputs.rows(order)), whole[order], rtol=1e-4, atol=1e-5
    )
    blocks = [outputs_of(network, inputs.rows(part)) for part in torch.arange(50).split(7)]
    torch.testing.assert_close(torch.cat(blocks), whole, rtol=1e-4, atol=1e-5)


def test_multi_hot_marks_every_token_of_a_row():
    hot = multi_hot(torch.tensor([[0, 3], [2, 4]]), 6)
    assert hot.tolist() == [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 1, 0]]


def test_a_lookup_of_vectors_equals_the_product(codec, monkeypatch):
    network, inputs = network_of(codec, "embedding"), batch()
    product = outputs_of(network, inputs)
    monkeypatch.setattr(embedding, "_MOST_HOT", 0)
    torch.testing.assert_close(outputs_of(network, inputs), product)


@BOTH
def test_a_network_starts_near_the_shares_of_levels(name, codec):
    network = Network.untrained(
        codec, EngineSettings().replace(network={"name": name, "width": 16}), 1, CPU
    )
    shares = codec.level_counts + 0.5
    shares = np.where(np.arange(5) < np.array(N_LEVELS[:6])[:, None], shares, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    with torch.no_grad():
        said = network.mean_answers(batch())
    found = said.log_probabilities.exp().numpy()
    assert np.abs(found - shares).max() < 0.15


def test_inputs_hide_held_out_answers_and_mark_skips(mixed_table):
    table = mixed_table()
    codec = AnswerCodec.fit(table, table.states.answered, EventLog())
    held_out = table.states.answered & (np.arange(table.shape[0]) % 3 == 0)[:, None]
    inputs = NetworkInput.of(table, codec, CPU, held_out)
    columns = codec.modelled
    shown = (table.states.answered & ~held_out)[:, columns]
    assert np.array_equal(inputs.visible.numpy(), shown)
    assert np.array_equal(inputs.skipped.numpy(), table.states.skipped[:, columns])
    assert np.array_equal(inputs.missing.numpy(), ~shown & ~table.states.skipped[:, columns])
    answered = table.states.answered[:, codec.categorical]
    levels = table.values[:, codec.categorical][answered]
    assert np.array_equal(inputs.levels.numpy()[answered], levels)
    scores = codec.scores.encode(table.values[:, codec.numbers])
    given = table.states.answered[:, codec.numbers]
    np.testing.assert_allclose(inputs.scores.numpy()[given], scores[given], rtol=1e-6)
