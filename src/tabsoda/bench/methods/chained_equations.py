"""MICE: regress every question on the others in turn, and draw its missing answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda._internal.threads import worker_threads
from tabsoda.bench.methods.chained_models import ChainedModel, model_for
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.point_estimates import estimates_from
from tabsoda.bench.methods.predictor_choice import choose_predictors
from tabsoda.bench.methods.skip_views import PredictorForm, as_shown
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chain:
    """One completed table.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
        Drawn where missing; NaN where skipped, if skips were shown.
    probabilities : dict of int to ndarray of float64, shape (n_rows, n_levels)
        The distribution from which categorical columns were drawn in the last round; 0 in rows that
        are not missing.
    """

    values: Numbers
    probabilities: dict[int, Numbers]


@dataclass(frozen=True)
class ChainedEquations:
    """Multiple imputation by chained equations, pooled to one estimate.

    As in van Buuren (2018): predictive mean matching for numbers, logistic and multinomial
    regression for nominals, proportional odds for ordinals.

    Numbers are pooled by the mean of the draws. Levels are pooled by averaging, over the draws,
    the probabilities they were drawn from, the limit of the shares over many draws. Predictors are
    chosen as by mice's ``quickpred``. Ordinals enter as numbers.
    As in mice, the coefficients are drawn for regression and logistic models, and
    estimated for multinomial and proportional-odds ones.

    Parameters
    ----------
    n_draws : int
        Chains, m in the literature.
    rounds : int
        Passes over the questions in each chain.
    n_donors : int
        Of predictive mean matching.
    ridge : float
        Penalty on squared coefficients of standardised predictors, in the models for levels.
    min_correlation : float
        A question is a predictor if its correlation with the target is at least this large.
    max_questions : int
        Maximum number of predictors; the strongest are kept.
    n_jobs : int
        Number of chains run in parallel; the result does not depend on it.
    """

    n_draws: int = 10
    rounds: int = 5
    n_donors: int = 5
    ridge: float = 1.0
    min_correlation: float = 0.1
    max_questions: int = 20
    n_jobs: int = 1
    name = "MICE"
    knows_skips = False

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell."""
        chains = self.draws(table, seed, skip_view)
        numbers, probabilities = {}, {}
        for position in np.flatnonzero(table.states.missing.any(axis=0)).tolist():
            if table.columns[position].is_categorical:
                drawn = [chain.probabilities[position] for chain in chains]
                probabilities[position] = np.mean(drawn, axis=0)
            else:
                numbers[position] = np.mean([chain.values[:, position] for chain in chains], axis=0)
        return estimates_from(table, numbers, probabilities)

    def draws(self, table: CodedTable, seed: int, skip_view: SkipView) -> list[Chain]:
        """Return the completed tables, not pooled."""
        shown = as_shown(table, skip_view)
        form = PredictorForm.of_table(shown)
        chosen = choose_predictors(form, self.min_correlation, self.max_questions)
        jobs = (
            delayed(self._chain)(form, chosen, numpy_generator(seed, "mice", draw))
            for draw in range(self.n_draws)
        )
        # In products this small, the threads of BLAS wait for each other longer than they compute.
        with worker_threads(1):
            return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs))

    def _chain(
        self,
        form: PredictorForm,
        chosen: dict[int, NDArray[np.intp]],
        generator: np.random.Generator,
    ) -> Chain:
        shown = form.table
        filled = _borrowed_fill(shown, generator)
        predictors = form.of(filled)
        # Scales are kept through the rounds, so that a model can start from its last solution.
        middle, spread = predictors.matrix.mean(axis=0), predictors.matrix.std(axis=0)
        spread[spread == 0] = 1.0
        matrix = (predictors.matrix - middle) / spread
        models: dict[int, ChainedModel] = {
            p: model_for(shown.columns[p], self.ridge, self.n_donors) for p in chosen
        }
        probabilities: dict[int, Numbers] = {}
        for _ in range(self.rounds):
            for position, kept in chosen.items():
                answered = shown.states.answered[:, position]
                missing = shown.states.missing[:, position]
                drawn, rows = models[position].draw(
                    matrix[np.ix_(answered, kept)],
                    shown.values[answered, position],
                    matrix[np.ix_(missing, kept)],
                    generator,
                )
                filled[missing, position] = drawn
                if rows is not None:
                    probabilities[position] = np.zeros((shown.shape[0], rows.shape[1]))
                    probabilities[position][missing] = rows
                own = predictors.column_of == position
                block = form.block(filled[:, position], position)
                matrix[:, own] = (block - middle[own]) / spread[own]
        return Chain(filled, probabilities)


def _borrowed_fill(shown: CodedTable, generator: np.random.Generator) -> Numbers:
    """Fill missing cells with random answers of other respondents; 0 if there are none."""
    filled = shown.values.copy()
    for position in range(shown.shape[1]):
        missing = shown.states.missing[:, position]
        answers = shown.values[shown.states.answered[:, position], position]
        if answers.size:
            filled[missing, position] = generator.choice(answers, size=int(missing.sum()))
        else:
            filled[missing, position] = 0.0
    return filled
