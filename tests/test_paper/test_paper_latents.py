"""Latent ordinals against scipy, closed forms and the limits of the temperature."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import kstest, norm, truncnorm

from tabsoda.paper.latents import (
    interval_level,
    interval_means,
    level_probabilities,
    median_level,
    most_probable_level,
    truncated_normal_draw,
)


def padded(*columns: list[float]) -> torch.Tensor:
    """Stack cutpoints of several columns, +inf in the padding."""
    width = max(map(len, columns))
    return torch.tensor([c + [np.inf] * (width - len(c)) for c in columns], dtype=torch.float32)


def equal_classes(n_levels: int) -> torch.Tensor:
    return torch.tensor(ndtri(np.arange(1, n_levels) / n_levels))[None]


@st.composite
def any_cutpoints(draw: st.DrawFn) -> torch.Tensor:
    """One to four columns of two to nine levels, cutpoints at least 1e-4 apart."""
    columns = []
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.floats(-6, 4))
        gaps = draw(st.lists(st.floats(1e-4, 3), min_size=0, max_size=7))
        columns.append([first, *(first + np.cumsum(gaps)).tolist()])
    return padded(*columns)


@given(any_cutpoints(), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_interval_decoder_inverts_both_encoders(cutpoints: torch.Tensor, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_levels = torch.isfinite(cutpoints).sum(1).numpy() + 1
    levels = torch.tensor(rng.integers(0, n_levels, size=(200, n_levels.size)))
    means = interval_means(cutpoints).gather(1, levels.T).T
    assert torch.equal(interval_level(means, cutpoints), levels)
    # The ends of the unit interval are where rounding could leave the level's interval.
    uniforms = torch.tensor(rng.choice([2.0**-25, 0.5, 1 - 2.0**-25], size=levels.shape))
    draws = truncated_normal_draw(levels, cutpoints, uniforms)
    assert torch.isfinite(draws).all()
    assert torch.equal(interval_level(draws, cutpoints), levels)


def test_a_latent_on_a_cutpoint_belongs_to_the_level_below() -> None:
    assert interval_level(torch.tensor([[0.5]]), padded([0.5, 1.0])).item() == 0


def test_interval_means_equal_scipy() -> None:
    rows = [[-1.2, -0.1, 0.8], [2.5, 2.5001, 7.0], [-9.0, -8.5, 0.0], [1.0]]
    means = interval_means(padded(*rows).double())
    for mean, cutpoints in zip(means, rows, strict=True):
        ends = padded(cutpoints)[0].double().numpy()
        ends = np.r_[-np.inf, ends, np.inf]
        expected = [truncnorm.mean(a, b) for a, b in pairwise(ends)]
        found = mean[: len(expected)].numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert means[3, 2:].tolist() == [0.0, 0.0]


def test_truncated_draws_follow_scipy_in_the_middle_and_in_both_tails() -> None:
    cutpoints = padded([-6.0, -0.3, 0.4, 5.0]).double()
    ends = [-np.inf, -6.0, -0.3, 0.4, 5.0, np.inf]
    uniforms = torch.tensor(np.random.default_rng(3).random((5000, 1)))
    for level in range(5):
        draws = truncated_normal_draw(torch.full((5000, 1), level), cutpoints, uniforms)
        a, b = ends[level], ends[level + 1]
        assert a < draws.min()
        assert draws.max() <= b
        assert kstest(draws[:, 0].numpy(), truncnorm(a, b).cdf).pvalue > 1e-3


def test_draws_increase_with_the_uniform_on_both_sides_of_zero() -> None:
    uniforms = torch.linspace(0.01, 0.99, 50)[:, None].expand(-1, 2)
    levels = torch.tensor([[0, 1]]).expand(50, -1)
    draws = truncated_normal_draw(levels, padded([-0.5], [0.5]), uniforms)
    assert (draws.diff(dim=0) > 0).all()


def test_draws_survive_intervals_without_measurable_mass() -> None:
    cutpoints = padded([-60.0, 60.0, 61.0])
    levels = torch.tensor([[0], [2], [3]])
    draws = truncated_normal_draw(levels, cutpoints, torch.full((3, 1), 0.5))
    assert draws[0] == -60.0
    assert torch.isfinite(draws).all()
    assert torch.equal(interval_level(draws, cutpoints), levels)


@given(any_cutpoints(), st.sampled_from([0.0, 0.05, 0.5, 1.0, 2.0, 50.0]))
@settings(max_examples=60, deadline=None)
def test_probabilities_sum_to_one_and_fall_with_the_latent(
    cutpoints: torch.Tensor, temperature: float
) -> None:
    latent = torch.linspace(-12, 12, 101)[:, None].expand(-1, cutpoints.shape[0])
    probabilities = level_probabilities(latent, cutpoints, temperature)
    assert (probabilities >= 0).all()
    torch.testing.assert_close(probabilities.sum(-1), torch.ones_like(latent), atol=1e-5, rtol=0)
    n_levels = torch.isfinite(cutpoints).sum(1) + 1
    padding = torch.arange(probabilities.shape[2]) >= n_levels[:, None]
    assert (probabilities[:, padding] == 0).all()
    cumulative = probabilities.cumsum(-1)
    assert (cumulative.diff(dim=0) <= 1e-5).all()


def test_probabilities_equal_the_formula_far_into_both_tails() -> None:
    cutpoints = padded([-1.0, 2.0])
    latent = torch.tensor([[-7.0], [0.3], [9.0]])
    found = level_probabilities(latent, cutpoints, torch.tensor([0.7]))
    ends = np.array([-np.inf, -1.0, 2.0, np.inf])
    for row, u in zip(found[:, 0].numpy(), latent[:, 0].numpy(), strict=True):
        z = (ends - u) / 0.7
        expected = [_mass(a, b) for a, b in pairwise(z)]
        np.testing.assert_allclose(row, expected, rtol=2e-5, atol=1e-40)


def _mass(a: float, b: float) -> float:
    """Return the normal mass of (a, b) from the side where it is small."""
    return norm.sf(a) - norm.sf(b) if a > 0 else norm.cdf(b) - norm.cdf(a)


@pytest.mark.parametrize(("n_levels", "right"), [(3, 0.67), (5, 0.40), (7, 0.28), (9, 0.22)])
def test_the_mode_at_temperature_one_does_not_invert_the_encoder(
    n_levels: int, right: float
) -> None:
    cutpoints = equal_classes(n_levels)
    latent = torch.tensor(ndtri((np.arange(200_000) + 0.5) / 200_000))[:, None]
    truth = interval_level(latent, cutpoints)
    mode = most_probable_level(level_probabilities(latent, cutpoints))
    assert (mode == truth).double().mean().item() == pytest.approx(right, abs=0.006)


@pytest.mark.parametrize(("n_levels", "right"), [(3, 0.98), (5, 0.90), (7, 0.80), (9, 0.71)])
def test_mode_at_half_temperature_is_closer(n_levels: int, right: float) -> None:
    cutpoints = equal_classes(n_levels)
    latent = torch.tensor(ndtri((np.arange(200_000) + 0.5) / 200_000))[:, None]
    truth = interval_level(latent, cutpoints)
    mode = most_probable_level(level_probabilities(latent, cutpoints, 0.5))
    assert (mode == truth).double().mean().item() == pytest.approx(right, abs=0.01)


def test_temperature_limits() -> None:
    cutpoints = padded([-1.0, -0.2, 1.5, 1.9]).double()
    latent = torch.linspace(-3, 3, 61, dtype=torch.float64)[:, None] + 0.013
    cold = level_probabilities(latent, cutpoints, 1e-4)
    torch.testing.assert_close(cold, level_probabilities(latent, cutpoints, 0.0))
    # The outer intervals are infinitely wide, so the claim is about the inner ones.
    hot = level_probabilities(latent, cutpoints, 1e3)[:, 0, 1:-1]
    assert (hot.argmax(-1) == 1).all()
    widths = torch.tensor([0.8, 1.7, 0.4], dtype=torch.float64)
    expected = (widths / (np.sqrt(2 * np.pi) * 1e3)).expand_as(hot)
    torch.testing.assert_close(hot, expected, rtol=1e-4, atol=0)


def test_a_temperature_per_column_mixes_intervals_and_probits() -> None:
    cutpoints = padded([-1.0, 1.0], [0.0])
    latent = torch.tensor([[0.2, 0.2], [3.0, -0.1]])
    mixed = level_probabilities(latent, cutpoints, torch.tensor([0.0, 2.0]))
    torch.testing.assert_close(mixed[:, 0], level_probabilities(latent, cutpoints, 0.0)[:, 0])
    torch.testing.assert_close(mixed[:, 1], level_probabilities(latent, cutpoints, 2.0)[:, 1])


def test_gradients_of_padded_columns_are_finite() -> None:
    cutpoints = padded([-1.0, 1.0], [0.0]).requires_grad_()
    latent = torch.tensor([[0.2, 30.0]], requires_grad=True)
    level_probabilities(latent, cutpoints, torch.tensor([1.0, 0.0])).square().sum().backward()
    assert latent.grad is not None
    assert torch.isfinite(latent.grad).all()
    assert cutpoints.grad is not None
    assert torch.isfinite(cutpoints.grad).all()


def test_median_is_the_first_level_to_reach_one_half() -> None:
    probabilities = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.0, 0.0, 1.0]])
    assert median_level(probabilities).tolist() == [0, 2, 2]
    rng = np.random.default_rng(0)
    many = torch.tensor(rng.dirichlet(np.full(6, 0.5), size=500))
    expected = [int(np.argmax(np.cumsum(row) >= 0.5)) for row in many.numpy()]
    assert median_level(many).tolist() == expected
