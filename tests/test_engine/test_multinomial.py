"""Nominals of several levels: the solver ends, and says so if it does not."""

import warnings

import numpy as np
import pytest
from statsmodels.discrete.discrete_model import MNLogit

from tabsoda.engine.regressions import multinomial
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.engine.regressions.multinomial import Multinomial, fit_multinomial
from tabsoda.engine.regressions.score_tests import fit_scores
from tabsoda.engine.regressions.terms import Terms, group_products
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


def test_slopes_are_those_of_a_reference_library():
    rng = np.random.default_rng(0)
    predictors = rng.normal(size=(3000, 2))
    utility = predictors @ [[0.0, 1.0, -0.5], [0.0, 0.5, 1.0]] + rng.gumbel(size=(3000, 3))
    levels = utility.argmax(axis=1)
    found = fit_multinomial(predictors, levels, ridge=1e-6)
    reference = MNLogit(levels, np.column_stack([np.ones(3000), predictors])).fit(disp=False)
    np.testing.assert_allclose(
        found.slopes[:, 1:] - found.slopes[:, [0]], reference.params[1:], atol=0.01
    )
    elsewhere = Multinomial(rng.normal(size=(2, 3)), rng.normal(size=3))
    warm = fit_multinomial(predictors, levels, ridge=1e-6, start=elsewhere)
    np.testing.assert_allclose(
        warm.slopes - warm.slopes[:, [0]], found.slopes - found.slopes[:, [0]], atol=0.01
    )


def test_many_levels_and_products_of_skewed_predictors_converge_without_a_warning():
    """Two hundred steps are too few here."""
    rng = np.random.default_rng(0)
    n_rows, n_levels = 3000, 35
    scales = np.column_stack([rng.exponential(size=(n_rows, 3)) - 1, rng.normal(size=(n_rows, 2))])
    shown = np.eye(12)[rng.integers(0, 12, n_rows)][:, 1:]
    matrix = np.column_stack([scales, (shown - shown.mean(axis=0)) / shown.std(axis=0)])
    blocks = {place: np.array([place]) for place in range(4)} | {4: np.arange(5, 16)}
    groups = ((0, 0), (1, 1), (0, 1, 2), (2, 2), (0, 4), (1, 4), (3, 4))
    products = np.unique(np.concatenate([group_products(blocks, one) for one in groups]), axis=0)
    predictors = Terms(np.arange(16), products).of(matrix)
    utility = 2 * scales @ rng.normal(size=(5, n_levels)) + rng.gumbel(size=(n_rows, n_levels))
    answers = utility.argmax(axis=1).astype(float)
    column = Column("place", ColumnKind.NOMINAL, tuple(range(n_levels)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = fit_scores(column, predictors, answers)
    # At the maximum the scores are as large as the penalty, which is the coefficients.
    assert np.abs(predictors.T @ scores.residuals).max() < 0.01 * n_rows


@pytest.mark.parametrize("most", [1, 1000])
def test_a_solver_that_stops_early_is_reported_once_per_question(monkeypatch, most):
    monkeypatch.setattr(multinomial, "_MOST_STEPS", most)
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    group = (np.outer(x, [-1.0, 0.0, 1.0]) + rng.gumbel(size=(300, 3))).argmax(axis=1)
    values = np.column_stack([x, group]).astype(float)
    hidden = rng.random(values.shape) < 0.2
    columns = (Column("x", ColumnKind.CONTINUOUS), Column("g", ColumnKind.NOMINAL, (0, 1, 2)))
    table = CodedTable.from_values(columns, np.where(hidden, np.nan, values))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chained = ChainedRegressions.fit(
            table, values, [0, 1], np.zeros((2, 2), dtype=bool), n_sets=2, rounds=1,
            max_questions=5, seed=1,
        )  # fmt: skip
    assert chained.unconverged == ((1,) if most == 1 else ())
