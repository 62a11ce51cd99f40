"""Boosted trees as plain arrays, evaluated for all rows and trees at once.

Every leaf of a tree is a bit. A row starts with all bits set; each split at which it goes right
clears the leaves to the left of that split; the lowest bit that stays is its leaf. Splits can
thus be evaluated in any order, without following a path (Lucchese et al. 2015, "QuickScorer").
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from tabsoda.engine.trees.predictor_codes import MISSING, NO_CODE
from tabsoda.errors import InputError

# Cells (trees x rows) worked on at once: small enough for the processor's second-level cache.
_BLOCK_CELLS = 1 << 18
_N_CODES = 256


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees over byte codes, summed per output.

    Attributes
    ----------
    start : ndarray of float64, shape (n_outputs,)
        Initial outputs, to which the trees add.
    predictor : ndarray of uint16, shape (n_trees, n_splits)
        The question of each split. Tree ``t`` adds to output ``t % n_outputs``.
    cut : ndarray of uint8, shape (n_trees, n_splits)
        Codes above it go right. 255, which no code exceeds, in the padding.
    stays : ndarray of uint8, shape (n_trees, n_splits)
        A code that goes left although above the cut: :data:`MISSING` or none.
    leaves_right : ndarray of uint8, 16, 32 or 64, shape (n_trees, n_splits)
        The leaves that stay possible once a row goes right, as bits.
    leaf_values : ndarray of float64, shape (n_trees, n_leaves)
    set_splits : ndarray of int64, shape (n_set_splits, 2)
        Tree and position of the splits by sets of codes, to which ``cut`` does not apply.
    right_sets : ndarray of uint8, shape (n_set_splits, 32)
        The codes that go right at each of them, as packed bits.
    """

    start: NDArray[np.float64]
    predictor: NDArray[np.uint16]
    cut: NDArray[np.uint8]
    stays: NDArray[np.uint8]
    leaves_right: NDArray[np.unsignedinteger]
    leaf_values: NDArray[np.float64]
    set_splits: NDArray[np.int64]
    right_sets: NDArray[np.uint8]

    @classmethod
    def constant(cls, start: NDArray[np.float64]) -> BoostedTrees:
        """Return a model without trees: the outputs are the same for every row."""
        return cls(
            np.asarray(start, dtype=np.float64),
            np.empty((0, 1), dtype=np.uint16),
            np.empty((0, 1), dtype=np.uint8),
            np.empty((0, 1), dtype=np.uint8),
            np.empty((0, 1), dtype=np.uint8),
            np.empty((0, 2)),
            np.empty((0, 2), dtype=np.int64),
            np.empty((0, _N_CODES // 8), dtype=np.uint8),
        )

    def rescaled(self, middle: float, scale: float) -> BoostedTrees:
        """Return trees whose outputs are ``middle + scale`` times these."""
        return replace(
            self, start=middle + scale * self.start, leaf_values=scale * self.leaf_values
        )

    def outputs(self, codes: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the sums of the trees.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n_questions, n_rows)
            One row per question.

        Returns
        -------
        ndarray of float64, shape (n_outputs, n_rows)
        """
        n_trees, n_rows = self.cut.shape[0], codes.shape[1]
        result = np.repeat(self.start[:, None], n_rows, axis=1)
        if not n_trees:
            return result
        sets = np.unpackbits(self.right_sets, axis=1).astype(bool)
        trees = np.arange(n_trees)[:, None]
        for first in range(0, n_rows, step := max(_BLOCK_CELLS // n_trees, 64)):
            rows = slice(first, first + step)
            values = self.leaf_values[trees, self._leaf(codes[:, rows], sets)]
            # Summed in order: the order of numpy's sum depends on the number of rows.
            for a_round in values.reshape(-1, self.start.size, values.shape[1]):
                result[:, rows] += a_round
        return result

    def _leaf(self, codes: NDArray[np.uint8], sets: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree; shape (n_trees, n_rows)."""
        everything = np.iinfo(self.leaves_right.dtype).max
        possible = np.full((self.cut.shape[0], codes.shape[1]), everything, self.leaves_right.dtype)
        for split in range(self.cut.shape[1]):
            seen = codes[self.predictor[:, split]]
            right = seen > self.cut[:, split, None]
            right &= seen != self.stays[:, split, None]
            here = np.flatnonzero(self.set_splits[:, 1] == split)
            if here.size:
                trees = self.set_splits[here, 0]
                right[trees] = sets[here[:, None], seen[trees]]
            leaves = self.leaves_right[:, split, None]
            possible &= np.where(right, leaves, possible.dtype.type(everything))
        lowest = possible & (~possible + possible.dtype.type(1))
        return np.frexp(lowest.astype(np.float64))[1] - 1

    def check(self, n_questions: int) -> None:
        """Raise if the arrays are not valid trees over this many questions.

        Raises
        ------
        InputError
            If a file was truncated or changed.
        """
        n_trees, n_splits = self.cut.shape if self.cut.ndim == 2 else (0, 0)
        split_shape = (n_trees, n_splits)
        sound = (
            all(isinstance(getattr(self, f.name), np.ndarray) for f in fields(self))
            and self.start.ndim == 1
            and self.start.size > 0
            and n_splits > 0
            and n_trees % self.start.size == 0
            and self.predictor.shape == self.stays.shape == self.leaves_right.shape == split_shape
            and self.predictor.dtype == np.uint16
            and self.cut.dtype == self.stays.dtype == self.right_sets.dtype == np.uint8
            and self.leaves_right.dtype.kind == "u"
            and self.start.dtype == self.leaf_values.dtype == np.float64
            and self.set_splits.dtype == np.int64
            and self.leaf_values.shape == (n_trees, n_splits + 1)
            and n_splits < 8 * self.leaves_right.dtype.itemsize
            and self.set_splits.shape == (self.right_sets.shape[0], 2)
            and self.right_sets.shape[1:] == (_N_CODES // 8,)
        )
        sound = sound and (
            bool(np.isfinite(self.start).all() and np.isfinite(self.leaf_values).all())
            and (not n_trees or int(self.predictor.max()) < n_questions)
            and bool((self.set_splits >= 0).all() and (self.set_splits < split_shape).all())
            # A row that always goes right must reach a leaf.
            and _ends_in_a_leaf(self.leaves_right, n_splits + 1)
        )
        if not sound:
            raise InputError("The saved trees are damaged", next_step="Fit the model again")


def _ends_in_a_leaf(leaves_right: NDArray[np.unsignedinteger], n_leaves: int) -> bool:
    last = np.bitwise_and.reduce(leaves_right, axis=1) if leaves_right.size else leaves_right
    allowed = last.dtype.type((1 << n_leaves) - 1)
    return bool((last & allowed).all())


def trees_from_scikit_learn(
    model: object,
    predictors: NDArray[np.int64],
    known_sets: list[NDArray[np.uint8] | None],
    n_rounds: int,
) -> BoostedTrees:
    """Extract the trees of a fitted HistGradientBoosting model.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Fitted on codes, with NaN where missing.
    predictors : ndarray of int64, shape (n_predictors,)
        The question behind each column the model was fitted on.
    known_sets : list
        Per column, the sorted codes of the fit if it is split by sets, otherwise None.
    n_rounds : int
        Rounds to keep.
    """
    # scikit-learn has no public access to these trees; pyproject.toml limits its version.
    start = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()  # type: ignore[attr-defined]
    flat = [tree for a_round in model._predictors[:n_rounds] for tree in a_round]  # type: ignore[attr-defined]
    if not flat:
        return BoostedTrees.constant(start)
    nodes = np.concatenate([tree.nodes for tree in flat])
    sizes = np.array([tree.nodes.size for tree in flat])
    tree_of = np.repeat(np.arange(len(flat)), sizes)
    root = np.repeat(np.cumsum(sizes) - sizes, sizes)
    is_leaf = nodes["is_leaf"].astype(bool)
    # Nodes are stored in preorder, so the leaves are in order from left to right.
    leaves_before, splits_before = _count_before(is_leaf, root), _count_before(~is_leaf, root)
    n_leaves = max(int(leaves_before[is_leaf].max()) + 1, 2)
    dtype = next(np.dtype(f"u{size}") for size in (1, 2, 4, 8) if n_leaves <= 8 * size)
    leaf_values = np.zeros((len(flat), n_leaves))
    leaf_values[tree_of[is_leaf], leaves_before[is_leaf]] = nodes["value"][is_leaf]

    splits, where = nodes[~is_leaf], (tree_of[~is_leaf], splits_before[~is_leaf])
    first, after = (leaves_before[root[~is_leaf] + splits[side]] for side in ("left", "right"))
    one = np.uint64(1)
    gone = (one << after.astype(np.uint64)) - (one << first.astype(np.uint64))
    # scikit-learn moves the columns split by sets to the front.
    by_sets = np.array([known is not None for known in known_sets])
    order = np.concatenate([np.flatnonzero(by_sets), np.flatnonzero(~by_sets)])
    column = order[splits["feature_idx"]]
    missing_left = splits["missing_go_to_left"].astype(bool)
    shape = (len(flat), n_leaves - 1)
    is_set = splits["is_categorical"].astype(bool)
    words = np.concatenate([tree.raw_left_cat_bitsets for tree in flat])
    n_sets = np.array([len(tree.raw_left_cat_bitsets) for tree in flat])
    own = (np.cumsum(n_sets) - n_sets)[where[0]] + splits["bitset_idx"]
    return BoostedTrees(
        start,
        _laid_out(shape, where, predictors[column], 0, np.uint16),
        _laid_out(shape, where, _whole_cut(splits["num_threshold"]), MISSING, np.uint8),
        _laid_out(shape, where, np.where(missing_left, MISSING, NO_CODE), NO_CODE, np.uint8),
        _laid_out(shape, where, ~gone, np.iinfo(dtype).max, dtype),
        leaf_values,
        np.stack(where, axis=1)[is_set].astype(np.int64),
        _right_sets(words[own[is_set]], column[is_set], known_sets, missing_left[is_set]),
    )


def _count_before(chosen: NDArray[np.bool_], root: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many nodes of the same tree before each are chosen; shape (n_nodes,)."""
    before: NDArray[np.int64] = np.cumsum(chosen) - chosen
    return before - before[root]


def _whole_cut(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cuts between codes; infinite ones separate known from missing codes."""
    return np.clip(np.floor(thresholds), 0, NO_CODE - 1)


def _laid_out(
    shape: tuple[int, int],
    where: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: NDArray[Any],
    default: int,
    dtype: npt.DTypeLike,
) -> NDArray[Any]:
    """Return values by tree and position in it."""
    result = np.full(shape, default, dtype=dtype)
    result[where] = values.astype(dtype)
    return result


def _right_sets(
    left_words: NDArray[np.uint32],
    columns: NDArray[np.int64],
    known_sets: list[NDArray[np.uint8] | None],
    missing_left: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    """Return the codes that go right, as packed bits; unknown codes go with missing ones."""
    # scikit-learn numbers the known codes in their order, in words of 32 bits, lowest bit first.
    little = np.ascontiguousarray(left_words).astype("<u4").view(np.uint8)
    goes_left = np.unpackbits(little, axis=1, bitorder="little").astype(bool)
    right = np.repeat(~missing_left[:, None], _N_CODES, axis=1)
    for column in np.unique(columns):
        known, here = known_sets[column], columns == column
        if known is not None:
            right[np.ix_(here, known)] = ~goes_left[here, : known.size]
    return np.packbits(right, axis=1)
