"""The terms of a regression: predictors, and products of predictors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

# In a product, predictors are cut off at this many standard deviations, so that a few respondents
# do not determine a slope.
MOST_DEVIATIONS = 4.0


@dataclass(frozen=True, eq=False)
class Terms:
    """What a question is regressed on.

    Predictors are standardised. They are 0 where their question was skipped, and so are their
    products: the indicator of the skip takes the mean of these rows.

    Attributes
    ----------
    places : ndarray of int64, shape (p,)
        Columns of the design.
    products : ndarray of int64, shape (t, 3)
        Columns of the design that are multiplied; -1 in the third place of a product of two.

    Examples
    --------
    >>> terms = Terms(np.array([0, 1]), np.array([[0, 1, -1], [1, 1, -1]]))
    >>> terms.of(np.array([[2.0, 3.0]])).tolist()
    [[2.0, 3.0, 6.0, 9.0]]
    """

    places: Places
    products: Places

    @classmethod
    def plain(cls, places: Places) -> Terms:
        """Return terms without products."""
        return cls(places, np.empty((0, 3), dtype=np.int64))

    @property
    def size(self) -> int:
        """Number of terms."""
        return len(self.places) + len(self.products)

    def of(self, matrix: Numbers, rows: NDArray[np.intp] | None = None) -> Numbers:
        """Return the terms of some rows.

        Parameters
        ----------
        matrix : ndarray of float64, shape (N, P)
            All columns of the design.
        rows : ndarray of intp, shape (n,), optional
            All rows if None.

        Returns
        -------
        ndarray of float64, shape (n, size)
        """
        plain = columns_of(matrix, self.places, rows)
        if not len(self.products):
            return plain
        return np.concatenate([plain, multiply(matrix, self.products, rows)], axis=1)

    def involving(self, places: Places) -> NDArray[np.bool_]:
        """Return whether each term contains one of some columns, shape (size,)."""
        of_products = np.isin(self.products, places).any(axis=1)
        return np.concatenate([np.isin(self.places, places), of_products])

    def part(self, kept: NDArray[np.bool_]) -> tuple[Places, Terms]:
        """Return the columns that some terms need, and these terms of a matrix with them alone.

        Parameters
        ----------
        kept : ndarray of bool, shape (size,)

        Examples
        --------
        >>> terms = Terms(np.array([3, 5]), np.array([[3, 5, -1]]))
        >>> used, part = terms.part(np.array([False, True, True]))
        >>> used.tolist(), part.places.tolist(), part.products.tolist()
        ([3, 5], [1], [[0, 1, -1]])
        """
        places = self.places[kept[: len(self.places)]]
        products = self.products[kept[len(self.places) :]]
        used = np.unique(np.concatenate([places, products[products >= 0]]))
        renumbered = np.where(products >= 0, np.searchsorted(used, products), -1)
        return used, Terms(np.searchsorted(used, places), renumbered)


def multiply(matrix: Numbers, products: Places, rows: NDArray[np.intp] | None = None) -> Numbers:
    """Return products of the columns of some rows of a matrix (N, P), shape (n, t)."""
    used = np.unique(products[products >= 0])
    bounded = np.clip(columns_of(matrix, used, rows), -MOST_DEVIATIONS, MOST_DEVIATIONS)
    first, second, third = np.searchsorted(used, products).T
    found = bounded[:, first] * bounded[:, second]
    of_three = products[:, 2] >= 0
    found[:, of_three] *= bounded[:, third[of_three]]
    return found


def columns_of(matrix: Numbers, places: Places, rows: NDArray[np.intp] | None) -> Numbers:
    """Return some columns of some rows of a matrix; of all rows if None."""
    if rows is None:
        return matrix[:, places]
    # Twice as fast as an index per axis.
    return matrix.ravel().take(rows[:, None] * matrix.shape[1] + places)


def group_products(blocks: Mapping[int, Places], questions: tuple[int, ...]) -> Places:
    """Return all products of one column of each question; of three questions, of each two as well.

    A curve is a square and a cube: a square alone turns down again beyond its peak, where few may
    have answered.

    Parameters
    ----------
    blocks : mapping of int to ndarray of int64
        The columns of every question.
    questions : tuple of int
        Two or three; the same one twice is a curve.

    Returns
    -------
    ndarray of int64, shape (t, 3)

    Examples
    --------
    >>> blocks = {0: np.array([0, 1]), 1: np.array([2])}
    >>> group_products(blocks, (0, 1)).tolist()
    [[0, 2, -1], [1, 2, -1]]
    >>> group_products(blocks, (1, 1)).tolist()
    [[2, 2, -1], [2, 2, 2]]
    """
    groups = [questions]
    if len(questions) == 2 and len(set(questions)) == 1:
        groups += [(*questions, questions[0])]
    if len(questions) == 3:
        groups += [questions[:2], questions[1:], (questions[0], questions[2])]
    rows = set()
    for group in groups:
        for places in product(*(blocks[q].tolist() for q in group)):
            rows.add((*sorted(places), *(-1,) * (3 - len(places))))
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
