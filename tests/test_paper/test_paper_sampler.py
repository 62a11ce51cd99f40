"""The reverse process against normal data, whose denoiser and conditionals are known exactly."""

import numpy as np
import pytest
import torch

from tabsoda.paper.noise import noise_grid
from tabsoda.paper.reverse_process import ReverseProcess
from tabsoda.paper.reverse_sampler import SampledRows, reverse_levels, step_keys
from tabsoda.paper.settings import SamplerSettings

COVARIANCE = 0.25 * np.array(
    [[1, 0.8, 0.3, 0.5], [0.8, 1, 0.2, 0.4], [0.3, 0.2, 1, 0.6], [0.5, 0.4, 0.6, 1]]
)
VISIBLE, HIDDEN = [0, 2], [1, 3]
OBSERVED = np.array([0.6, -0.4])
_SLOPE = COVARIANCE[np.ix_(HIDDEN, VISIBLE)] @ np.linalg.inv(COVARIANCE[np.ix_(VISIBLE, VISIBLE)])
MEAN = _SLOPE @ OBSERVED
CONDITIONAL = COVARIANCE[np.ix_(HIDDEN, HIDDEN)] - _SLOPE @ COVARIANCE[np.ix_(VISIBLE, HIDDEN)]
N_ROWS = 20_000


def gain(covariance, noise):
    return covariance @ np.linalg.inv(covariance + noise**2 * np.eye(len(covariance)))


def joint_denoiser(state, noise_level, visible, skipped):
    """E[z | noisy z]: all entries noisy."""
    return state @ torch.tensor(gain(COVARIANCE, noise_level.item()).T, dtype=torch.float32)


def conditional_denoiser(state, noise_level, visible, skipped):
    """E[z | noisy hidden z, clean visible z]."""
    mean = torch.tensor(MEAN, dtype=torch.float32)
    slope = torch.tensor(gain(CONDITIONAL, noise_level.item()).T, dtype=torch.float32)
    clean = state.clone()
    clean[:, HIDDEN] = mean + (state[:, HIDDEN] - mean) @ slope
    return clean


def rows_of(n=N_ROWS, hidden=HIDDEN):
    to_impute = torch.zeros(n, 4, dtype=torch.bool)
    to_impute[:, hidden] = True
    observed = torch.full((n, 4), torch.nan)
    observed[:, VISIBLE] = torch.tensor(OBSERVED, dtype=torch.float32)
    return SampledRows(observed, to_impute, torch.ones_like(to_impute), torch.arange(n))


def moments_of_the_algorithm(settings):
    """Carry mean and covariance through mixed steps by hand: with normal data all is linear."""
    grid = noise_grid(settings.steps, settings.noise_max, settings.noise_min).numpy()
    eye = np.eye(4)
    take_hidden = np.diag([0.0, 1.0, 0.0, 1.0])
    take_visible = eye - take_hidden
    known = np.zeros(4)
    known[VISIBLE] = OBSERVED
    mean, covariance = known, settings.noise_max**2 * eye
    inflation = 1 + min(settings.churn / settings.steps, np.sqrt(2) - 1)
    for m in range(settings.steps):
        start, end = grid[m], grid[m + 1]
        inflated = inflation * start
        last_level = m == settings.steps - 1
        cycles = 1 if last_level else settings.refresh_cycles
        first = (eye - gain(COVARIANCE, inflated)) / inflated
        move = eye + (end - inflated) * first
        if not last_level:
            second = (eye - gain(COVARIANCE, end)) / end @ move
            move = eye + (end - inflated) / 2 * (first + second)
        for cycle in range(cycles):
            covariance = covariance + (inflated**2 - start**2) * eye
            mean = take_hidden @ move @ mean + take_visible @ known
            covariance = (
                take_hidden @ move @ covariance @ move.T @ take_hidden + end**2 * take_visible
            )
            if cycle < cycles - 1:
                covariance = covariance + (start**2 - end**2) * eye
    return mean[HIDDEN], covariance[np.ix_(HIDDEN, HIDDEN)]


def assert_moments(draws, mean, covariance, allowance=0.0):
    """Compare within four standard errors, plus what the discretisation is allowed."""
    draws = draws.double().numpy()
    n, sd = len(draws), np.sqrt(np.diag(covariance))
    assert np.all(np.abs(draws.mean(0) - mean) < 4 * sd / np.sqrt(n) + allowance * sd)
    ratio = draws.var(0) / np.diag(covariance)
    assert np.all(np.abs(ratio - 1) < 4 * np.sqrt(2 / n) + allowance)
    correlation = np.corrcoef(draws.T)[0, 1] - covariance[0, 1] / sd.prod()
    assert abs(correlation) < 4 / np.sqrt(n) + allowance


