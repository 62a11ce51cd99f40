"""The tree model of one question.

Input: the codes of the other questions. Output: probabilities of its levels, or a number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tabsoda.engine.trees.boosted_trees import BoostedTrees, trees_from_scikit_learn
from tabsoda.engine.trees.predictor_codes import MISSING
from tabsoda.engine.trees.settings import TreeSettings

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LevelModel:
    """Probabilities of levels: those of classes, distributed over their levels.

    Attributes
    ----------
    trees : BoostedTrees
        One output for two classes (its logistic is the second's probability), else one per class.
    spread : ndarray of float64, shape (n_classes, n_levels)
        How a class's probability is distributed over its levels; the rest to 1 is ``fixed``.
    fixed : ndarray of float64, shape (n_levels,)
        Probability that does not depend on the row, for levels too rare to model.
    """

    trees: BoostedTrees
    spread: Numbers
    fixed: Numbers

    def answer(self, codes: NDArray[np.uint8]) -> Numbers:
        """Return the probabilities of all levels for every row.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n_questions, n_rows)

        Returns
        -------
        ndarray of float64, shape (n_rows, n_levels)
        """
        outputs = self.trees.outputs(codes)
        if len(outputs) == 1 and len(self.spread) == 2:
            second = expit(outputs[0])
            classes = np.stack([1.0 - second, second])
        else:
            classes = softmax(outputs, axis=0)
        # Summed in order: the rounding of a matrix product may depend on the position of a row.
        result = np.repeat(self.fixed[None], codes.shape[1], axis=0)
        for share, spread in zip(classes, self.spread, strict=True):
            levels = np.flatnonzero(spread)
            result[:, levels] += share[:, None] * spread[levels]
        return result


@dataclass(frozen=True, eq=False)
class NumberModel:
    """A number within the range of the answers.

    Attributes
    ----------
    trees : BoostedTrees
    span : ndarray of float64, shape (2,)
        Smallest and largest answer.
    """

    trees: BoostedTrees
    span: Numbers

    def answer(self, codes: NDArray[np.uint8]) -> Numbers:
        """Return a number for every row, shape (n_rows,); codes as in :class:`LevelModel`."""
        return np.clip(self.trees.outputs(codes)[0], *self.span)


@dataclass(frozen=True, eq=False)
class Problem:
    """One question and its predictors.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n_rows, n_questions)
        The rows in which the question is answered.
    predictors : ndarray of int64
        The questions to split on.
    native : ndarray of bool, shape (n_questions,)
        Questions that are split by sets of levels.
    target : ndarray of float64, shape (n_rows,)
    weights : ndarray of float64, shape (n_rows,), or None
    random_state : int
    """

    codes: NDArray[np.uint8]
    predictors: NDArray[np.int64]
    native: NDArray[np.bool_]
    target: Numbers
    weights: Numbers | None
    random_state: int


def fit_levels(problem: Problem, n_levels: int, settings: TreeSettings) -> LevelModel:
    """Fit the model of a nominal or ordinal question."""
    levels = problem.target.astype(np.intp)
    rows = np.bincount(levels, minlength=n_levels)
    # One more answer, split evenly, so that unobserved levels are not impossible.
    shares = np.bincount(levels, problem.weights, minlength=n_levels)
    scale = rows.sum() / shares.sum() if shares.sum() else 1.0
    shares = (shares * scale + 1.0 / n_levels) / (rows.sum() + 1.0)
    class_of = _classes(rows, settings)
    n_classes = class_of.max(initial=-1) + 1
    if n_classes < 2:
        return LevelModel(BoostedTrees.constant(np.zeros(1)), shares[None], np.zeros(n_levels))
    spread = np.zeros((n_classes, n_levels))
    modelled = np.flatnonzero(class_of >= 0)
    spread[class_of[modelled], modelled] = shares[modelled]
    spread *= shares[modelled].sum() / spread.sum(axis=1, keepdims=True)
    trees = _grow(
        HistGradientBoostingClassifier, problem, class_of[levels], class_of[levels] >= 0, settings
    )
    return LevelModel(trees, spread, np.where(class_of < 0, shares, 0.0))


def fit_number(problem: Problem, settings: TreeSettings) -> NumberModel:
    """Fit the model of a continuous question; it predicts 0 if nobody answered."""
    target = problem.target
    if not target.size:
        return NumberModel(BoostedTrees.constant(np.zeros(1)), np.zeros(2))
    span = np.array([target.min(), target.max()])
    middle, scale = np.average(target, weights=problem.weights), float(target.std())
    if target.size < 2 * settings.min_leaf_rows or scale <= 1e-12 * max(abs(middle), 1e-300):
        return NumberModel(BoostedTrees.constant(np.array([middle])), span)
    everyone, standard = np.ones(target.size, dtype=bool), (target - middle) / scale
    trees = _grow(HistGradientBoostingRegressor, problem, standard, everyone, settings.of_numbers())
    return NumberModel(trees.rescaled(middle, scale), span)


def _classes(rows: NDArray[np.int64], settings: TreeSettings) -> NDArray[np.int64]:
    """Return the class of each level, shape (n_levels,); -1 if too rare even when merged.

    The most frequent levels have their own classes; the others are merged into the last class.
    """
    alone = np.zeros(rows.size, dtype=bool)
    frequent = np.argsort(-rows, kind="stable")[: settings.max_classes]
    alone[frequent] = rows[frequent] >= settings.min_level_rows
    rest = rows[~alone].sum()
    if rest >= settings.min_level_rows and alone.sum() == settings.max_classes:
        alone[frequent[-1]] = False
    class_of = np.full(rows.size, -1, dtype=np.int64)
    class_of[alone] = np.arange(alone.sum())
    if rest >= settings.min_level_rows:
        class_of[~alone] = alone.sum()
    return class_of


def _grow(
    kind: type,
    problem: Problem,
    target: NDArray[np.int64] | Numbers,
    train: NDArray[np.bool_],
    settings: TreeSettings,
) -> BoostedTrees:
    """Boost trees with early stopping on a tenth of the rows; classifiers keep the best rounds."""
    codes = problem.codes[train]
    # scikit-learn fails on predictors that are always missing, and cannot use rarely known ones.
    known = (codes[:, problem.predictors] != MISSING).sum(axis=0)
    predictors = problem.predictors[known >= settings.min_leaf_rows]
    shown = codes[:, predictors] if predictors.size else np.zeros((train.sum(), 1), dtype=np.uint8)
    matrix = np.where(shown == MISSING, np.nan, shown)
    native = problem.native[predictors] if predictors.size else np.zeros(1, dtype=bool)
    model = kind(
        learning_rate=settings.learning_rate,
        max_iter=settings.max_rounds,
        max_leaf_nodes=settings.max_leaves,
        min_samples_leaf=settings.min_leaf_rows,
        l2_regularization=settings.l2,
        max_features=settings.predictor_share,
        early_stopping=True,
        validation_fraction=0.1,
        n_iter_no_change=settings.patience,
        categorical_features=native if native.any() else None,
        random_state=problem.random_state,
    )
    weights = None if problem.weights is None else problem.weights[train]
    model.fit(matrix, target[train], sample_weight=weights)
    sets = [
        np.setdiff1d(column, [MISSING]).astype(np.uint8) if is_native else None
        for column, is_native in zip(shown.T, native, strict=True)
    ]
    # The first score is that of a model without trees. With squared error, which depends on few
    # outliers, a tenth of the rows is too few to choose a round: numbers keep all rounds.
    by_classes = kind is HistGradientBoostingClassifier
    n_rounds = int(np.argmax(model.validation_score_)) if by_classes else model.n_iter_
    return trees_from_scikit_learn(model, predictors, sets, n_rounds)
