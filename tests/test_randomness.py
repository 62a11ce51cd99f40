"""Keyed noise: independent of order and batch, and normal."""

import numpy as np
import torch
from scipy import stats

from tabsoda._internal.randomness import row_keys, stream_key
from tabsoda.torch_runtime.keyed_noise import keyed_normals, keyed_uniforms


def _table(rng, n=200, d=4):
    states = rng.integers(0, 3, (n, d)).astype(np.uint8)
    values = np.where(states == 0, rng.integers(0, 3, (n, d)), np.nan)
    return values, states


def test_a_row_keeps_its_key_when_rows_are_reordered_or_appended():
    values, states = _table(np.random.default_rng(0), n=60, d=12)
    keys = row_keys(values, states)
    order = np.random.default_rng(1).permutation(60)
    assert np.array_equal(row_keys(values[order], states[order]), keys[order])
    assert np.array_equal(row_keys(values[:30], states[:30]), keys[:30])


def test_equal_rows_get_different_keys_and_the_same_set_in_any_order():
    values, states = _table(np.random.default_rng(0), n=500, d=2)
    keys = row_keys(values, states)
    assert len(set(keys.tolist())) == 500
    order = np.random.default_rng(1).permutation(500)
    assert set(row_keys(values[order], states[order]).tolist()) == set(keys.tolist())


def test_what_stands_in_an_unanswered_cell_does_not_matter():
    values, states = _table(np.random.default_rng(0))
    garbage = np.where(states == 0, values, 1e9)
    assert np.array_equal(row_keys(values, states), row_keys(garbage, states))


def test_keyed_normals_are_standard_normal_and_uncorrelated():
    normals = keyed_normals(stream_key(3, "x"), torch.arange(40_000), 5).double().numpy()
    assert stats.kstest(normals.ravel(), "norm").pvalue > 1e-3
    assert np.abs(np.corrcoef(normals.T) - np.eye(5)).max() < 0.025
    other = keyed_normals(stream_key(3, "y"), torch.arange(40_000), 5).double().numpy()
    assert abs(np.corrcoef(normals[:, 0], other[:, 0])[0, 1]) < 0.025


def test_keyed_uniforms_are_uniform_and_never_0_or_1():
    uniforms = keyed_uniforms(stream_key(3, "u"), torch.arange(50_000), 2).double().numpy()
    assert uniforms.min() > 0
    assert uniforms.max() < 1
    assert stats.kstest(uniforms.ravel(), "uniform").pvalue > 1e-3


def test_keyed_normals_do_not_depend_on_the_batch():
    rows = torch.arange(100)
    key = stream_key(1, "draw", 2)
    whole = keyed_normals(key, rows, 7)
    assert torch.equal(whole[30:50], keyed_normals(key, rows[30:50], 7))
    assert torch.equal(whole, keyed_normals(torch.tensor(key), rows, 7))
