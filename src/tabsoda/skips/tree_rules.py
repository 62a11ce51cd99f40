"""Fit a CART with scikit-learn and read its paths as conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from tabsoda.skips.predictors import FIRST_ANSWER, MISSING, SKIPPED, CellCodes, GateSet


@dataclass(frozen=True)
class Feature:
    """One column of the tree's input: a number for each code of a gate.

    Attributes
    ----------
    gate : int
    values : ndarray of float32, shape (n_codes of the gate,)
    """

    gate: int
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Node:
    """A node of a fitted tree with the conditions that lead to it."""

    path: tuple[GateSet, ...]
    blank: float
    asked: float
    is_leaf: bool


def flag(gate: int, code: int | list[int], n_codes: int) -> Feature:
    """Return the feature that is 1 for some codes of a gate and 0 for the others."""
    values = np.zeros(n_codes, dtype=np.float32)
    values[code] = 1
    return Feature(gate, values)


def rank(gate: int, n_codes: int) -> Feature:
    """Return the feature that orders the answers of a numeric gate, states below all of them."""
    return Feature(gate, np.maximum(np.arange(n_codes) - FIRST_ANSWER, -1).astype(np.float32))


def one_hot(codes: CellCodes, gates: list[int]) -> list[Feature]:
    """Return the paper's predictors: flags of blanks, states and answers, ranks of numbers.

    The reason why an answer is missing is not among them.
    """
    features = []
    for gate in gates:
        n_codes = codes.n_codes(gate)
        features.append(flag(gate, [*MISSING, SKIPPED], n_codes))
        features += [flag(gate, list(state), n_codes) for state in (MISSING, (SKIPPED,))]
        if codes.numeric[gate]:
            features.append(rank(gate, n_codes))
        else:
            features += [flag(gate, code, n_codes) for code in range(FIRST_ANSWER, n_codes)]
    return features


def by_blank_share(
    codes: CellCodes, gates: list[int], blank: NDArray[np.int64], asked: NDArray[np.int64]
) -> list[Feature]:
    """Return one feature per categorical gate: its codes in the order of the target's blank share.

    A threshold then splits off the optimal set of answers at the first split (Breiman et al. 1984,
    theorem 4.5). Numeric gates keep the order of their answers.

    Parameters
    ----------
    codes : CellCodes
    gates : list of int
    blank, asked : ndarray of int64
        Counts of every code over the rows the tree will see.
    """
    first = codes.own(0)
    base = blank[first].sum() / max(int((blank[first] + asked[first]).sum()), 1)
    features = []
    for gate in gates:
        n_codes = codes.n_codes(gate)
        if codes.numeric[gate]:
            features += [flag(gate, SKIPPED, n_codes), rank(gate, n_codes)]
        else:
            own = codes.own(gate)
            share = (blank[own] + base) / (blank[own] + asked[own] + 1)
            features.append(Feature(gate, share.astype(np.float32)))
    return features


def splittable(
    codes: CellCodes, features: list[Feature], counts: NDArray[np.int64], min_leaf: int
) -> list[Feature]:
    """Keep the features that some threshold splits into two leaves of at least the minimum size.

    No node below the root can be split by the others either, so the tree stays the same, up to
    ties between equally good splits.

    Parameters
    ----------
    codes : CellCodes
    features : list of Feature
    counts : ndarray of int64
        How often each code occurs.
    min_leaf : int
    """
    kept = []
    for feature in features:
        own = counts[codes.own(feature.gate)]
        order = np.argsort(feature.values, kind="stable")
        values, below = feature.values[order], np.cumsum(own[order])
        cuts = below[:-1][np.diff(values) > 0]
        if ((cuts >= min_leaf) & (below[-1] - cuts >= min_leaf)).any():
            kept.append(feature)
    return kept


def design(
    codes: CellCodes, features: list[Feature], rows: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the tree's input, shape (n_chosen_rows, n_features)."""
    X = np.empty((int(rows.sum()), len(features)), dtype=np.float32)
    last, local = -1, np.zeros(0, dtype=np.int32)
    for place, feature in enumerate(features):
        if feature.gate != last:
            last, local = feature.gate, codes.local(feature.gate, rows)
        X[:, place] = feature.values[local]
    return X


def grow(
    X: NDArray[np.float32],
    blank: NDArray[np.bool_],
    *,
    depth: int,
    min_leaf: int,
    asked_weight: float,
    blank_weight: float,
    min_chi_square: float = 0.0,
) -> DecisionTreeClassifier:
    """Fit the CART of Section 3.2; class 1 is blank.

    A split's share of the Gini gain is, with the root's shares, 2 p (1 - p) chi-square / n; below
    ``min_chi_square`` it is noise, and the tree stops.
    """
    weights = np.array([asked_weight, blank_weight]) * [(~blank).sum(), blank.sum()]
    share = weights[1] / weights.sum()
    tree = DecisionTreeClassifier(
        min_impurity_decrease=2 * share * (1 - share) * min_chi_square / len(blank),
        max_depth=depth,
        min_samples_leaf=min_leaf,
        class_weight={0: asked_weight, 1: blank_weight},
        # Only fixes the order in which equally good splits are tried.
        random_state=0,
    )
    return tree.fit(X, blank.astype(np.int8))


def walk(
    fitted: DecisionTreeClassifier, features: list[Feature], codes: CellCodes
) -> Iterator[Node]:
    """Yield every node but the root, each with the conditions that lead to it."""
    tree = fitted.tree_
    if tree.node_count == 1 or len(fitted.classes_) < 2:
        return
    stack: list[tuple[int, dict[int, NDArray[np.bool_]]]] = [(0, {})]
    while stack:
        node, sets = stack.pop()
        if node:
            asked, blank = (float(v) for v in tree.value[node][0])
            path = tuple(GateSet(gate, member) for gate, member in sorted(sets.items()))
            yield Node(path, blank, asked, tree.children_left[node] < 0)
        if tree.children_left[node] < 0:
            continue
        feature = features[tree.feature[node]]
        before = sets.get(feature.gate, np.ones(len(feature.values), dtype=bool))
        below = feature.values <= tree.threshold[node]
        stack.append((int(tree.children_right[node]), {**sets, feature.gate: before & ~below}))
        stack.append((int(tree.children_left[node]), {**sets, feature.gate: before & below}))
