"""MissForest: random forests, question by question, until the error stops falling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.point_estimates import center, estimates_from, level_shares
from tabsoda.bench.methods.skip_views import PredictorForm, as_shown
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ForestRun:
    """The result of the rounds of a MissForest.

    Attributes
    ----------
    estimates : Estimates
        Of the best round.
    errors : tuple of float
        The out-of-bag error after each round, averaged over questions: the share of wrong levels
        and, for numbers, the squared error over the variance.
    """

    estimates: Estimates
    errors: tuple[float, ...]


@dataclass(frozen=True)
class MissForest:
    """Random forests in turn for every column with missing cells, fewest missing first.

    As Stekhoven and Bühlmann (2012), except for the stopping rule: rounds end when the out-of-bag
    error rises, and the previous round is used. As in its R package, a split chooses among the
    square root of the number of predictors, for numbers too. Nominal predictors enter as
    indicators, which scikit-learn's trees need. Shown as blanks, skipped cells are filled like any
    other; shown as a level, they stay unchanged.

    Parameters
    ----------
    n_trees : int
    max_rounds : int
    number_leaf_rows, level_leaf_rows : int
        Fewest rows in a leaf of a tree for numbers and for levels. As missForest 1.6, which uses
        ranger; up to 1.5 it was 1 and 5.
    n_jobs : int
        Threads; the result does not depend on it.
    """

    n_trees: int = 100
    max_rounds: int = 10
    number_leaf_rows: int = 5
    level_leaf_rows: int = 1
    n_jobs: int = 2
    name = "MissForest"
    knows_skips = False

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell."""
        return self.run(table, seed, skip_view).estimates

    def run(self, table: CodedTable, seed: int, skip_view: SkipView) -> ForestRun:
        """Impute, and return the estimates with the error of each round."""
        shown = as_shown(table, skip_view)
        filled = _first_fill(shown)
        form = PredictorForm.of_table(shown)
        todo = np.flatnonzero(shown.states.missing.any(axis=0))
        order = todo[np.argsort(shown.states.missing[:, todo].sum(axis=0), kind="stable")]
        best: dict[int, Numbers] = {}
        errors: list[float] = []
        for round_number in range(self.max_rounds if order.size else 0):
            predicted, error = self._round(form, filled, order, seed, round_number)
            errors.append(error)
            if len(errors) > 1 and error >= errors[-2]:
                break
            best = predicted
        numbers = {p: best[p][:, 0] for p in best if not table.columns[p].is_categorical}
        probabilities = {p: best[p] for p in best if table.columns[p].is_categorical}
        return ForestRun(estimates_from(table, numbers, probabilities), tuple(errors))

    def _round(
        self,
        form: PredictorForm,
        filled: Numbers,
        order: NDArray[np.intp],
        seed: int,
        round_number: int,
    ) -> tuple[dict[int, Numbers], float]:
        """Fit and predict every column once; updates ``filled`` as it goes."""
        shown, predictors = form.table, form.of(filled)
        predicted, errors = {}, []
        for position in order:
            column = shown.columns[position]
            answered, missing = (
                shown.states.answered[:, position],
                shown.states.missing[:, position],
            )
            n_levels = column.n_levels if column.is_categorical else 0
            state = numpy_generator(seed, "miss forest", round_number, int(position))
            rows, error = self._fit_predict(
                predictors.without(position).astype(np.float32),
                shown.values[:, position],
                answered,
                missing,
                n_levels,
                int(state.integers(2**31)),
            )
            errors.append(error)
            predicted[int(position)] = rows
            filled[missing, position] = (
                rows[missing].argmax(axis=1) if n_levels else rows[missing, 0]
            )
            block = predictors.column_of == position
            predictors.matrix[:, block] = form.block(filled[:, position], int(position))
        return predicted, float(np.mean(errors))

    def _fit_predict(
        self,
        predictors: NDArray[np.float32],
        target: Numbers,
        answered: NDArray[np.bool_],
        missing: NDArray[np.bool_],
        n_levels: int,
        state: int,
    ) -> tuple[Numbers, float]:
        """Return predictions, shape (n_rows, n_levels or 1), and the out-of-bag error."""
        answers = target[answered]
        result = _constant_prediction(target, n_levels)
        if np.unique(answers).size < 2 or not predictors.shape[1]:
            return result, 0.0
        kind = RandomForestClassifier if n_levels else RandomForestRegressor
        forest = kind(
            n_estimators=self.n_trees,
            # Also for numbers, unlike randomForest's own default of a third.
            max_features=max(1, math.isqrt(predictors.shape[1])),
            min_samples_leaf=self.level_leaf_rows if n_levels else self.number_leaf_rows,
            oob_score=_out_of_bag_accuracy if n_levels else True,
            n_jobs=self.n_jobs,
            random_state=state,
        )
        forest.fit(predictors[answered], answers)
        # Threads would sum the trees in any order, and the last bits would differ.
        forest.set_params(n_jobs=1)
        if n_levels:
            levels = forest.classes_.astype(np.intp)
            result[:] = 0.0
            result[np.ix_(missing, levels)] = forest.predict_proba(predictors[missing])
            return result, 1.0 - forest.oob_score_
        result[missing, 0] = forest.predict(predictors[missing])
        return result, 1.0 - forest.oob_score_


def _out_of_bag_accuracy(truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    return float(np.mean(truth == predicted))


def _constant_prediction(target: Numbers, n_levels: int) -> Numbers:
    constant = level_shares(target, n_levels) if n_levels else np.array([center(target)])
    return np.tile(constant, (target.size, 1))


def _first_fill(shown: CodedTable) -> Numbers:
    """Fill missing cells with the mode or mean."""
    filled = shown.values.copy()
    for position, column in enumerate(shown.columns):
        constant = _constant_prediction(
            filled[:, position], column.n_levels if column.is_categorical else 0
        )[0]
        missing = shown.states.missing[:, position]
        filled[missing, position] = constant.argmax() if column.is_categorical else constant[0]
    return filled
