"""Cutpoints: the start equals its formula, the order holds for any parameters."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from tabsoda.paper.cutpoints import MIN_GAP, Cutpoints, smoothed_cutpoints


@pytest.mark.parametrize("prior", [0.0, 5.0, 40.0])
def test_start_equals_the_formula(prior: float) -> None:
    counts = np.array([[10, 20, 30, 40], [7, 0, 3, 0], [1, 1, 0, 0]])
    n_levels = np.array([4, 3, 2])
    if prior == 0.0:
        counts[1] = [7, 2, 3, 0]
    found = smoothed_cutpoints(counts, n_levels, prior)
    for row, count, levels in zip(found, counts, n_levels, strict=True):
        n = count.sum()
        for k in range(1, levels):
            smooth = (n * (count[:k].sum() / n) + prior * k / levels) / (n + prior)
            assert row[k - 1] == pytest.approx(norm.ppf(np.clip(smooth, 1e-4, 1 - 1e-4)), abs=1e-6)
        assert np.isposinf(row[levels - 1 :]).all()


def test_clipped_and_empty_levels_still_give_an_order() -> None:
    counts = np.array([[0, 0, 1_000_000, 0, 0]])
    found = smoothed_cutpoints(counts, np.array([5]), 5.0)[0]
    assert (np.diff(found) > MIN_GAP).all()
    assert found[0] == pytest.approx(norm.ppf(1e-4), abs=1e-6)
    assert found[2] == pytest.approx(norm.ppf(1 - 1e-4), abs=1e-6)
    without_prior = smoothed_cutpoints(np.array([[3, 0, 0, 3]]), np.array([4]), 0.0)[0]
    assert (np.diff(without_prior) > MIN_GAP).all()


numbers = st.floats(-(2.0**100), 2.0**100, width=32) | st.floats(-32, 32, width=32)


@given(arrays(np.float32, (3, 8), elements=numbers))
@settings(max_examples=200, deadline=None)
def test_cutpoints_increase_for_any_parameters(parameters: np.ndarray) -> None:
    cutpoints = Cutpoints(torch.zeros(3, 8) + torch.arange(8))
    with torch.no_grad():
        cutpoints.first.copy_(torch.from_numpy(parameters[:, 0]))
        cutpoints.gaps.copy_(torch.from_numpy(parameters[:, 1:]))
    found = cutpoints()
    assert torch.isfinite(found).all()
    assert (found.diff(dim=1) > 0.8 * MIN_GAP).all()


def test_parameters_mean_what_the_appendix_says() -> None:
    cutpoints = Cutpoints(torch.tensor([[-1.0, 0.0, 1.0], [0.0, 1.0, torch.inf]]))
    with torch.no_grad():
        cutpoints.first.copy_(torch.tensor([0.3, -2.0]))
        cutpoints.gaps.copy_(torch.tensor([[0.5, -3.0], [1.0, 99.0]]))
    softplus = np.log1p(np.exp([0.5, -3.0, 1.0]))
    second = 0.3 + softplus[0] + 1e-4
    expected = [[0.3, second, second + softplus[1] + 1e-4], [-2.0, -2.0 + softplus[2] + 1e-4]]
    found = cutpoints().detach()
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    np.testing.assert_allclose(found[1, :2], expected[1], rtol=1e-6)
    assert torch.isposinf(found[1, 2])


@given(st.floats(-30, 30), st.lists(st.floats(2e-4, 8), min_size=1, max_size=9))
@settings(max_examples=100, deadline=None)
def test_plain_cutpoints_to_parameters_and_back(first: float, gaps: list[float]) -> None:
    plain = torch.tensor([[first, *(first + np.cumsum(gaps))]], dtype=torch.float64)
    torch.testing.assert_close(Cutpoints(plain)(), plain, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(Cutpoints(plain.float())(), plain.float(), rtol=1e-6, atol=1e-5)


def test_training_moves_cutpoints_and_leaves_the_padding_alone() -> None:
    cutpoints = Cutpoints.start(np.array([[5, 5, 5], [9, 3, 0]]), np.array([3, 2]))
    loss = torch.where(torch.isfinite(cutpoints()), cutpoints(), 0.0).square().sum()
    loss.backward()
    assert cutpoints.first.grad is not None
    assert (cutpoints.first.grad != 0).all()
    assert cutpoints.gaps.grad is not None
    assert torch.isfinite(cutpoints.gaps.grad).all()
    assert cutpoints.gaps.grad[1, 0] == 0
    assert torch.isposinf(cutpoints()[1, 1])


def test_state_dict_round_trip() -> None:
    trained = Cutpoints(torch.tensor([[-0.7, 0.1, 2.0], [0.4, torch.inf, torch.inf]]))
    other = Cutpoints(torch.tensor([[0.0, 1.0, 2.0], [0.0, torch.inf, torch.inf]]))
    other.load_state_dict(trained.state_dict())
    assert torch.equal(other(), trained())
