"""Replicate weights: the variance of an estimate from its variation over replicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReplicateWeights:
    """Weights of the whole sample and of its replicates; scales as in R's survey package.

    The variance is ``scale * sum(replicate_scales * (estimate_r - centre)**2)``.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_rows,)
    replicates : ndarray of float64, shape (n_rows, n_replicates)
        Complete weights, not factors of the weights.
    scale : float
    replicate_scales : ndarray of float64, shape (n_replicates,)
        ``rscales`` in R.
    around_estimate : bool
        Whether deviations are from the estimate of the whole sample (``mse = TRUE`` in R) or
        from the mean of the replicates.

    Examples
    --------
    >>> weights = np.ones(4)
    >>> half = np.array([[2, 0], [0, 2], [2, 0], [0, 2]], dtype=float)
    >>> brr = ReplicateWeights.brr(weights, half)
    >>> answers = np.array([1.0, 2.0, 3.0, 6.0])
    >>> estimate, covariance = brr.estimate(lambda w: np.average(answers, weights=w))
    >>> estimate.tolist(), covariance.tolist()
    ([3.0], [[1.0]])
    """

    weights: Array
    replicates: Array
    scale: float
    replicate_scales: Array
    around_estimate: bool = False

    def __post_init__(self) -> None:
        rows = self.weights.shape[0]
        if self.replicates.ndim != 2 or self.replicates.shape[0] != rows:
            raise InputError(
                "The replicate weights do not match the weights",
                found=f"replicates {self.replicates.shape}, weights {self.weights.shape}",
                expected=f"{rows} rows and one column per replicate",
            )
        if self.replicate_scales.shape != (self.replicates.shape[1],):
            raise InputError(
                "The scales do not match the replicate weights",
                found=f"{self.replicate_scales.size} scales",
                expected=f"{self.replicates.shape[1]}, one per replicate",
            )
        for array in (self.weights, self.replicates):
            check_weights(array)

    @classmethod
    def brr(
        cls, weights: Any, replicates: Any, *, around_estimate: bool = False
    ) -> ReplicateWeights:
        """Balanced repeated replication: half of the sample at a time."""
        return cls.fay(weights, replicates, 0.0, around_estimate=around_estimate)

    @classmethod
    def fay(
        cls, weights: Any, replicates: Any, rho: float, *, around_estimate: bool = False
    ) -> ReplicateWeights:
        """Fay's method: one half counts ``2 - rho`` times, the other ``rho`` times."""
        if not 0 <= rho < 1:
            raise InputError(
                "Fay's factor is invalid", found=str(rho), expected="0 or more, less than 1"
            )
        matrix = as_matrix(replicates)
        n = matrix.shape[1]
        scale = 1 / (n * (1 - rho) ** 2)
        return cls(as_vector(weights), matrix, scale, np.ones(n), around_estimate)

    @classmethod
    def jackknife(
        cls,
        weights: Any,
        replicates: Any,
        *,
        scale: float | None = None,
        replicate_scales: Sequence[float] | None = None,
        around_estimate: bool = False,
    ) -> ReplicateWeights:
        """One group left out at a time.

        Parameters
        ----------
        weights, replicates : array, frame
        scale : float, optional
            By default (R - 1) / R without ``replicate_scales`` (JK1), otherwise 1.
        replicate_scales : sequence of float, optional
            (n - 1) / n of the stratum in which each replicate left out a group (JKn); all 1 for
            JK2, whose ``scale`` is also 1.
        around_estimate : bool
        """
        matrix = as_matrix(replicates)
        n = matrix.shape[1]
        if scale is None:
            scale = (n - 1) / n if replicate_scales is None else 1.0
        scales = np.ones(n) if replicate_scales is None else as_vector(replicate_scales)
        return cls(as_vector(weights), matrix, scale, scales, around_estimate)

    @property
    def df(self) -> float:
        """Degrees of freedom of the design: the rank of the replicates, less one."""
        return float(np.linalg.matrix_rank(self.replicates, rtol=1e-5) - 1)

    def estimate(self, statistic: Callable[[Array], Any]) -> tuple[Array, Array]:
        """Return a statistic of the weights and its covariance.

        Parameters
        ----------
        statistic : callable
            From weights, shape (n_rows,), to a number or a vector of k.

        Returns
        -------
        (ndarray of shape (k,), ndarray of shape (k, k))
        """
        whole = np.atleast_1d(np.asarray(statistic(self.weights), dtype=np.float64))
        moved = np.array([np.atleast_1d(statistic(column)) for column in self.replicates.T])
        centre = whole if self.around_estimate else moved[self.replicate_scales > 0].mean(axis=0)
        away = (moved - centre) * np.sqrt(self.replicate_scales)[:, None]
        return whole, self.scale * away.T @ away


def as_vector(values: Any) -> Array:
    """Return numbers as an array of one dimension."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("The weights are not numbers", found=str(error)) from error
    return vector.ravel()


def as_matrix(values: Any) -> Array:
    """Return a frame or an array of numbers as an array of two dimensions."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    try:
        return np.array(values, dtype=np.float64, ndmin=2)
    except (TypeError, ValueError) as error:
        raise InputError("The replicate weights are not numbers", found=str(error)) from error


def check_weights(weights: Array) -> None:
    """Raise unless weights are finite, not negative, and not all zero."""
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(
            "The weights are invalid",
            found=f"{int((~np.isfinite(weights) | (weights < 0)).sum())} negative or not finite",
            expected="numbers of 0 or more; 0 for respondents who do not count",
        )
    if not (weights > 0).any():
        raise InputError("The weights are all zero")
