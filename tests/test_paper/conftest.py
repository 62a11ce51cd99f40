"""A layout with every kind of column, and what two fitted engines are compared by."""

import numpy as np
import pytest
import torch

from tabsoda.paper.bits import codewords
from tabsoda.paper.layout import Layout, n_bits
from tabsoda.torch_runtime.keyed_noise import torch_generator


def make_layout(continuous: int, bit_levels: tuple[int, ...], latent_levels: tuple[int, ...]):
    """Lay out columns kind by kind: continuous, bits, latent ordinals."""
    widths = [1] * continuous + [n_bits(k) for k in bit_levels] + [1] * len(latent_levels)
    starts = np.concatenate([[0], np.cumsum(widths)])[:-1].astype(np.int64)
    columns = np.arange(len(widths), dtype=np.int64)
    n_bit = len(bit_levels)
    bits = slice(continuous, continuous + n_bit)
    max_bits = max(map(n_bits, bit_levels), default=1)
    max_levels = max(bit_levels, default=1)
    words = np.zeros((n_bit, max_levels, max_bits), dtype=np.float32)
    coordinates = np.zeros((n_bit, max_bits), dtype=np.int64)
    bit_valid = np.zeros((n_bit, max_bits), dtype=bool)
    level_valid = np.zeros((n_bit, max_levels), dtype=bool)
    for i, k in enumerate(bit_levels):
        words[i, :k, : n_bits(k)] = codewords(k)
        coordinates[i, : n_bits(k)] = starts[bits][i] + np.arange(n_bits(k))
        bit_valid[i, : n_bits(k)] = True
        level_valid[i, :k] = True
    return Layout(
        n_coordinates=int(sum(widths)),
        column_of=np.repeat(columns, widths),
        n_levels=np.array([0] * continuous + [*bit_levels] + [*latent_levels], dtype=np.int64),
        continuous_columns=columns[:continuous],
        continuous_coordinates=starts[:continuous],
        bit_columns=columns[bits],
        bit_coordinates=coordinates,
        bit_valid=bit_valid,
        codewords=words,
        level_valid=level_valid,
        ordinal_columns=columns[continuous + n_bit :],
        ordinal_coordinates=starts[continuous + n_bit :],
    )


@pytest.fixture
def layout() -> Layout:
    """Two continuous columns, bits of 2, 3 and 5 levels, latents of 3, 5 and 2 levels."""
    return make_layout(2, (2, 3, 5), (3, 5, 2))


@pytest.fixture
def layout_maker():
    """Return the maker itself."""
    return make_layout


@pytest.fixture
def cutpoints() -> torch.Tensor:
    """Cutpoints of the latents of ``layout``, padded with infinity."""
    inf = torch.inf
    return torch.tensor([[-0.5, 0.7, inf, inf], [-1.2, -0.3, 0.2, 1.1], [0.1, inf, inf, inf]])


@pytest.fixture
def generator() -> torch.Generator:
    """A generator of the test's own."""
    return torch_generator(7, "test")
