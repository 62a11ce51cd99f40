"""How cells enter the networks that learn vectors, and what can never reach an answer."""

import numpy as np
import pytest
import torch

from tabsoda.diffusion.answers import AnswerHeads
from tabsoda.diffusion.backbone import DenoiserInput
from tabsoda.diffusion.column_inputs import N_WAVES, ColumnInputs, multi_hot
from tabsoda.diffusion.denoiser import build_answering_denoiser
from tabsoda.diffusion.embedding_mlp import EmbeddingBackbone
from tabsoda.setting_groups import BackboneSettings
from tabsoda.torch_runtime.keyed_noise import torch_generator

SCALE, TOP = 0.5, 20.0
BACKBONES = pytest.mark.parametrize("name", ["embedding", "tokens"])


def batch(layout, n_rows=50, seed=0):
    """Return a random batch with visible, hidden and skipped cells in every column."""
    generator = torch.Generator().manual_seed(seed)
    n_columns = layout.n_levels.size
    kind = torch.randint(3, (n_rows, n_columns), generator=generator)
    kind[:3] = torch.arange(3)[:, None]
    of = torch.as_tensor(layout.column_of)
    state = torch.randn(n_rows, layout.n_coordinates, generator=generator)
    top = torch.as_tensor(np.maximum(layout.n_levels, 1))
    levels = (torch.rand(n_rows, n_columns, generator=generator) * top).long()
    visible, skipped = (kind == 0)[:, of], (kind == 2)[:, of]
    label = torch.full((1,), np.log(2.0) / 4)
    return DenoiserInput(state.masked_fill(skipped, 0.0), label, visible, skipped, levels, None)


def inputs_of(layout):
    return ColumnInputs(layout, SCALE, torch_generator(1, "waves"))


def denoiser_of(name, layout, generator, width=16):
    """Return a denoiser whose answers hang on everything it is shown, in evaluation."""
    categorical = np.concatenate([layout.bit_columns, layout.ordinal_columns])
    n_levels = layout.n_levels[categorical]
    counts = np.full((categorical.size, int(n_levels.max())), 9)
    counts[np.arange(counts.shape[1]) >= n_levels[:, None]] = 0
    ordered = np.isin(categorical, layout.ordinal_columns)
    bins = np.full(layout.continuous_columns.size, 6)
    heads = AnswerHeads(counts, n_levels, ordered, bins)
    settings = BackboneSettings(name=name, width=width, depth=2, dropout=0.3)
    made = build_answering_denoiser(layout, heads, settings, SCALE, generator).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return made, heads


def test_tokens_tell_column_state_and_level_apart(layout):
    inputs = batch(layout, 400)
    cells = inputs_of(layout)(inputs)
    first = {column: np.flatnonzero(layout.column_of == column)[0] for column in range(8)}
    seen = {}
    for column in range(8):
        for row in range(400):
            state = "hidden"
            if inputs.visible[row, first[column]]:
                n_levels = layout.n_levels[column]
                state = int(inputs.levels[row, column]) if n_levels else "number"
            elif inputs.skipped[row, first[column]]:
                state = "skipped"
            seen.setdefault((column, state), set()).add(int(cells.tokens[row, column]))
    # One token each, and no two the same: levels, hidden, skipped, and one for visible numbers.
    assert all(len(tokens) == 1 for tokens in seen.values())
    used = [next(iter(tokens)) for tokens in seen.values()]
    assert sorted(used) == list(range(inputs_of(layout).n_tokens))
    expected = {(c, s) for c in range(8) for s in ("hidden", "skipped")}
    expected |= {(c, k) for c in range(8) for k in range(layout.n_levels[c])}
    assert set(seen) == expected | {(0, "number"), (1, "number")}


def test_waves_are_sines_of_visible_scores_and_nothing_elsewhere(layout):
    inputs, made = batch(layout), inputs_of(layout)
    waves = made(inputs).waves
    # Numbers first, then the latents of ordinals.
    coordinates = [*layout.continuous_coordinates, *layout.ordinal_coordinates]
    for place, coordinate in enumerate(coordinates):
        score = inputs.state[:, coordinate, None]
        angle = 2 * np.pi * score * made.frequencies[place].detach()
        expected = torch.cat([angle.sin(), angle.cos(), score], dim=1)
        shown = inputs.visible[:, coordinate, None]
        torch.testing.assert_close(waves[:, place].detach(), torch.where(shown, expected, 0.0))
    assert waves.shape[2] == 2 * N_WAVES + 1


def test_what_noise_has_left_enters_by_its_signal(layout):
    made = inputs_of(layout)
    for noise_level in (0.01, 0.5, TOP):
        inputs = batch(layout)._replace(noise_label=torch.full((1,), np.log(noise_level) / 4))
        noisy = made(inputs).noisy
        signal = SCALE / np.hypot(SCALE, noise_level)
        expected = torch.where(inputs.visible, 0.0, inputs.state) * signal
        torch.testing.assert_close(noisy, expected, rtol=1e-4, atol=1e-6)


def test_levels_of_hidden_cells_are_not_read(layout):
    inputs, made = batch(layout), inputs_of(layout)
    columns = torch.as_tensor(
        [np.flatnonzero(layout.column_of == column)[0] for column in range(8)]
    )
    shown = inputs.visible[:, columns]
    for garbage in (-7, 10**9):
        spoilt = inputs._replace(levels=torch.where(shown, inputs.levels, garbage))
        for one, other in zip(made(inputs), made(spoilt), strict=True):
            assert torch.equal(one, other)