def distance_from_regression(settings):
    mean, covariance = moments_of_the_algorithm(settings)
    return np.abs(mean - MEAN).max(), np.abs(covariance - CONDITIONAL).max()


@pytest.mark.parametrize("churn", [0.0, 1.0, 10.0])
def test_unconditional_draws_have_the_data_variance(churn):
    rows = rows_of(hidden=[0, 1, 2, 3])
    settings = SamplerSettings(churn=churn)
    draws = ReverseProcess(joint_denoiser, settings, "noisy").sample(rows, key=1)
    # Measured: churn of 10 in 50 steps inflates the variance by 2 to 3 %.
    pair = COVARIANCE[np.ix_(HIDDEN, HIDDEN)]
    assert_moments(draws[:, HIDDEN], np.zeros(2), pair, allowance=0.003 + 0.003 * churn)


@pytest.mark.parametrize("cycles", [1, 4])
@pytest.mark.parametrize("churn", [0.0, 10.0])
def test_clean_conditioning_reproduces_the_regression(cycles, churn):
    settings = SamplerSettings(refresh_cycles=cycles, churn=churn)
    process = ReverseProcess(conditional_denoiser, settings, "clean")
    draws = process.sample(rows_of(), key=2)
    assert_moments(draws[:, HIDDEN], MEAN, CONDITIONAL, allowance=0.005 + 0.003 * churn)


@pytest.mark.parametrize(("cycles", "churn"), [(1, 0.0), (4, 0.0), (2, 10.0)])
def test_mixing_follows_the_algorithm_exactly(cycles, churn):
    settings = SamplerSettings(refresh_cycles=cycles, churn=churn)
    draws = ReverseProcess(joint_denoiser, settings, "noisy").sample(rows_of(), key=3)
    assert_moments(draws[:, HIDDEN], *moments_of_the_algorithm(settings))


def test_mixing_nears_the_regression_with_refresh_cycles():
    # One cycle recovers 40 % of the regression mean here, four 75 %; the limit is right.
    mean_error, variance_error = zip(
        *(distance_from_regression(SamplerSettings(refresh_cycles=c)) for c in (1, 4, 20, 100)),
        strict=True,
    )
    assert list(mean_error) == sorted(mean_error, reverse=True)
    assert list(variance_error) == sorted(variance_error, reverse=True)
    assert mean_error[1] < 0.45 * mean_error[0]
    assert mean_error[3] < 0.02 * np.abs(MEAN).max()
    assert variance_error[3] < 0.02 * CONDITIONAL.max()


def test_mixing_nears_the_regression_with_fully_stochastic_steps():
    coarse, fine = (
        distance_from_regression(SamplerSettings(steps=n, churn=float(n))) for n in (100, 2000)
    )
    assert fine[0] < 0.2 * coarse[0]
    assert fine[0] < 0.03 * np.abs(MEAN).max()
    # Without churn more steps do not help: a deterministic step cannot forget its start.
    flow = distance_from_regression(SamplerSettings(steps=2000))
    assert flow[0] > 0.5 * np.abs(MEAN).max()


def test_levels_of_refresh_cycles_and_the_last_step():
    settings = SamplerSettings(steps=3, refresh_cycles=3, churn=1.5, noise_scale=1.1)
    grid = noise_grid(3, 20.0, 0.002).tolist()
    table = reverse_levels(settings).double().tolist()
    inflation = 1 + (np.sqrt(2) - 1)
    expected = []
    for m, cycles in enumerate((3, 3, 1)):
        start, end = grid[m], grid[m + 1]
        churn = 1.1 * start * np.sqrt(inflation**2 - 1)
        for cycle in range(cycles):
            again = np.sqrt(start**2 - end**2) if cycle < cycles - 1 else 0.0
            expected.append([inflation * start, end, churn, again])
    np.testing.assert_allclose(table, expected, rtol=1e-6)


def test_every_noise_has_a_key_of_its_own():
    settings = SamplerSettings(steps=5, refresh_cycles=3)
    keys = torch.cat([step_keys(1, settings), step_keys(2, settings)]).flatten().tolist()
    assert len(keys) == 2 * (4 * 3 + 1) * 3
    assert len(set(keys)) == len(keys)
    # The key of a step depends on its place in the grid, not on how many cycles came before.
    assert torch.equal(
        step_keys(1, settings)[6], step_keys(1, SamplerSettings(steps=5, refresh_cycles=2))[4]
    )
