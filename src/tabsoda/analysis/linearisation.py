"""Variance of an estimate from a stratified, clustered sample, by Taylor linearisation.

An estimate is replaced by the sum of the influences of the rows on it. The variance of that sum is
the variance of the totals of the clusters within their strata (Binder 1983), as in R's survey
package: clusters are drawn with replacement, or without if sampling fractions are given. Stages
below the cluster are in the totals of the clusters and need no formula of their own.

References
----------
Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys.
International Statistical Review, 51(3), 279-292.

Lumley, T. (2010). Complex surveys: a guide to analysis using R. Wiley.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.int64]
# What to do with a stratum that has one cluster; the names are those of R's survey.lonely.psu.
Lonely = Literal["fail", "remove", "adjust", "average"]
LONELY: tuple[Lonely, ...] = get_args(Lonely)
# Above this sampling fraction a stratum was observed completely.
_ALL = 1 - 1e-7
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of a survey as a sample: weight, stratum and cluster of each.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_rows,)
        NaN for rows that are not in the sample.
    strata, clusters : ndarray of int64, shape (n_rows,)
        Numbers from 0. A cluster belongs to one stratum.
    fractions : ndarray of float64, shape (n_strata,)
        The share of the clusters of the stratum that were sampled; 0 with replacement.
    names : tuple of str
        Strata by number, for messages.
    lonely : {"fail", "remove", "adjust", "average"}
    notes : tuple of str
        What was used, for the output.
    facts : dict
        The same, for JSON.
    """

    weights: Array
    strata: Codes
    clusters: Codes
    fractions: Array
    names: tuple[str, ...]
    lonely: Lonely = "fail"
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] | None = None

    @property
    def sampled(self) -> Mask:
        """Rows of the sample, shape (n_rows,)."""
        return ~np.isnan(self.weights)

    def clusters_in(self, rows: Mask) -> Codes:
        """Count the clusters of some rows in every stratum, shape (n_strata,)."""
        first = np.unique(self.clusters[rows], return_index=True)[1]
        found = self.strata[rows][first]
        return np.bincount(found, minlength=len(self.fractions)).astype(np.int64)

    def df(self, counted: Mask) -> float:
        """Return the degrees of freedom: clusters less strata, of the rows that count."""
        clusters = self.clusters_in(counted)
        return float(clusters.sum() - (clusters > 0).sum())

    def covariance(self, pulls: Array, counted: Mask) -> Array:
        """Return the covariance of estimates from the influence of every row.

        Parameters
        ----------
        pulls : ndarray of float64, shape (n_rows, k)
            Influence of each row on the estimates; 0 outside the domain, whose rows still belong
            to the sample.
        counted : ndarray of bool, shape (n_rows,)
            Rows in the domain. Strata without such rows do not enter an average.

        Returns
        -------
        ndarray of float64, shape (k, k)

        Examples
        --------
        >>> strata, clusters = np.array([0, 0, 1, 1]), np.arange(4)
        >>> sample = Sample(np.ones(4), strata, clusters, np.zeros(2), ("a", "b"))
        >>> sample.covariance(np.array([[1.0], [3.0], [5.0], [5.0]]), np.ones(4, dtype=bool))
        array([[4.]])
        """
        sizes = self.clusters_in(self.sampled)
        alone = (sizes == 1) & (self.fractions < _ALL) & (self.clusters_in(counted) > 0)
        self._check_alone(alone)
        rows = self.sampled
        totals = np.zeros((int(self.clusters.max()) + 1, pulls.shape[1]))
        np.add.at(totals, self.clusters[rows], pulls[rows])
        used, first = np.unique(self.clusters[rows], return_index=True)
        stratum, totals = self.strata[rows][first], totals[used]
        sums = np.zeros((len(sizes), pulls.shape[1]))
        np.add.at(sums, stratum, totals)
        centre = sums / np.maximum(sizes, 1)[:, None]
        if self.lonely == "adjust":
            # The influences of the whole sample add up to 0, so the overall mean is 0.
            centre[alone] = 0.0
        factor = (1 - self.fractions) * sizes / np.maximum(sizes - 1, 1)
        away = (totals - centre[stratum]) * np.sqrt(factor[stratum])[:, None]
        covariance = np.asarray(away.T @ away)
        if self.lonely == "average" and alone.any():
            present = int((self.clusters_in(counted) > 0).sum())
            covariance *= present / (present - int(alone.sum()))
        return covariance

    def _check_alone(self, alone: Mask) -> None:
        places = np.flatnonzero(alone)
        if not len(places):
            return
        everywhere = self.lonely == "average" and len(places) == len(self.fractions)
        if self.lonely != "fail" and not everywhere:
            return
        more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
        raise InputError(
            f"Stratum {self.names[places[0]]} has only one cluster, so its variance is unknown",
            found="one cluster each in "
            + ", ".join(self.names[place] for place in places[:_MOST_NAMED])
            + more,
            expected="two or more clusters in every stratum",
            next_step="Merge strata; or choose what to do with lonely: adjust (centre at the"
            " overall mean), average (the mean of the other strata) or remove (no variance,"
            " for strata sampled with certainty)",
        )
