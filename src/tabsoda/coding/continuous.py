"""Continuous answers as coordinates: standardised, or as normal scores of their ranks.

Input: numbers, NaN where there is none. Output: coordinates of about unit variance, and back.

``standard`` is the paper's (x - mean) / sd over the visible cells; a decoded value may lie outside
the observed range. ``normal_score`` is for heavy tails: a value becomes the normal quantile of
its mid-rank, and is decoded by interpolation between observed values, so it stays in their range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri

Values = NDArray[np.float64]
# Maximum number of stored distinct values per column, evenly spaced in rank.
MAX_KNOTS = 4096
# Answers are clipped at this many standard deviations. Among n fitted answers none can exceed
# sqrt(n), so this only affects extreme new answers, which would overflow the network.
MAX_DEVIATION = 1e4


@dataclass(frozen=True, eq=False)
class ContinuousCoder:
    """Encoder and decoder of all continuous columns of a table.

    Attributes
    ----------
    option : str
        ``"standard"`` or ``"normal_score"``.
    mean, scale : ndarray of float64, shape (n_continuous,)
        Of the visible answers; used by ``standard``.
    whole : ndarray of bool, shape (n_continuous,)
        Columns with whole numbers only; decoding rounds them.
    knots, scores : ndarray of float64, shape (n_continuous, max_knots)
        Observed values and their normal scores, increasing, +inf in the padding; used by
        ``normal_score``, of width 0 otherwise.

    Examples
    --------
    >>> income = np.array([[10.0], [20.0], [4000.0]])
    >>> coder = ContinuousCoder.fit(income, np.ones_like(income, dtype=bool), "normal_score")
    >>> coder.encode(income).round(2).ravel().tolist()
    [-0.97, 0.0, 0.97]
    >>> coder.decode(np.array([[-0.5], [9.0]])).ravel().tolist()
    [15.0, 4000.0]
    """

    option: str
    mean: Values
    scale: Values
    whole: NDArray[np.bool_]
    knots: Values
    scores: Values

    @classmethod
    def fit(
        cls, values: Values, visible: NDArray[np.bool_], option: str = "standard"
    ) -> ContinuousCoder:
        """Fit to the visible cells, at least two distinct values per column.

        Parameters
        ----------
        values : ndarray of float64, shape (n, n_continuous)
        visible : ndarray of bool, shape (n, n_continuous)
        option : str
        """
        columns = [values[seen, j] for j, seen in enumerate(visible.T)]
        moments = np.array([_moments(column) for column in columns]).reshape(-1, 2)
        tables = [_normal_scores(column) for column in columns] if option != "standard" else []
        return cls(
            option,
            moments[:, 0],
            moments[:, 1],
            np.array([bool((column == np.rint(column)).all()) for column in columns], dtype=bool),
            _padded([knots for knots, _ in tables], len(columns)),
            _padded([scores for _, scores in tables], len(columns)),
        )

    def encode(self, values: Values) -> Values:
        """Return coordinates, shape (n, n_continuous); NaN stays NaN."""
        if self.option == "standard":
            with np.errstate(over="ignore"):
                deviation = (values - self.mean) / self.scale
            return np.clip(deviation, -MAX_DEVIATION, MAX_DEVIATION)
        return _interpolate(values, self.knots, self.scores)

    def clipped(self, values: Values) -> NDArray[np.bool_]:
        """Return which values :meth:`encode` clips, shape (n, n_continuous); False for NaN."""
        if self.option == "standard":
            with np.errstate(over="ignore"):
                return np.abs((values - self.mean) / self.scale) > MAX_DEVIATION
        if not self.knots.size:
            return np.zeros(values.shape, dtype=bool)
        lowest = self.knots[:, 0]
        highest = np.where(np.isfinite(self.knots), self.knots, -np.inf).max(axis=1)
        return (values < lowest) | (values > highest)

    def decode(self, encoded: Values, whole_numbers: bool = True) -> Values:
        """Return values; whole-number columns are rounded unless ``whole_numbers`` is False."""
        if self.option == "standard":
            values = encoded * self.scale + self.mean
        else:
            values = _interpolate(encoded, self.scores, self.knots)
        if whole_numbers:
            # Adding 0.0 turns the -0.0 that rounding can leave into 0.0.
            values = np.where(self.whole, np.rint(values) + 0.0, values)
        return values


def _moments(answers: Values) -> tuple[float, float]:
    """Return mean and standard deviation, without overflow for huge answers."""
    unit = float(np.abs(answers).max())
    spread = float((answers / unit).std()) * unit
    return float((answers / unit).mean()) * unit, spread if spread > 0 else 1.0


def _normal_scores(answers: Values) -> tuple[Values, Values]:
    """Return distinct answers and the normal quantiles of their mid-ranks."""
    distinct, counts = np.unique(answers, return_counts=True)
    middle = (np.cumsum(counts) - 0.5 * counts) / answers.size
    if distinct.size > MAX_KNOTS:
        kept = np.linspace(0, distinct.size - 1, MAX_KNOTS).round().astype(np.int64)
        distinct, middle = distinct[kept], middle[kept]
    return distinct, ndtri(middle)


def _padded(rows: list[Values], n_rows: int) -> Values:
    width = max((row.size for row in rows), default=0)
    table = np.full((n_rows, width), np.inf)
    for position, row in enumerate(rows):
        table[position, : row.size] = row
    return table


def _interpolate(points: Values, grid: Values, heights: Values) -> Values:
    """Interpolate linearly, all columns at once; constant beyond the ends of the grid."""
    x = torch.as_tensor(np.ascontiguousarray(points.T))
    knots, targets = torch.as_tensor(grid), torch.as_tensor(heights)
    last = torch.isfinite(knots).sum(1, keepdim=True) - 1
    right = torch.minimum(torch.searchsorted(knots, x).clamp(min=1), last)
    left_x, right_x = knots.gather(1, right - 1), knots.gather(1, right)
    share = ((x - left_x) / (right_x - left_x)).clamp(0.0, 1.0)
    found = torch.lerp(targets.gather(1, right - 1), targets.gather(1, right), share)
    return found.T.contiguous().numpy()
