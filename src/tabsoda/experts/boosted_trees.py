"""Boosted trees as plain arrays, evaluated for all rows and trees at once.

Every leaf of a tree is a bit. A row starts with all bits set; each split at which it goes right
clears the leaves to the left of that split; the lowest bit that stays is its leaf. Splits can
thus be taken in any order, without following a path (Lucchese et al. 2015, "QuickScorer").
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.experts.predictor_codes import MISSING, NO_CODE

# Cells (trees x rows) worked on at once: small enough for the processor's second-level cache.
_BLOCK_CELLS = 1 << 18
_N_CODES = 256


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees over byte codes, summed per output.

    Attributes
    ----------
    start : ndarray of float64, shape (n_outputs,)
        What the trees add to.
    predictor : ndarray of uint16, shape (n_trees, n_splits)
        The question each split reads. Tree ``t`` adds to output ``t % n_outputs``.
    cut : ndarray of uint8, shape (n_trees, n_splits)
        Codes above it go right. 255, which nothing exceeds, where a tree has fewer splits.
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
        """Return no trees: the outputs are the same for every row."""
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
            One line per question.

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
            # Round by round: numpy's own sum adds in an order that depends on the number of rows.
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
        """Raise where the arrays cannot be trees over so many questions.

        Raises
        ------
        InputError
            So that a file cut short or changed is told apart before it predicts nonsense.
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
            # A row that always goes right must still find a leaf.
            and _ends_in_a_leaf(self.leaves_right, n_splits + 1)
        )
        if not sound:
            raise InputError(
                "The trees of a saved expert are damaged", next_step="Fit the model again"
            )


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
    """Take the trees out of a fitted HistGradientBoosting model.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Fitted on codes, with NaN where missing.
    predictors : ndarray of int64, shape (n_predictors,)
        The question behind each column the model was fitted on.
    known_sets : list
        Per column, the sorted codes among which it was fitted where split by sets, None elsewhere.
    n_rounds : int
        Rounds to keep.
    """
    start = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()  # type: ignore[attr-defined]
    flat = [tree for a_round in model._predictors[:n_rounds] for tree in a_round]  # type: ignore[attr-defined]
    if not flat:
        return BoostedTrees.constant(start)
    # scikit-learn moves the columns split by sets to the front.
    by_sets = np.array([known is not None for known in known_sets])
    order = np.concatenate([np.flatnonzero(by_sets), np.flatnonzero(~by_sets)])
    width = max(max(tree.get_n_leaf_nodes() for tree in flat), 2)
    dtype = next(np.dtype(f"u{b}") for b in (1, 2, 4, 8) if width <= 8 * b)
    shape = (len(flat), width - 1)
    predictor = np.zeros(shape, dtype=np.uint16)
    cut = np.full(shape, MISSING, dtype=np.uint8)
    stays = np.full(shape, NO_CODE, dtype=np.uint8)
    leaves_right = np.full(shape, np.iinfo(dtype).max, dtype=dtype)
    leaf_values = np.zeros((len(flat), width))
    set_splits, right_sets = [], []
    for number, tree in enumerate(flat):
        nodes = tree.nodes
        span = _leaf_spans(nodes)
        leaves = np.flatnonzero(nodes["is_leaf"])
        leaf_values[number, span[leaves, 0]] = nodes["value"][leaves]
        for position, node in enumerate(np.flatnonzero(nodes["is_leaf"] == 0)):
            split = nodes[node]
            column = order[split["feature_idx"]]
            predictor[number, position] = predictors[column]
            gone = (1 << int(span[split["left"], 1])) - (1 << int(span[split["left"], 0]))
            leaves_right[number, position] = int(np.iinfo(dtype).max) & ~gone
            if split["is_categorical"]:
                known = known_sets[column]
                words = tree.raw_left_cat_bitsets[split["bitset_idx"]]
                right_sets.append(_right_set(words, known, bool(split["missing_go_to_left"])))
                set_splits.append((number, position))
                continue
            cut[number, position] = np.clip(np.floor(split["num_threshold"]), 0, NO_CODE - 1)
            if split["missing_go_to_left"]:
                stays[number, position] = MISSING
    return BoostedTrees(
        start,
        predictor,
        cut,
        stays,
        leaves_right,
        leaf_values,
        np.array(set_splits, dtype=np.int64).reshape(-1, 2),
        np.array(right_sets, dtype=np.uint8).reshape(-1, _N_CODES // 8),
    )


def _leaf_spans(nodes: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the first leaf under each node and the one after its last; shape (n_nodes, 2)."""
    span = np.zeros((nodes.size, 2), dtype=np.int64)
    found = 0
    waiting = [(0, False)]
    while waiting:
        node, children_done = waiting.pop()
        if nodes["is_leaf"][node]:
            span[node] = found, found + 1
            found += 1
        elif children_done:
            span[node] = span[nodes["left"][node], 0], span[nodes["right"][node], 1]
        else:
            right, left = int(nodes["right"][node]), int(nodes["left"][node])
            waiting += [(node, True), (right, False), (left, False)]
    return span


def _right_set(
    left_words: NDArray[np.uint32], known: NDArray[np.uint8] | None, missing_left: bool
) -> NDArray[np.uint8]:
    """Return the codes that go right, as packed bits; those not known go where missing ones go."""
    right = np.full(_N_CODES, not missing_left)
    if known is not None:
        # scikit-learn numbers the known codes in their order.
        place = np.arange(known.size)
        goes_left = (left_words[place // 32] >> (place % 32).astype(np.uint32)) & np.uint32(1)
        right[known] = goes_left == 0
    return np.packbits(right)
