"""The design matrix: completed answers as predictors of a regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]

# Levels with fewer answers get no indicator of their own: their effect cannot be estimated.
_MOST_INDICATORS = 15
# Answers that differ by at most this share of their mean are equal up to rounding.
_ALIKE = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """Standardised predictors: the same for every table of the same questions.

    A nominal question becomes one indicator per level except the most frequent one; ordinals and
    numbers are one predictor each. A question with skips adds an indicator of the skip; its other
    predictors are 0, their mean, where it is skipped.

    Attributes
    ----------
    weights : tuple of ndarray of float64, shape (n_levels, width)
        Per question, the predictors of each level; shape (0, 1) for numbers.
    has_skips : ndarray of bool, shape (d,)
    column_of : ndarray of int64, shape (P,)
        The question each predictor comes from.
    middle, spread : ndarray of float64, shape (P,)

    Examples
    --------
    >>> from tabsoda.schema import Column
    >>> columns = (Column("a", ColumnKind.NOMINAL, (1, 2, 3)), Column("b", ColumnKind.ORDINAL,
    ...            (1, 2)))
    >>> values = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    >>> design = Design.of(CodedTable.from_values(columns, values), values)
    >>> design.column_of.tolist(), design.middle.tolist()
    ([0, 0, 1], [0.25, 0.25, 0.5])
    """

    weights: tuple[Numbers, ...]
    has_skips: NDArray[np.bool_]
    column_of: NDArray[np.int64]
    middle: Numbers
    spread: Numbers

    @classmethod
    def of(cls, table: CodedTable, filled: Numbers) -> Design:
        """Choose the predictors of a table whose missing cells are filled, shape (n, d)."""
        skipped = table.states.skipped
        weights = tuple(
            _weights(column.kind, column.n_levels, filled[~skipped[:, position], position])
            for position, column in enumerate(table.columns)
        )
        return cls.with_weights(weights, np.asarray(skipped.any(axis=0)), filled, skipped)

    @classmethod
    def with_weights(
        cls,
        weights: tuple[Numbers, ...],
        has_skips: NDArray[np.bool_],
        filled: Numbers,
        skipped: NDArray[np.bool_],
    ) -> Design:
        """Standardise with the means and spreads of a filled table."""
        widths = [one.shape[1] for one in weights]
        column_of = np.repeat(np.arange(len(weights)), np.add(widths, has_skips))
        plain = cls(
            weights, has_skips, column_of, np.zeros(column_of.size), np.ones(column_of.size)
        )
        middle, spread = np.zeros(column_of.size), np.ones(column_of.size)
        known = ~skipped & ~np.isnan(filled)
        for position in range(len(weights)):
            block = plain.block(position, filled[:, position], skipped[:, position])
            asked = block[known[:, position]]
            own = plain.places(position)
            if asked.shape[0]:
                middle[own], spread[own] = asked.mean(axis=0), asked.std(axis=0)
            if has_skips[position]:
                middle[own[-1]], spread[own[-1]] = block[:, -1].mean(), block[:, -1].std()
        # A constant predictor has no estimable slope, so it is ignored in tables where it varies.
        spread[spread <= _ALIKE * np.abs(middle)] = np.inf
        return cls(weights, has_skips, column_of, middle, spread)

    def is_scale(self, position: int) -> bool:
        """Whether a question is a number, or an ordinal of more than two levels."""
        levels, width = self.weights[position].shape
        return width == 1 and levels != 2

    def places(self, position: int) -> NDArray[np.intp]:
        """Return the positions of a question's predictors."""
        return np.flatnonzero(self.column_of == position)

    def matrix(self, filled: Numbers, skipped: NDArray[np.bool_]) -> Numbers:
        """Return all predictors, shape (n, P)."""
        blocks = [
            self.block(position, filled[:, position], skipped[:, position])
            for position in range(filled.shape[1])
        ]
        return np.concatenate(blocks, axis=1)

    def block(
        self, position: int, answers: Numbers, skipped: NDArray[np.bool_] | None = None
    ) -> Numbers:
        """Return one question's predictors.

        Parameters
        ----------
        position : int
        answers : ndarray of float64
            Levels or numbers, shape (n,), NaN where unknown; or probabilities of levels, shape
            (n, n_levels), which give expected predictors.
        skipped : ndarray of bool, shape (n,), optional
        """
        weights, own = self.weights[position], self.places(position)
        if not len(weights):
            shown = answers[:, None]
        elif answers.ndim == 2:
            shown = answers @ weights
        else:
            unknown = np.isnan(answers)
            shown = weights[np.where(unknown, 0, answers).astype(np.intp)]
            shown[unknown] = np.nan
        shown = (shown - self.middle[own[: shown.shape[1]]]) / self.spread[own[: shown.shape[1]]]
        shown[np.isnan(shown)] = 0.0
        if skipped is not None:
            shown = np.where(skipped[:, None], 0.0, shown)
        if self.has_skips[position]:
            routed = np.zeros(len(answers)) if skipped is None else skipped.astype(np.float64)
            indicator = (routed - self.middle[own[-1]]) / self.spread[own[-1]]
            shown = np.column_stack([shown, indicator])
        return shown

    def put(self, matrix: Numbers, rows: NDArray[np.intp], position: int, answers: Numbers) -> None:
        """Write a question's predictors into some rows of a matrix (n, P); as in :meth:`block`."""
        matrix[np.ix_(rows, self.places(position))] = self.block(position, answers)

    def put_variances(
        self, variances: Numbers, rows: NDArray[np.intp], position: int, probabilities: Numbers
    ) -> None:
        """Write the variances of a categorical question's predictors into some rows.

        Parameters
        ----------
        variances : ndarray of float64, shape (n, P)
            Changed in place.
        rows : ndarray of int, shape (n_rows,)
        position : int
        probabilities : ndarray of float64, shape (n_rows, n_levels)
            Probabilities of the question's levels.
        """
        weights = self.weights[position]
        own = self.places(position)[: weights.shape[1]]
        spread_out = probabilities @ weights**2 - (probabilities @ weights) ** 2
        variances[np.ix_(rows, own)] = np.maximum(spread_out, 0.0) / self.spread[own] ** 2


def _weights(kind: ColumnKind, n_levels: int, answers: Numbers) -> Numbers:
    if kind is ColumnKind.CONTINUOUS:
        return np.empty((0, 1))
    if kind is ColumnKind.ORDINAL:
        return np.arange(n_levels, dtype=np.float64)[:, None]
    counts = np.bincount(answers[~np.isnan(answers)].astype(np.intp), minlength=n_levels)
    frequent = np.argsort(-counts, kind="stable")[1 : _MOST_INDICATORS + 1]
    if not frequent.size:
        return np.zeros((n_levels, 1))
    # A question with one answer for all keeps one predictor, which is always 0.
    shown = np.sort(frequent[: max((counts[frequent] > 0).sum(), 1)])
    return np.asarray(np.arange(n_levels)[:, None] == shown[None, :], dtype=np.float64)
