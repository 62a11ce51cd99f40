"""Our trees say what scikit-learn's say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tabsoda.engine.trees.boosted_trees import BoostedTrees, trees_from_scikit_learn
from tabsoda.engine.trees.predictor_codes import MISSING


def some_codes(rng, n_rows, n_columns, most, missing):
    tops = rng.integers(1, most, n_columns, endpoint=True)
    codes = rng.integers(0, tops, (n_rows, n_columns), endpoint=True).astype(np.uint8)
    codes[rng.random(codes.shape) < missing] = MISSING
    return codes


def as_matrix(codes):
    return np.where(codes == MISSING, np.nan, codes)


def converted(model, codes, native, n_rounds=None):
    sets = [
        np.setdiff1d(column, [MISSING]).astype(np.uint8) if is_native else None
        for column, is_native in zip(codes.T, native, strict=True)
    ]
    return trees_from_scikit_learn(
        model, np.arange(codes.shape[1]), sets, n_rounds or model.n_iter_
    )


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_columns=st.integers(1, 7),
    most=st.sampled_from([1, 3, 12, 70, 253]),
    missing=st.sampled_from([0.0, 0.2, 0.7]),
    n_classes=st.sampled_from([0, 2, 3, 5]),
    leaves=st.sampled_from([2, 4, 8, 9, 15, 16, 31, 33, 64]),
)
def test_equal_to_scikit_learn(seed, n_columns, most, missing, n_classes, leaves):
    rng = np.random.default_rng(seed)
    codes = some_codes(rng, 220, n_columns, most, missing)
    native = rng.random(n_columns) < 0.5
    # A column never known is left out before a model is fitted.
    codes[0] = np.where(codes[0] == MISSING, 0, codes[0])
    score = np.where(codes == MISSING, most, codes).sum(axis=1) + rng.normal(0, 1, 220)
    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    target = np.argsort(np.argsort(score)) * n_classes // 220 if n_classes else score
    model = kind(
        max_iter=6, max_leaf_nodes=leaves, min_samples_leaf=3, early_stopping=False,
        categorical_features=native if native.any() else None,
    ).fit(as_matrix(codes), target)  # fmt: skip
    trees = converted(model, codes, native)
    trees.check(n_columns)
    # Other rows, with codes the model has never seen: unknown categories go with the missing.
    new = some_codes(rng, 300, n_columns, min(most + 3, 253), 0.4)
    for asked in (codes, new):
        ours = trees.outputs(np.ascontiguousarray(asked.T))
        decide = model.decision_function if n_classes else model.predict
        theirs = decide(as_matrix(asked)).T
        np.testing.assert_allclose(ours, np.atleast_2d(theirs), atol=1e-10, rtol=1e-12)


def test_keeps_the_first_rounds_only():
    rng = np.random.default_rng(3)
    codes = some_codes(rng, 400, 4, 9, 0.1)
    target = (codes[:, 0] % 3).astype(int)
    native = np.array([True, False, False, True])
    model = HistGradientBoostingClassifier(
        max_iter=8, early_stopping=False, categorical_features=native
    ).fit(as_matrix(codes), target)
    *_, third = (
        p for _, p in zip(range(3), model.staged_predict_proba(as_matrix(codes)), strict=False)
    )
    outputs = converted(model, codes, native, 3).outputs(np.ascontiguousarray(codes.T))
    grown = np.exp(outputs - outputs.max(axis=0))
    np.testing.assert_allclose((grown / grown.sum(axis=0)).T, third, atol=1e-10)


def test_a_block_is_like_a_row(monkeypatch):
    rng = np.random.default_rng(5)
    codes = some_codes(rng, 700, 5, 20, 0.2)
    native = np.array([True, True, False, False, False])
    model = HistGradientBoostingRegressor(
        max_iter=20, max_leaf_nodes=9, early_stopping=False, categorical_features=native
    ).fit(as_matrix(codes), codes[:, 1] * (codes[:, 3] > 4.0))
    trees = converted(model, codes, native)
    whole = trees.outputs(np.ascontiguousarray(codes.T))
    monkeypatch.setattr("tabsoda.engine.trees.boosted_trees._BLOCK_CELLS", 1)
    assert np.array_equal(trees.outputs(np.ascontiguousarray(codes.T)), whole)
    single = [trees.outputs(np.ascontiguousarray(codes[i : i + 1].T))[0, 0] for i in range(50)]
    assert single == whole[0, :50].tolist()


def test_no_trees_are_constant():
    outputs = BoostedTrees.constant(np.array([1.0, -2.0])).outputs(np.zeros((3, 4), np.uint8))
    assert outputs.tolist() == [[1.0] * 4, [-2.0] * 4]


@pytest.mark.parametrize(("middle", "scale"), [(3.0, 2.0), (-1e6, 1e-3)])
def test_rescaled(middle, scale):
    rng = np.random.default_rng(6)
    codes = some_codes(rng, 200, 3, 9, 0.1)
    model = HistGradientBoostingRegressor(max_iter=5, early_stopping=False)
    trees = converted(model.fit(as_matrix(codes), codes[:, 0]), codes, [False] * 3)
    lines = np.ascontiguousarray(codes.T)
    np.testing.assert_allclose(
        trees.rescaled(middle, scale).outputs(lines), middle + scale * trees.outputs(lines)
    )
