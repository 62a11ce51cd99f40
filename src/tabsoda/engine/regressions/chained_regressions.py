"""Sets of regressions, one per question, each set fitted to its own completed table.

A set is one draw of the regression coefficients. With it, every question is drawn given all others
in turn, as in chained equations (van Buuren 2018), starting from the network's draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda._internal.threads import worker_threads
from tabsoda.engine.regressions.chain import Chain
from tabsoda.engine.regressions.compatible_draws import Regression, draw_question
from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.files import from_state, to_state
from tabsoda.engine.regressions.relations import Relation
from tabsoda.engine.regressions.terms import Terms
from tabsoda.progress import StageProgress
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Questions with fewer answers than this are drawn from the network.
FEWEST_ANSWERS = 20


@dataclass(frozen=True, eq=False)
class ChainedRegressions:
    """The regressions of a table, in several sets.

    Attributes
    ----------
    design : Design
    terms : dict of int to Terms
        Of every regressed question.
    responses : dict of int to tuple of int
        Per question, the responses by which it is drawn; see :mod:`.relations`.
    relations : tuple of Relation
        The products in use.
    sets : tuple of dict of int to NumberRegression or LevelRegression
        By position of the question, in the order in which they are drawn.
    unconverged : tuple of int
        Questions of which some regression did not reach its tolerance; not saved.
    """

    design: Design
    terms: dict[int, Terms]
    responses: dict[int, tuple[int, ...]]
    relations: tuple[Relation, ...]
    sets: tuple[dict[int, Regression], ...]
    unconverged: tuple[int, ...] = ()

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        filled: Numbers,
        positions: list[int],
        barred: Bools,
        *,
        n_sets: int,
        rounds: int,
        max_questions: int,
        seed: int,
        first_rounds: int = 0,
        row_share: float = 1.0,
        row_weights: Numbers | None = None,
        interactions: bool = False,
        forced: tuple[tuple[int, ...], ...] = (),
        progress: StageProgress | None = None,
    ) -> ChainedRegressions:
        """Fit sets of regressions.

        Parameters
        ----------
        table : CodedTable
        filled : ndarray of float64, shape (n, d)
            The table with its missing cells drawn.
        positions : list of int
            The questions to regress.
        barred : ndarray of bool, shape (d, d)
            True at (question, predictor) if the question must not be regressed on that predictor.
        n_sets, rounds : int
            In every round each question is regressed and its missing cells are redrawn; the last
            of ``rounds`` rounds gives a set.
        max_questions : int
            Largest number of questions that a question is regressed on: those most associated.
        seed : int
        first_rounds : int
            Burn-in rounds before the first set.
        row_share : float
            Share of the answered rows that each regression is fitted to; the fewer, the more
            coefficients vary between sets.
        row_weights : ndarray of float64, shape (n,), optional
        interactions : bool
            Look for products and curves that the regressions need.
        forced : tuple of tuple of int
            Questions whose products are in every regression, found or not.
        progress : callable, optional
        """
        states = table.states
        positions = [p for p in positions if states.answered[:, p].sum() >= FEWEST_ANSWERS]
        design = Design.of(table, filled)
        matrix = design.matrix(filled, states.skipped)
        predictors = choose_predictors(design, matrix, positions, barred, max_questions)
        chain = Chain.start(
            table, design, filled, predictors, forced, barred, row_share, row_weights
        )
        sets: list[dict[int, Regression]] = []
        # In products this small, threads wait for each other longer than they compute.
        with worker_threads(1):
            if interactions:
                chain.find_relations(positions, barred, numpy_generator(seed, "interactions"))
                # Looking for relations takes as many rounds, at least.
                first_rounds = 0
            for number in range(1, n_sets + 1):
                generator = numpy_generator(seed, "regressions", number)
                order: list[int] = []
                n_rounds = rounds if sets else rounds + first_rounds
                for turn in range(n_rounds):
                    order = generator.permutation(positions).tolist()
                    # Complete columns may be missing in other tables; they are regressed only once.
                    last = turn == n_rounds - 1
                    chain.run([p for p in order if last or chain.incomplete[p]], generator)
                sets.append({p: chain.models[p] for p in order})
                if progress is not None:
                    progress(number, n_sets)
        relations = tuple(chain.factors.accepted)
        unconverged = tuple(sorted(chain.unconverged))
        return cls(design, chain.terms, chain.responses, relations, tuple(sets), unconverged)

    def redraw(
        self,
        filled: Numbers,
        missing: Bools,
        skipped: Bools,
        number: int,
        uniforms: list[Numbers],
    ) -> Numbers:
        """Redraw the missing cells of a completed table.

        A row's result depends only on the row and its uniforms.

        Parameters
        ----------
        filled : ndarray of float64, shape (n, d)
            With missing cells drawn.
        missing, skipped : ndarray of bool, shape (n, d)
        number : int
            Number of the draw, from 1; the sets take turns.
        uniforms : list of ndarray of float64, shape (n, d)
            One for every sweep over the questions.
        """
        models = self.sets[(number - 1) % len(self.sets)]
        filled = filled.copy()
        matrix = self.design.matrix(filled, skipped)
        drawn = {p: np.flatnonzero(missing[:, p]) for p in models}
        for noise in uniforms:
            for p, rows in drawn.items():
                if not rows.size:
                    continue
                filled[rows, p] = draw_question(
                    p,
                    models,
                    self.design,
                    self.terms,
                    self.responses,
                    matrix,
                    filled,
                    skipped,
                    rows,
                    noise[rows, p],
                )
                self.design.put(matrix, rows, p, filled[rows, p])
        return filled

    def expect(self, matrix: Numbers, p: int, variances: Numbers | None = None) -> Numbers:
        """Return the mean prediction of the sets for a question.

        Parameters
        ----------
        matrix : ndarray of float64, shape (n, P)
            Predictors; expected values where an answer is missing.
        p : int
            One of the regressed questions.
        variances : ndarray of float64, shape (n, P), optional
            Variances of the predictors; 0 where an answer is known.

        Returns
        -------
        ndarray of float64, shape (n,) or (n, n_levels)
            Expected numbers, or probabilities.
        """
        terms = self.terms[p]
        asked, unsure = terms.of(matrix), None
        if variances is not None:
            unsure = np.zeros_like(asked)
            unsure[:, : len(terms.places)] = variances[:, terms.places]
        return np.mean([models[p].expect(asked, unsure) for models in self.sets], axis=0)

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what :meth:`from_state` needs: arrays, and content for JSON."""
        return to_state(self.design, self.terms, self.responses, self.relations, self.sets)

    @classmethod
    def from_state(
        cls, arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]
    ) -> ChainedRegressions:
        """Rebuild regressions from :meth:`to_state`; InputError if the state is damaged."""
        return cls(*from_state(arrays, content))


def choose_predictors(
    design: Design, matrix: Numbers, positions: list[int], barred: Bools, max_questions: int
) -> dict[int, NDArray[np.int64]]:
    """Return, per question, the predictors of the questions that correlate most with it."""
    if not positions:
        return {}
    n_questions = len(design.weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.abs(np.nan_to_num(np.corrcoef(matrix, rowvar=False)))
    correlation = np.atleast_2d(correlation)
    starts = np.searchsorted(design.column_of, np.arange(n_questions))
    strength = np.maximum.reduceat(np.maximum.reduceat(correlation, starts, axis=0), starts, axis=1)
    chosen = {}
    for p in positions:
        ranked = np.argsort(-strength[p], kind="stable")
        questions = ranked[(ranked != p) & ~barred[p, ranked]][:max_questions]
        chosen[p] = np.flatnonzero(np.isin(design.column_of, questions))
    return chosen