def test_levels_must_be_given(layout):
    with pytest.raises(ValueError, match="levels"):
        inputs_of(layout)(batch(layout)._replace(levels=None))


def test_multi_hot_marks_every_token_of_a_row():
    hot = multi_hot(torch.tensor([[0, 3], [2, 4]]), 6)
    assert hot.tolist() == [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 1, 0]]


def test_looking_vectors_up_sums_what_the_product_sums(layout, generator, monkeypatch):
    from tabsoda.diffusion import embedding_mlp

    made = EmbeddingBackbone(layout, 7, BackboneSettings(width=8), SCALE, generator)
    product = made(batch(layout))
    monkeypatch.setattr(embedding_mlp, "_MOST_HOT", 0)
    for one, other in zip(product, made(batch(layout)), strict=True):
        torch.testing.assert_close(one, other)


def arguments_of(inputs, noise_level=2.0):
    level = torch.full((1,), noise_level)
    return [inputs.state, level, inputs.visible, inputs.skipped, inputs.levels]


@BACKBONES
def test_permuting_rows_permutes_what_is_said(name, layout, generator):
    denoiser, heads = denoiser_of(name, layout, generator)
    inputs = batch(layout)
    order = torch.randperm(50, generator=generator)
    shuffled = inputs._replace(
        **{f: getattr(inputs, f)[order] for f in ("state", "visible", "skipped", "levels")}
    )
    clean, outputs = denoiser.with_answers(*arguments_of(inputs))
    other_clean, other_outputs = denoiser.with_answers(*arguments_of(shuffled))
    torch.testing.assert_close(other_clean, clean[order], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(other_outputs, outputs[order], rtol=1e-4, atol=1e-5)
    assert outputs.shape == (50, heads.n_outputs)
    assert outputs.std(dim=0).min() > 1e-4


@BACKBONES
@pytest.mark.parametrize("garbage", [-3.0, 1e20, torch.inf, torch.nan])
def test_unknown_entries_leak_nothing(name, garbage, layout, generator):
    denoiser, _ = denoiser_of(name, layout, generator)
    inputs = batch(layout)
    unknown = ~inputs.visible & ~inputs.skipped
    plain = denoiser.with_answers(*arguments_of(inputs, TOP), unknown)
    spoilt = inputs._replace(state=torch.where(inputs.visible, inputs.state, garbage))
    for one, other in zip(
        plain, denoiser.with_answers(*arguments_of(spoilt, TOP), unknown), strict=True
    ):
        assert torch.equal(one, other)


@BACKBONES
def test_in_pure_noise_hardly_anything_is_left_of_a_hidden_entry(name, layout, generator):
    denoiser, _ = denoiser_of(name, layout, generator)
    inputs = batch(layout)
    # Entries differ by an answer's spread; at the top the noise is forty times that.
    moved = inputs._replace(state=torch.where(inputs.visible, inputs.state, inputs.state + SCALE))
    moved = moved._replace(state=moved.state.masked_fill(inputs.skipped, 0.0))

    def gap(noise_level):
        one, other = (denoiser.with_answers(*arguments_of(i, noise_level)) for i in (inputs, moved))
        return (one[1] - other[1]).abs().mean().item()

    assert gap(0.1) > 1e-2
    assert gap(TOP) < 0.01 * gap(0.1)


@BACKBONES
def test_a_columns_own_hidden_value_cannot_reach_its_answer(name, layout, generator):
    """Whatever a hidden cell held, level or score, what is said of it stays the same."""
    denoiser, _ = denoiser_of(name, layout, generator)
    inputs = batch(layout)
    of = torch.as_tensor(layout.column_of)
    for column in range(8):
        visible = inputs.visible & (of != column)
        unknown = ~visible & ~inputs.skipped
        said = []
        for value in (0, 1):
            levels = inputs.levels.clone()
            levels[:, column] = value
            state = torch.where(of == column, 3.0 * value - 1.0, inputs.state)
            level = torch.full((1,), TOP)
            said.append(
                denoiser.with_answers(state, level, visible, inputs.skipped, levels, unknown)[1]
            )
        assert torch.equal(*said)


@BACKBONES
def test_every_visible_column_reaches_the_answers_of_every_other(name, layout, generator):
    denoiser, heads = denoiser_of(name, layout, generator)
    kind, place = heads.owners()
    categorical = np.concatenate([layout.bit_columns, layout.ordinal_columns])
    owner = np.where(kind == 0, categorical[np.where(kind == 0, place, 0)], place)
    everything = torch.ones(1, layout.n_coordinates, dtype=torch.bool)
    state = torch.zeros(1, layout.n_coordinates)
    levels = torch.zeros(1, 8, dtype=torch.int64)
    level = torch.full((1,), TOP)
    plain = denoiser.with_answers(state, level, everything, ~everything, levels)[1]
    for column in range(8):
        changed = state.clone()
        changed[:, torch.as_tensor(layout.column_of == column)] = 1.0
        other_levels = levels.clone()
        other_levels[:, column] = 1
        said = denoiser.with_answers(changed, level, everything, ~everything, other_levels)[1]
        moved = (said - plain)[0].abs() > 1e-6
        for other in range(8):
            assert moved[torch.as_tensor(owner == other)].any(), (column, other)


@BACKBONES
def test_visible_entries_return_as_they_are_and_skipped_ones_as_zero(name, layout, generator):
    denoiser, _ = denoiser_of(name, layout, generator)
    inputs = batch(layout)
    clean = denoiser(*arguments_of(inputs))
    assert torch.equal(clean[inputs.visible], inputs.state[inputs.visible])
    assert (clean[inputs.skipped] == 0).all()
