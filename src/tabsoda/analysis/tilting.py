"""Categorical answers whose odds are changed: other levels for some of the drawn ones.

A result holds the drawn levels of each cell, not the probabilities behind them. For each draw they
are estimated from the other draws of the cell, shrunken towards the shares over all cells of the
question (Dirichlet-multinomial, whose concentration comes from how often two draws of a cell
agree). They are multiplied by ``exp(delta * score)``; a drawn level is kept as often as its new
probability allows and otherwise replaced by one that gained (a maximal coupling). At a delta of 0
no answer changes, and an answer that changes at some delta stays changed at larger ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]
# Points of the distribution of a cell's probabilities, over which tilted ones are averaged. With
# many patterns there are fewer, to limit memory; the average over cells remains precise.
_FEWEST_POINTS, _MOST_POINTS = 8, 200
_MOST_NUMBERS = 5e6
# Draws of a cell agree about as often by chance, or nearly always, beyond these limits.
_LEAST_AGREEMENT, _MOST_AGREEMENT = 1e-3, 0.999


@dataclass(frozen=True, eq=False)
class LevelProbabilities:
    """What is known about the level probabilities of the imputed cells of one question.

    Attributes
    ----------
    points : ndarray of float64, shape (n_points, n_patterns, n_levels)
        Equally likely probabilities, for each pattern of drawn levels.
    pattern : ndarray of int64, shape (n_draws, n_cells)
    """

    points: Array
    pattern: Places

    @classmethod
    def of_draws(
        cls, drawn: Array, n_levels: int, generator: np.random.Generator
    ) -> LevelProbabilities:
        """Estimate the probabilities behind each draw from the other draws of the cell.

        Parameters
        ----------
        drawn : ndarray of float64, shape (n_draws, n_cells)
            Levels, NaN without an answer.
        n_levels : int
        generator : numpy.random.Generator
        """
        counts = level_counts(drawn, n_levels)
        prior = concentration(counts) * counts.sum(axis=0) / max(counts.sum(), 1)
        # By cell and drawn level: how often each level was drawn in the other draws.
        cell, level = np.nonzero(counts)
        others = counts[cell] - np.eye(n_levels)[level]
        patterns, pattern = np.unique(others, axis=0, return_inverse=True)
        # A level that was never drawn for any cell stays impossible.
        shape = np.where(prior > 0, patterns + prior, 0.0)
        n_points = int(np.clip(_MOST_NUMBERS / shape.size, _FEWEST_POINTS, _MOST_POINTS))
        gammas = generator.standard_gamma(np.broadcast_to(shape, (n_points, *shape.shape)))
        points = gammas / np.maximum(gammas.sum(axis=2, keepdims=True), 1e-300)
        by_level = np.zeros(counts.shape, dtype=np.int64)
        by_level[cell, level] = np.asarray(pattern).reshape(-1)
        return cls(points, by_level[np.arange(drawn.shape[1]), _whole(drawn)])

    @classmethod
    def as_drawn(cls, drawn: Array, n_levels: int) -> LevelProbabilities:
        """Take the shares among the draws of each cell; levels not drawn for it are impossible."""
        patterns, pattern = np.unique(level_counts(drawn, n_levels), axis=0, return_inverse=True)
        shares = patterns / np.maximum(patterns.sum(axis=1, keepdims=True), 1)
        return cls(shares[None], np.broadcast_to(np.asarray(pattern).reshape(-1), drawn.shape))

    def tilted(self, scores: Array, delta: float) -> tuple[Array, Array]:
        """Return probabilities before and after, shape (n_patterns, n_levels)."""
        after = self.points * np.exp(delta * (scores - scores.max() * (delta > 0)))
        after = after / np.maximum(after.sum(axis=2, keepdims=True), 1e-300)
        return self.points.mean(axis=0), after.mean(axis=0)

    def replaced(
        self, drawn: Array, scores: Array, delta: float, keep: Array, choose: Array
    ) -> Array:
        """Replace drawn levels so that their odds change.

        Parameters
        ----------
        drawn : ndarray of float64, shape (n_draws, n_cells)
            Levels, NaN without an answer.
        scores : ndarray of float64, shape (n_levels,)
            The odds of a level change by ``exp(delta * score)``.
        delta : float
        keep, choose : ndarray of float64, shape (n_draws, n_cells)
            Random numbers between 0 and 1.

        Examples
        --------
        >>> drawn = np.array([[0.0], [0.0], [0.0], [1.0]])
        >>> known = LevelProbabilities.as_drawn(drawn, 2)
        >>> keep, choose = np.array([[0.4], [0.6], [0.8], [0.9]]), np.full((4, 1), 0.5)
        >>> known.replaced(drawn, np.array([0.0, 1.0]), np.log(3), keep, choose).ravel().tolist()
        [0.0, 0.0, 1.0, 1.0]
        """
        before, after = self.tilted(scores, delta)
        level = _whole(drawn)
        kept = after / np.maximum(before, 1e-300)
        gained = np.maximum(after - before, 0.0)
        room = gained.sum(axis=1, keepdims=True)
        reached = np.cumsum(gained / np.where(room > 0, room, 1.0), axis=1)
        passed = (reached[self.pattern] < choose[:, :, None]).sum(axis=2)
        moves = (keep > kept[self.pattern, level]) & (room[self.pattern, 0] > 0)
        chosen = np.minimum(passed, before.shape[1] - 1)
        return np.where(moves & ~np.isnan(drawn), chosen, drawn)


def _whole(drawn: Array) -> Places:
    """Return levels as positions; 0 without an answer."""
    return np.where(np.isnan(drawn), 0, drawn).astype(np.int64)


def level_counts(drawn: Array, n_levels: int) -> Array:
    """Count how often each level was drawn for each cell, shape (n_cells, n_levels)."""
    return np.asarray((drawn[:, :, None] == np.arange(n_levels)).sum(axis=0), dtype=np.float64)


def concentration(counts: Array) -> float:
    """Estimate the concentration of the cells' probabilities around their overall shares.

    Two draws of a cell agree with probability ``sum(p**2) + rho * (1 - sum(p**2))``, where ``p``
    are the overall shares and the concentration is ``1 / rho - 1``.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_cells, n_levels)

    Examples
    --------
    >>> round(concentration(np.array([[5.0, 0], [0, 5], [5, 0], [0, 5]])), 4)
    0.001
    """
    total = counts.sum(axis=1)
    pairs = float((total * (total - 1)).sum())
    shares = counts.sum(axis=0) / max(counts.sum(), 1)
    chance = float((shares**2).sum())
    if pairs == 0 or chance >= 1:
        return 1.0
    agreement = float((counts * (counts - 1)).sum()) / pairs
    rho = np.clip((agreement - chance) / (1 - chance), _LEAST_AGREEMENT, _MOST_AGREEMENT)
    return float(1 / rho - 1)
