"""Noise in training and sampling equals its formulas."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tabsoda.paper.noise import loss_weight, noise_grid, noisy_state, training_noise


def test_training_noise_is_log_normal(generator):
    noise = training_noise(-1.2, 1.2, torch.randn(5000, generator=generator))
    fit = stats.kstest(noise.numpy(), stats.lognorm(s=1.2, scale=math.exp(-1.2)).cdf)
    assert fit.pvalue > 0.01


@given(st.floats(0.002, 80), st.floats(0.1, 3))
def test_loss_weight_undoes_the_output_scaling(noise, data_scale):
    output = noise * data_scale / math.sqrt(noise**2 + data_scale**2)
    weight = loss_weight(torch.tensor([noise], dtype=torch.float64), data_scale)
    assert weight.item() == pytest.approx(1 / output**2, rel=1e-9)


@given(st.integers(2, 200), st.floats(1, 100), st.floats(1e-4, 0.5), st.floats(1, 10))
def test_grid_falls_from_max_to_min_to_zero(steps, noise_max, noise_min, exponent):
    grid = noise_grid(steps, noise_max, noise_min, exponent)
    assert grid.dtype == torch.float64
    assert grid.shape == (steps + 1,)
    assert (grid[0].item(), grid[-2].item(), grid[-1].item()) == (noise_max, noise_min, 0.0)
    assert (grid.diff() < 0).all()


def test_grid_equals_the_formula():
    grid = noise_grid(50, 20.0, 0.002, 7.0)
    for m in (1, 17, 48):
        root = 20.0 ** (1 / 7) + m / 49 * (0.002 ** (1 / 7) - 20.0 ** (1 / 7))
        assert grid[m].item() == pytest.approx(root**7, rel=1e-12)


def test_noise_reaches_applicable_entries_alone():
    clean = torch.tensor([[1.0, 2.0, torch.nan]])
    applicable = torch.tensor([[True, True, False]])
    held_clean = torch.tensor([[True, False, False]])
    noise, normals = torch.tensor([10.0]), torch.ones(1, 3)
    assert noisy_state(clean, noise, normals, applicable).tolist() == [[11.0, 12.0, 0.0]]
    assert noisy_state(clean, noise, normals, applicable, held_clean).tolist() == [[1.0, 12.0, 0.0]]
