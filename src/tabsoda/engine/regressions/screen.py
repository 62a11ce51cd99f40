"""Which products of predictors a question's regression needs, at a controlled error rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from tabsoda.engine.regressions.score_tests import (
    Scores,
    fit_scores,
    product_statistics,
    score_statistics,
)
from tabsoda.engine.regressions.terms import (
    MOST_DEVIATIONS,
    Numbers,
    Places,
    group_products,
    multiply,
)
from tabsoda.schema.column import Column

# Expected share of false discoveries among the products of a question (Benjamini and Hochberg).
_FALSE_SHARE = 0.02
# So many products, the largest by an approximate statistic, are tested exactly.
_TESTED = 10
_MOST_GROUPS = 5
# Groups of questions with more products than this get only the product that was found.
_MOST_PRODUCTS = 12
# Weight of a product by how many of its questions are themselves related to the answer (weighted
# false-discovery control, Genovese et al. 2006): interactions without main effects are rare.
_WEIGHTS = np.array([0.25, 1.0, 4.0, 4.0])

# Returns the most promising products, given scores and the pairs found, and the number of tests.
Candidates = Callable[[Scores, "list[Found]"], tuple[Places, int]]


@dataclass(frozen=True, eq=False)
class Found:
    """Products of some questions that a regression needs.

    Attributes
    ----------
    questions : tuple of int
        Positions, in order; the same twice is a curve.
    products : ndarray of int64, shape (t, 3)
        As in :class:`~tabsoda.engine.regressions.terms.Terms`.
    statistic : float
        The largest score statistic among them.
    """

    questions: tuple[int, ...]
    products: Places
    statistic: float


@dataclass(frozen=True, eq=False)
class Screen:
    """Adds products to one question's regression, the most significant first.

    Attributes
    ----------
    column : Column
        The question.
    answers : ndarray of float64, shape (n,)
    matrix : ndarray of float64, shape (n, P)
        The design of those who answered, missing predictors drawn.
    known : ndarray of bool, shape (n, P)
        Whether a predictor was not drawn. Products are tested by the rows in which both are known:
        draws from regressions without the product would hide it.
    blocks : dict of int to ndarray of int64
        The columns of every question that may enter a product.
    curved : set of int
        Questions that may be multiplied by themselves.
    related : set of int
        Questions that are themselves related to the answers.
    required : frozenset of int, optional
        Questions of which a product must contain one; any if None.
    """

    column: Column
    answers: Numbers
    matrix: Numbers
    known: NDArray[np.bool_]
    blocks: dict[int, Places]
    curved: set[int]
    related: set[int]
    required: frozenset[int] | None = None

    def find(self, predictors: Numbers) -> list[Found]:
        """Return what is found: products of two, then of three that contain one of these.

        Parameters
        ----------
        predictors : ndarray of float64, shape (n, p)
            Of the regression before any product is added.
        """
        if not self.blocks or not self._allowed[0].size:
            return []
        pairs = self._add(predictors, [], self._pairs)
        if not pairs:
            return []
        added = [multiply(self.matrix, one.products) for one in pairs]
        return pairs + self._add(np.column_stack([predictors, *added]), pairs, self._triples)

    def test(self, predictors: Numbers, products: Places) -> float:
        """Return the largest score statistic of some products; 0 if none is significant alone."""
        scores = fit_scores(self.column, predictors, self.answers)
        columns, known = multiply(self.matrix, products), self._known(products)
        largest = float(score_statistics(scores, predictors, columns, known).max(initial=0.0))
        n_tests = len(products) * max(scores.residuals.shape[1], 1)
        return largest if chi2.sf(largest, 1) * n_tests <= _FALSE_SHARE else 0.0

    def _add(self, predictors: Numbers, pairs: list[Found], candidates: Candidates) -> list[Found]:
        """Add groups one at a time until no product is significant."""
        found: list[Found] = []
        while len(found) < _MOST_GROUPS:
            scores = fit_scores(self.column, predictors, self.answers)
            products, n_tests = candidates(scores, pairs)
            if not len(products):
                break
            columns, known = multiply(self.matrix, products), self._known(products)
            statistics = score_statistics(scores, predictors, columns, known).max(axis=1)
            values = chi2.sf(statistics, 1) / self._weights(products)
            best = int(np.argmin(values))
            if values[best] * n_tests > _FALSE_SHARE * (len(found) + 1):
                break
            group = self._questions(products[best])
            added = self._group(group, products[best])
            found.append(Found(group, added, float(statistics[best])))
            predictors = np.column_stack([predictors, multiply(self.matrix, added)])
        return found

    @cached_property
    def _places(self) -> Places:
        return np.concatenate([self.blocks[q] for q in sorted(self.blocks)])

    @cached_property
    def _question_of(self) -> dict[int, int]:
        return {int(place): q for q, own in self.blocks.items() for place in own}

    @cached_property
    def _bounded(self) -> Numbers:
        bounded = np.clip(self.matrix[:, self._places], -MOST_DEVIATIONS, MOST_DEVIATIONS)
        return np.where(self.known[:, self._places], bounded, 0.0)

    def _known(self, products: Places) -> NDArray[np.bool_]:
        """Return whether a product was not drawn, shape (n, t)."""
        found = self.known[:, products[:, 0]] & self.known[:, products[:, 1]]
        of_three = products[:, 2] >= 0
        found[:, of_three] &= self.known[:, products[of_three, 2]]
        return found

    @cached_property
    def _allowed(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the pairs of columns that may be multiplied, as indices into ``_places``."""
        questions = np.array([self._question_of[int(p)] for p in self._places])
        first, second = np.triu_indices(questions.size)
        same = questions[first] == questions[second]
        square = (first == second) & np.isin(questions[first], sorted(self.curved))
        allowed = ~same | square
        if self.required is not None:
            needed = np.isin(questions, sorted(self.required))
            allowed &= needed[first] | needed[second]
        return first[allowed], second[allowed]

    def _pairs(self, scores: Scores, pairs: list[Found]) -> tuple[Places, int]:
        """Return the most promising products of two, and how many tests there are in all."""
        first, second = self._allowed
        quick = product_statistics(scores, self._bounded, self._bounded)[first, second]
        best = np.argsort(-quick, kind="stable")[:_TESTED]
        products = np.column_stack(
            [self._places[first[best]], self._places[second[best]], np.full(best.size, -1)]
        )
        return products, first.size * scores.residuals.shape[1]

    def _triples(self, scores: Scores, pairs: list[Found]) -> tuple[Places, int]:
        """Return the most promising products of a found pair and a third column."""
        of_two = np.concatenate([one.products for one in pairs])
        left = np.where(self._known(of_two), multiply(self.matrix, of_two), 0.0)
        quick = product_statistics(scores, left, self._bounded)
        strength: dict[tuple[int, ...], float] = {}
        for row, pair in enumerate(of_two[:, :2].tolist()):
            for column, place in enumerate(self._places.tolist()):
                questions = [self._question_of[p] for p in (*pair, place)]
                if any(questions.count(q) > 1 and q not in self.curved for q in questions):
                    continue
                key = tuple(sorted((*pair, place)))
                strength[key] = max(strength.get(key, 0.0), float(quick[row, column]))
        best = sorted(strength, key=lambda one: (-strength[one], one))[:_TESTED]
        products = np.array(best, dtype=np.int64).reshape(-1, 3)
        return products, len(strength) * scores.residuals.shape[1]

    def _weights(self, products: Places) -> Numbers:
        """Return the weights of products; their mean over all products of two is 1."""
        first, second = self._allowed
        known = np.array([self._question_of[int(p)] in self.related for p in self._places])
        curve = first == second
        every = _WEIGHTS[known[first].astype(int) + known[second].astype(int)]
        # Curves have as much weight together as products of two questions.
        both = 0 < curve.sum() < curve.size
        of_curves = every[~curve].sum() / every[curve].sum() if both else 1.0
        mean = (every * np.where(curve, of_curves, 1.0)).mean()
        found = []
        for product in products:
            questions = self._questions(product)
            weight = _WEIGHTS[sum(q in self.related for q in questions)] / mean
            found.append(weight * of_curves if len(set(questions)) == 1 else weight)
        return np.array(found)

    def _questions(self, product: Places) -> tuple[int, ...]:
        return tuple(sorted(self._question_of[int(place)] for place in product if place >= 0))

    def _group(self, questions: tuple[int, ...], found: Places) -> Places:
        """Return all products of some questions if they are few; otherwise the one found."""
        every = group_products(self.blocks, questions)
        return every if len(every) <= _MOST_PRODUCTS else found[None, :]
