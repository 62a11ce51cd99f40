"""One gradient-boosted model per question, with all other questions as predictors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tabsoda._internal.randomness import numpy_generator
from tabsoda._internal.threads import worker_threads
from tabsoda.bench.methods.contract import Estimates, ShareDone, SkipView
from tabsoda.bench.methods.point_estimates import center, estimates_from, level_shares
from tabsoda.bench.methods.skip_views import as_shown, skip_flags, tree_values
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]

# scikit-learn's histograms have at most 255 bins, plus one for missing values.
_MOST_LEVELS = 254


@dataclass(frozen=True)
class Boosting:
    """Histogram gradient boosting per column, in one pass; missing predictors stay missing.

    Classifiers for nominals and ordinals, regression for numbers, each stopped early on a tenth of
    its rows. A level answered by fewer than ``min_level_rows`` is not modelled: it keeps its share
    of the answers as probability.

    Parameters
    ----------
    learning_rate, max_rounds, max_leaves, min_leaf_rows, l2 : float or int
        As in scikit-learn.
    patience : int
        Rounds without improvement before a model stops.
    max_native_levels : int
        Nominal predictors with more levels enter as numbers.
    min_level_rows : int
    """

    learning_rate: float = 0.08
    max_rounds: int = 200
    max_leaves: int = 15
    min_leaf_rows: int = 20
    l2: float = 1.0
    patience: int = 8
    max_native_levels: int = 64
    min_level_rows: int = 10
    name = "Boosting"
    knows_skips = False

    def impute(
        self,
        table: CodedTable,
        seed: int,
        skip_view: SkipView,
        progress: ShareDone | None = None,
    ) -> Estimates:
        """Estimate every missing cell."""
        shown = as_shown(table, skip_view)
        predictors = tree_values(shown)
        few = min(self.max_native_levels, _MOST_LEVELS)
        native = np.zeros(predictors.shape[1], dtype=bool)
        for position, column in enumerate(table.columns):
            native[position] = column.kind is ColumnKind.NOMINAL and column.n_levels <= few
        question = np.concatenate([np.arange(len(table.columns)), skip_flags(shown)])
        numbers, probabilities = {}, {}
        # One thread: where waiting threads sleep, as they do here, more of them take many times as
        # long on tables of a few thousand rows.
        with worker_threads(1):
            for position, column in enumerate(table.columns):
                if progress is not None:
                    progress(position / len(table.columns))
                if not table.states.missing[:, position].any():
                    continue
                # Its own flag says nothing: it is 0 wherever an answer is to be learned or found.
                others = question != position
                state = int(numpy_generator(seed, "boosting", position).integers(2**31))
                problem = _Problem(
                    predictors[:, others],
                    native[others],
                    table.values[:, position],
                    table.states.missing[:, position],
                    state,
                )
                if column.is_categorical:
                    probabilities[position] = self._classify(problem, column.n_levels)
                else:
                    numbers[position] = self._regress(problem)
        return estimates_from(table, numbers, probabilities)

    def _classify(self, problem: _Problem, n_levels: int) -> Numbers:
        shares = level_shares(problem.target, n_levels)
        result = np.tile(shares, (problem.target.size, 1))
        answered = ~np.isnan(problem.target)
        modelled = np.flatnonzero(shares * answered.sum() >= self.min_level_rows - 0.5)
        if modelled.size < 2:
            return result
        train = np.isin(problem.target, modelled)
        problem = problem.with_known_predictors(train, self.min_leaf_rows)
        model = HistGradientBoostingClassifier(**self._settings(problem))
        model.fit(problem.predictors[train], problem.target[train].astype(np.intp))
        predicted = model.predict_proba(problem.predictors[problem.missing])
        rows = np.ix_(problem.missing, modelled)
        result[rows] = predicted * shares[modelled].sum()
        return result

    def _regress(self, problem: _Problem) -> Numbers:
        result = np.full(problem.target.size, center(problem.target))
        train = ~np.isnan(problem.target)
        if train.sum() < 2 * self.min_leaf_rows:
            return result
        problem = problem.with_known_predictors(train, self.min_leaf_rows)
        model = HistGradientBoostingRegressor(**self._settings(problem))
        model.fit(problem.predictors[train], problem.target[train])
        result[problem.missing] = model.predict(problem.predictors[problem.missing])
        return result

    def _settings(self, problem: _Problem) -> dict[str, object]:
        return {
            "learning_rate": self.learning_rate,
            "max_iter": self.max_rounds,
            "max_leaf_nodes": self.max_leaves,
            "min_samples_leaf": self.min_leaf_rows,
            "l2_regularization": self.l2,
            "early_stopping": True,
            "validation_fraction": 0.1,
            "n_iter_no_change": self.patience,
            "categorical_features": problem.native,
            "random_state": problem.random_state,
        }


@dataclass(frozen=True, eq=False)
class _Problem:
    """One column to predict: NaN in ``target`` where there is no answer."""

    predictors: Numbers
    native: NDArray[np.bool_]
    target: Numbers
    missing: NDArray[np.bool_]
    random_state: int

    def with_known_predictors(self, train: NDArray[np.bool_], fewest: int) -> _Problem:
        """Drop predictors known too rarely to split on; keep one constant if none is left.

        scikit-learn fails on a predictor that is never known in its training rows.
        """
        kept = (~np.isnan(self.predictors[train])).sum(axis=0) >= fewest
        if not kept.any():
            constant = np.zeros((self.target.size, 1))
            return replace(self, predictors=constant, native=np.zeros(1, dtype=bool))
        return replace(self, predictors=self.predictors[:, kept], native=self.native[kept])
