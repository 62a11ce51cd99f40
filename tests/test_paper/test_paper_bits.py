"""Analog bits: every level round-trips, no vector decodes to a level that does not exist."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tabsoda.paper.bits import codewords, nearest_level, prototype_log_probabilities
from tabsoda.paper.layout import LayoutTensors, build_layout

ALL_K = np.arange(2, 65)
NONE = np.array([], dtype=np.int64)


def tensors_for(n_levels: np.ndarray) -> LayoutTensors:
    return build_layout(n_levels, NONE, np.arange(n_levels.size), NONE).tensors()


def decode(bits: torch.Tensor, layout: LayoutTensors) -> torch.Tensor:
    return nearest_level(bits, layout.codewords, layout.bit_valid, layout.level_valid)


@pytest.mark.parametrize("n_levels", [1, 2, 3, 5, 8, 33, 64])
def test_codewords_are_the_binary_numbers(n_levels: int) -> None:
    words = codewords(n_levels)
    assert words.shape[1] == max(1, int(np.ceil(np.log2(n_levels))))
    assert (words @ 2 ** np.arange(words.shape[1])).tolist() == list(range(n_levels))


def test_every_level_of_every_size_round_trips() -> None:
    layout = tensors_for(ALL_K)
    for level in range(64):
        levels = torch.tensor(np.minimum(level, ALL_K - 1))
        words = layout.codewords[torch.arange(ALL_K.size), levels][None]
        assert torch.equal(decode(words, layout)[0], levels)


@given(arrays(np.float32, (4, 6), elements=st.floats(width=32, allow_nan=False)))
@settings(max_examples=100, deadline=None)
def test_any_vector_decodes_to_a_valid_level(bits: np.ndarray) -> None:
    layout = tensors_for(np.array([2, 3, 37, 64]))
    levels = decode(torch.from_numpy(bits)[None], layout)[0]
    assert (levels >= 0).all()
    assert (levels < torch.tensor([2, 3, 37, 64])).all()


def test_nearest_is_nearest_by_brute_force_and_ignores_the_padding() -> None:
    n_levels = np.array([3, 5, 11])
    layout = tensors_for(n_levels)
    bits = torch.tensor(np.random.default_rng(1).normal(0.5, 1.0, (300, 3, 4)), dtype=torch.float32)
    found = decode(bits, layout)
    for column, levels in enumerate(n_levels):
        words = codewords(levels)
        seen = bits[:, column, : words.shape[1]].numpy()
        distance = ((seen[:, None] - words) ** 2).sum(-1)
        assert found[:, column].tolist() == distance.argmin(1).tolist()
    garbage = bits.masked_fill(~layout.bit_valid, torch.inf)
    assert torch.equal(decode(garbage, layout), found)


def test_prototype_softmax_equals_the_formula() -> None:
    n_levels = np.array([3, 6])
    layout = tensors_for(n_levels)
    bits = torch.tensor(np.random.default_rng(2).normal(0.5, 0.7, (50, 2, 3)), dtype=torch.float32)
    for temperature in (1.0, 0.3):
        found = prototype_log_probabilities(
            bits, layout.codewords, layout.bit_valid, layout.level_valid, temperature
        )
        for column, levels in enumerate(n_levels):
            words = codewords(levels)
            seen = bits[:, column, : words.shape[1]].double().numpy()
            weight = np.exp(-((seen[:, None] - words) ** 2).sum(-1) / temperature)
            expected = weight / weight.sum(1, keepdims=True)
            np.testing.assert_allclose(found[:, column, :levels].exp(), expected, rtol=1e-5)
        assert torch.isneginf(found[:, 0, 3:]).all()


def test_autocast_does_not_round_the_distances() -> None:
    layout = tensors_for(np.array([4]))
    bits = torch.tensor([[[0.5001, 0.4999]]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert decode(bits, layout).item() == 1
