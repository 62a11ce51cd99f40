"""Numbers as bins of their ranks, so that a network can predict the distribution of a number.

Input: the visible answers of continuous columns. Output: bins that are robust to heavy tails, zeros
and counts, and values to draw from each bin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

# Maximum number of bins per column; few distinct answers get one bin each.
MAX_BINS = 20
# Observed answers stored per bin: a draw is one of them, which preserves heaping and rounding.
POOL_SIZE = 16


@dataclass(frozen=True, eq=False)
class NumberBins:
    """Bins of all continuous columns of a table.

    Attributes
    ----------
    edges : ndarray of float64, shape (n_numbers, MAX_BINS - 1)
        A value belongs to the bin after all edges below it; +inf in the padding.
    counts : ndarray of int64, shape (n_numbers,)
        Number of bins of each column.
    mean, scale : ndarray of float64, shape (n_numbers,)
        Of the visible answers.
    bin_means : ndarray of float64, shape (n_numbers, MAX_BINS)
        Mean of each bin's visible answers, standardised by mean and scale.
    pool : ndarray of float64, shape (n_numbers, MAX_BINS, POOL_SIZE)
        Observed answers of each bin, evenly spaced in rank.
    lowest, highest : ndarray of float64, shape (n_numbers,)

    Examples
    --------
    >>> hours = np.array([[0.0], [0.0], [0.0], [40.0]])
    >>> bins = NumberBins.fit(hours, np.ones_like(hours, dtype=bool))
    >>> bins.counts.tolist(), bins.place(hours).ravel().tolist()
    ([2], [0, 0, 0, 1])
    """

    edges: Values
    counts: NDArray[np.int64]
    mean: Values
    scale: Values
    bin_means: Values
    pool: Values
    lowest: Values
    highest: Values

    @classmethod
    def fit(cls, values: Values, visible: NDArray[np.bool_]) -> NumberBins:
        """Bin the visible cells of each column, at least two distinct values per column.

        Parameters
        ----------
        values : ndarray of float64, shape (n, n_numbers)
        visible : ndarray of bool, shape (n, n_numbers)
        """
        n_numbers = values.shape[1]
        edges = np.full((n_numbers, MAX_BINS - 1), np.inf)
        means = np.zeros((n_numbers, MAX_BINS))
        pool = np.zeros((n_numbers, MAX_BINS, POOL_SIZE))
        moments = np.zeros((4, n_numbers))
        counts = np.ones(n_numbers, dtype=np.int64)
        for column in range(n_numbers):
            answers = np.sort(values[visible[:, column], column])
            moments[:, column] = answers.mean(), answers.std(), answers[0], answers[-1]
            found = _edges(answers)
            edges[column, : found.size] = found
            counts[column] = found.size + 1
            for place, members in enumerate(np.split(answers, np.searchsorted(answers, found))):
                means[column, place] = members.mean()
                spread = np.linspace(0, members.size - 1, POOL_SIZE).round().astype(np.int64)
                pool[column, place] = members[spread]
        mean, scale = moments[0], np.where(moments[1] > 0, moments[1], 1.0)
        standardized = (means - mean[:, None]) / scale[:, None]
        used = np.arange(MAX_BINS) < counts[:, None]
        bin_means = np.where(used, standardized, 0.0)
        return cls(edges, counts, mean, scale, bin_means, pool, moments[2], moments[3])

    def place(self, values: Values) -> NDArray[np.int64]:
        """Return the bin of each value, shape (n, n_numbers); NaN goes to the last."""
        placed = np.empty(values.shape, dtype=np.int64)
        for column, edges in enumerate(self.edges):
            known = edges[: self.counts[column] - 1]
            placed[:, column] = np.searchsorted(known, values[:, column], side="right")
        return placed

    def standardize(self, values: Values) -> Values:
        """Return values in standard deviations from the mean, clipped at ten."""
        return np.clip((values - self.mean) / self.scale, -10.0, 10.0)

    def restore(self, standardized: Values, whole: NDArray[np.bool_]) -> Values:
        """Invert :meth:`standardize`, within the observed range; round where ``whole``."""
        values = np.clip(standardized * self.scale + self.mean, self.lowest, self.highest)
        return np.where(whole, np.rint(values) + 0.0, values)

    def medians(self, column: int, probabilities: Values) -> Values:
        """Return the median of each distribution over a column's bins, an observed answer.

        Parameters
        ----------
        column : int
        probabilities : ndarray of float64, shape (n, counts[column])
            Each row sums to 1.

        Returns
        -------
        ndarray of float64, shape (n,)

        Examples
        --------
        >>> hours = np.array([[0.0], [0.0], [8.0], [40.0]])
        >>> bins = NumberBins.fit(hours, np.ones_like(hours, dtype=bool))
        >>> bins.medians(0, np.array([[0.5, 0.3, 0.2], [0.4, 0.0, 0.6]])).tolist()
        [0.0, 40.0]
        """
        cumulated = probabilities.cumsum(axis=1)
        # The first bin at which the cumulative probability reaches a half, up to rounding.
        middle = (cumulated[:, :-1] < 0.5 - 1e-9).sum(axis=1)
        own = np.take_along_axis(probabilities, middle[:, None], axis=1)[:, 0]
        before = np.take_along_axis(cumulated, middle[:, None], axis=1)[:, 0] - own
        share = (0.5 - before) / np.maximum(own, 1e-12)
        # In a bin of probability 1 the median falls between two answers; avoid rounding effects.
        place = np.clip((share * POOL_SIZE + 1e-6).astype(np.int64), 0, POOL_SIZE - 1)
        return self.pool[column, middle, place]

    def draw(
        self, columns: int | NDArray[np.int64], bins: NDArray[np.int64], uniforms: Values
    ) -> Values:
        """Draw one of the observed answers of each given bin, of one column or one per column."""
        choice = np.minimum((uniforms * POOL_SIZE).astype(np.int64), POOL_SIZE - 1)
        return self.pool[columns, bins, choice]


def _edges(answers: Values) -> Values:
    """Return the first value of every bin but the first, increasing."""
    distinct = np.unique(answers)
    if distinct.size <= MAX_BINS:
        return distinct[1:]
    ranks = np.arange(1, MAX_BINS) * answers.size // MAX_BINS
    edges = np.unique(answers[ranks])
    return edges[edges > answers[0]]
