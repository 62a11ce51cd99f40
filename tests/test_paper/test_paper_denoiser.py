"""Preconditioning, conditioning and the network of appendix D."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.paper.denoiser import Denoiser, build_denoiser, preconditioning, sampling_copy
from tabsoda.paper.network import MLPBackbone, noise_features
from tabsoda.paper.settings import BackboneSettings
from tabsoda.torch_runtime.keyed_noise import torch_generator
from tabsoda.torch_runtime.layers import seed_dropout


class Recorder(torch.nn.Module):
    """Predicts a constant and remembers the state it was given."""

    def forward(self, state, noise_label, visible, skipped, unknown):
        self.seen = state
        return torch.full_like(state, 3.0)


def denoiser_of(conditioning, p=4, seed=1, **settings):
    settings = BackboneSettings(width=16, **settings)
    return build_denoiser(p, settings, 0.5, conditioning, torch_generator(seed, "weights"))


def a_batch(generator, n=6, p=4):
    state = torch.randn(n, p, generator=generator)
    noise = torch.rand(n, generator=generator) + 0.1
    kind = torch.randint(3, (n, p), generator=generator)
    return state, noise, kind == 0, kind == 2


@given(st.floats(1e-3, 100), st.floats(0.1, 3))
def test_scalings_equal_the_formulas(noise, data_scale):
    scalings = preconditioning(torch.tensor([noise], dtype=torch.float64), data_scale)
    total = noise**2 + data_scale**2
    assert scalings.residual.item() == pytest.approx(data_scale**2 / total)
    assert scalings.output.item() == pytest.approx(noise * data_scale / math.sqrt(total))
    assert scalings.input.item() == pytest.approx(1 / math.sqrt(total))
    assert scalings.noise_label.item() == pytest.approx(math.log(noise) / 4)


def test_network_sees_and_predicts_unit_variance(generator):
    # What EDM derives its scalings from: Var[input] = 1 and Var[target of F] = 1.
    clean = 0.5 * torch.randn(200_000, generator=generator)
    noisy = clean + 2.0 * torch.randn(200_000, generator=generator)
    s = preconditioning(torch.tensor([2.0]), 0.5)
    assert (s.input * noisy).var().item() == pytest.approx(1, abs=0.02)
    assert ((clean - s.residual * noisy) / s.output).var().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("conditioning", ["noisy", "clean"])
def test_denoiser_is_the_identity_without_noise(conditioning, generator):
    state, _, visible, skipped = a_batch(generator)
    clean = denoiser_of(conditioning)(state, torch.tensor([1e-7]), visible, skipped)
    torch.testing.assert_close(clean, state.masked_fill(skipped, 0.0), atol=1e-5, rtol=0)


def test_noisy_conditioning_scales_every_entry(generator):
    state, noise, visible, skipped = a_batch(generator)
    recorder = Recorder()
    clean = Denoiser(recorder, 0.5, "noisy")(state, noise, visible, skipped)
    s = preconditioning(noise, 0.5)
    inside = state.masked_fill(skipped, 0.0)
    torch.testing.assert_close(recorder.seen, s.input[:, None] * inside)
    expected = s.residual[:, None] * state + s.output[:, None] * 3.0
    torch.testing.assert_close(clean, expected.masked_fill(skipped, 0.0))


def test_clean_conditioning_shows_visible_entries_as_they_are(generator):
    state, noise, visible, skipped = a_batch(generator)
    recorder = Recorder()
    clean = Denoiser(recorder, 0.5, "clean")(state, noise, visible, skipped)
    assert torch.equal(recorder.seen[visible], state[visible] / 0.5)
    assert torch.equal(clean[visible], state[visible])
    hidden = ~visible & ~skipped
    s = preconditioning(noise, 0.5)
    expected = s.residual[:, None] * state + s.output[:, None] * 3.0
    torch.testing.assert_close(clean[hidden], expected[hidden])


@pytest.mark.parametrize("conditioning", ["noisy", "clean"])
def test_skipped_entries_are_zero_and_unread(conditioning, generator):
    state, noise, visible, skipped = a_batch(generator)
    denoiser = denoiser_of(conditioning)
    clean = denoiser(state, noise, visible, skipped)
    assert (clean[skipped] == 0).all()
    garbage = torch.where(skipped, torch.nan, state)
    assert torch.equal(denoiser(garbage, noise, visible, skipped), clean)


def test_one_noise_level_for_all_rows_equals_one_per_row(generator):
    state, _, visible, skipped = a_batch(generator)
    denoiser = denoiser_of("noisy")
    shared = denoiser(state, torch.tensor([0.7]), visible, skipped)
    torch.testing.assert_close(shared, denoiser(state, torch.full((6,), 0.7), visible, skipped))


def test_noise_features_come_sines_first():
    features = noise_features(torch.tensor([0.3, -1.0]), 8)
    frequencies = torch.tensor([10000.0 ** (-k / 4) for k in range(4)])
    for row, label in enumerate((0.3, -1.0)):
        torch.testing.assert_close(features[row, :4], torch.sin(label * frequencies))
        torch.testing.assert_close(features[row, 4:], torch.cos(label * frequencies))


def test_network_equals_appendix_d(generator):
    state, noise, visible, skipped = a_batch(generator)
    net = MLPBackbone(4, BackboneSettings(width=16), torch_generator(1, "weights"))
    silu = torch.nn.functional.silu
    masks = [visible.float(), skipped.float()]
    features = noise_features(noise, 16)
    first, _, second = net.embed_noise
    h = net.project(torch.cat([state, *masks], 1)) + second(silu(first(features)))
    shapes = []
    for layer in (net.hidden[0], net.hidden[2], net.hidden[4]):
        h = silu(h @ layer.weight.T + layer.bias)
        shapes.append(h.shape[1])
    assert shapes == [32, 32, 16]
    assert net.project.weight.shape == (16, 12)
    prediction = net(state, noise, visible, skipped)
    torch.testing.assert_close(prediction, h @ net.read_out.weight.T + net.read_out.bias)


def test_network_without_mask_channels_is_diffputers(generator):
    state, noise, visible, skipped = a_batch(generator)
    blind = denoiser_of("noisy", sees_visible=False, sees_skips=False)
    assert blind.backbone.project.weight.shape == (16, 4)
    swapped = blind(state, noise, ~visible, skipped)
    assert torch.equal(blind(state, noise, visible, skipped), swapped)
    sighted = denoiser_of("noisy")
    assert not torch.equal(
        sighted(state, noise, visible, skipped), sighted(state, noise, ~visible, skipped)
    )


def test_weights_follow_the_generator_and_nothing_global():
    torch.manual_seed(0)
    one = denoiser_of("noisy").state_dict()
    torch.manual_seed(1)
    before = torch.get_rng_state()
    two = denoiser_of("noisy").state_dict()
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(one[name], two[name]) for name in one)
    other = denoiser_of("noisy", seed=2).state_dict()
    assert not torch.equal(one["backbone.project.weight"], other["backbone.project.weight"])
    weight = one["backbone.hidden.2.weight"]
    assert weight.abs().max() <= 32**-0.5
    assert weight.std().item() == pytest.approx(32**-0.5 / math.sqrt(3), rel=0.1)


def test_dropout_draws_from_its_generator_and_only_in_training(generator):
    state, noise, visible, skipped = a_batch(generator)
    denoiser = denoiser_of("noisy", dropout=0.5)

    def run(seed):
        seed_dropout(denoiser, torch_generator(seed, "dropout"))
        return denoiser(state, noise, visible, skipped)

    denoiser.train()
    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))
    denoiser.eval()
    assert torch.equal(run(1), run(2))


def test_dropout_keeps_the_mean():
    net = MLPBackbone(2, BackboneSettings(width=4, dropout=0.3), torch_generator(1, "w"))
    dropout = net.hidden[2]
    seed_dropout(net, torch_generator(1, "d"))
    dropped = dropout(torch.ones(200_000))
    assert dropped.mean().item() == pytest.approx(1, abs=0.01)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)


def test_sampling_copy_is_frozen_and_follows_in_place(generator):
    state, noise, visible, skipped = a_batch(generator)
    denoiser = denoiser_of("noisy", dropout=0.5)
    twin = sampling_copy(denoiser, torch.bfloat16)
    assert not any(parameter.requires_grad for parameter in twin.parameters())
    assert not twin.training
    exact = denoiser.eval()(state, noise, visible, skipped)
    rough = twin(state, noise, visible, skipped)
    assert rough.dtype == torch.float32
    assert not torch.equal(rough, exact)
    torch.testing.assert_close(rough, exact, atol=0.02, rtol=0.02)
    place = twin.backbone.project.weight.data_ptr()
    other = denoiser_of("noisy", seed=2, dropout=0.5).eval()
    twin.load_state_dict(other.state_dict())
    assert twin.backbone.project.weight.data_ptr() == place
    expected = other(state, noise, visible, skipped)
    torch.testing.assert_close(twin(state, noise, visible, skipped), expected, atol=0.02, rtol=0.02)


def test_odd_width_is_refused():
    with pytest.raises(InputError, match="even"):
        BackboneSettings(width=5)
