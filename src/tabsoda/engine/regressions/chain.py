"""Chained equations at work: regress question after question, and redraw its missing cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.regressions.compatible_draws import Regression, draw_question
from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.question_regression import (
    LevelRegression,
    fit_levels,
    fit_number,
)
from tabsoda.engine.regressions.relations import Factors, Relation, answer_places
from tabsoda.engine.regressions.screen import Screen
from tabsoda.engine.regressions.terms import Places, Terms, group_products
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Rounds before each screen for products, with the products that were found before.
_ROUNDS = (3, 1, 1, 1)
# Rows that a screen reads at most, and needs at least.
_SCREEN_ROWS = (100, 4000)
# Share of missing answers from which on it matters how a question in a product is drawn.
_INCOMPLETE = 0.05
# A question whose correlation with the answers is this many standard errors is related to them.
_RELATED = 3.0


@dataclass(eq=False)
class Chain:
    """A completed table, the terms of its regressions and the regressions fitted last.

    Attributes
    ----------
    table : CodedTable
    design : Design
    predictors : dict of int to ndarray of int64
        Per regressed question, the columns of the design it is regressed on.
    factors : Factors
    filled : ndarray of float64, shape (n, d)
        Present answers; those of missing cells change.
    matrix : ndarray of float64, shape (n, P)
        Their design.
    row_share : float
    row_weights : ndarray of float64, shape (n,), or None
    terms : dict of int to Terms
    responses : dict of int to tuple of int
    models : dict of int to NumberRegression or LevelRegression
    unconverged : set of int
        Questions of which some regression did not reach its tolerance.
    """

    table: CodedTable
    design: Design
    predictors: dict[int, Places]
    factors: Factors
    filled: Numbers
    matrix: Numbers
    row_share: float
    row_weights: Numbers | None
    terms: dict[int, Terms] = field(default_factory=dict)
    responses: dict[int, tuple[int, ...]] = field(default_factory=dict)
    models: dict[int, Regression] = field(default_factory=dict)
    unconverged: set[int] = field(default_factory=set)
    _given: dict[int, Terms] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        table: CodedTable,
        design: Design,
        filled: Numbers,
        predictors: dict[int, Places],
        forced: tuple[tuple[int, ...], ...],
        barred: Bools,
        row_share: float,
        row_weights: Numbers | None,
    ) -> Chain:
        """Start from a completed table; parameters as in ``ChainedRegressions.fit``."""
        matrix = design.matrix(filled, table.states.skipped)
        asked = ~table.states.skipped
        share = table.states.missing.sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
        incomplete = frozenset(np.flatnonzero(share >= _INCOMPLETE).tolist())
        factors = Factors(forced, incomplete, barred)
        chain = cls(
            table, design, predictors, factors, filled.copy(), matrix, row_share, row_weights
        )
        chain._set_terms()
        return chain

    @cached_property
    def incomplete(self) -> Bools:
        """Whether a question has missing cells, shape (d,)."""
        return np.any(self.table.states.missing, axis=0)

    def run(self, positions: list[int], generator: np.random.Generator) -> None:
        """Regress some questions in turn, and redraw their missing cells."""
        for p in positions:
            self.models[p] = self._fit(p, generator)
            if not getattr(self.models[p], "converged", True):
                self.unconverged.add(p)
            rows = self._missing_rows[p]
            if not rows.size:
                continue
            self.filled[rows, p] = draw_question(
                p,
                self.models,
                self.design,
                self.terms,
                self.responses,
                self.matrix,
                self.filled,
                self._skipped,
                rows,
                generator.random(rows.size),
            )
            self.design.put(self.matrix, rows, p, self.filled[rows, p])

    def find_relations(
        self, positions: list[int], barred: Bools, generator: np.random.Generator
    ) -> None:
        """Look for products that the regressions need, until nothing more is found.

        Parameters
        ----------
        positions : list of int
            The questions to regress.
        barred : ndarray of bool, shape (d, d)
            True at (question, predictor) if the question must not be regressed on that predictor.
        generator : numpy.random.Generator
        """
        incomplete, asked = self.incomplete, positions
        found: dict[int, list[Relation]] = {}
        for rounds in _ROUNDS:
            for _ in range(rounds):
                order = generator.permutation(positions).tolist()
                self.run([p for p in order if incomplete[p]], generator)
            found |= {p: self._screen(p, barred, generator) for p in asked}
            before = {p: set(of) for p, of in self.factors.drawn_by.items()}
            if not self.factors.update([one for own in found.values() for one in own]):
                break
            self._set_terms()
            # Other screens would see what they have seen: products are tested by known answers.
            drawn_by = self.factors.drawn_by
            asked = [p for p in positions if drawn_by.get(p, set()) != before.get(p, set())]

    def _set_terms(self) -> None:
        self.terms = self.factors.terms(self.predictors, self.design)
        self._given = self.factors.given_terms(self.predictors, self.design)
        self.responses = self.factors.responses(self.terms, self.design)
        # Regressions on other terms cannot be starting values.
        self.models = {}

    def _screen(self, p: int, barred: Bools, generator: np.random.Generator) -> list[Relation]:
        """Return the relations in which a question responds."""
        fewest, most = _SCREEN_ROWS
        rows = np.flatnonzero(self.table.states.answered[:, p])
        if rows.size < fewest:
            return []
        if rows.size > most:
            rows = np.sort(generator.choice(rows, most, replace=False))
        matrix, answers = self.matrix[rows], self.table.values[rows, p]
        given, column = self._given[p], self.table.columns[p]
        questions = np.unique(self.design.column_of[given.places]).tolist()
        blocks = {q: answer_places(self.design, q) for q in questions if not barred[p, q]}
        curved = {q for q in blocks if self.design.is_scale(q)}
        related = _related(matrix, answers, blocks, column)
        known = ~self.table.states.missing[np.ix_(rows, self.design.column_of)]
        # The regression of a question without missing cells matters only for what it is drawn by.
        required = None if self.incomplete[p] else self.factors.incomplete
        screen = Screen(column, answers, matrix, known, blocks, curved, related, required)
        found = [
            (one.questions, one.products, one.statistic) for one in screen.find(given.of(matrix))
        ]
        for group in self.factors.forced:
            if set(group) <= blocks.keys():
                products = group_products(blocks, group)
                statistic = screen.test(matrix[:, given.places], products)
                found += [(tuple(sorted(group)), products, statistic)] if statistic else []
        return [
            Relation(p, group, tuple(map(tuple, products.tolist())), statistic)
            for group, products, statistic in found
        ]

    def _fit(self, p: int, generator: np.random.Generator) -> Regression:
        rows = self._answered_rows[p]
        answers, terms = self.table.values[rows, p], self.terms[p]
        weights = None if self.row_weights is None else self.row_weights[rows]
        column, asked = self.table.columns[p], terms.of(self.matrix, rows)
        if not column.is_categorical:
            return fit_number(asked, answers, weights, generator, self.row_share)
        start = self.models.get(p)
        near = start if isinstance(start, LevelRegression) else None
        return fit_levels(column, asked, answers, weights, generator, near, self.row_share)

    @cached_property
    def _answered_rows(self) -> list[NDArray[np.intp]]:
        return [np.flatnonzero(own) for own in self.table.states.answered.T]

    @cached_property
    def _missing_rows(self) -> list[NDArray[np.intp]]:
        return [np.flatnonzero(own) for own in self.table.states.missing.T]

    @cached_property
    def _skipped(self) -> Bools:
        return self.table.states.skipped


def _related(
    matrix: Numbers, answers: Numbers, blocks: dict[int, Places], column: Column
) -> set[int]:
    """Return the questions that correlate clearly with the answers to a question."""
    targets = answers[:, None]
    if column.kind is ColumnKind.NOMINAL:
        targets = (targets == np.unique(answers)).astype(np.float64)
    targets = targets - targets.mean(axis=0)
    targets = targets / np.maximum(targets.std(axis=0), 1e-12)
    related = set()
    for q, places in blocks.items():
        own = matrix[:, places] - matrix[:, places].mean(axis=0)
        own = own / np.maximum(own.std(axis=0), 1e-12)
        if np.abs(own.T @ targets).max(initial=0.0) > _RELATED * np.sqrt(len(answers)):
            related.add(q)
    return related
