"""The sampling design as predictors: weights, strata and clusters of the survey.

If answers differ between strata, between clusters, or with the chance of being sampled, a model
without the design draws imputed answers toward the overall mean, and estimates that use the design
are biased. So the model sees the logarithm of every weight, the strata, and for questions whose
answers differ between clusters the mean of the respondent's cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from tabsoda._internal.randomness import row_hashes
from tabsoda.events import EventLog
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Column, ColumnKind, ColumnRole
from tabsoda.states.cell_states import CellStates
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]

# The regressions for draws have this many indicators per question; smaller strata share one.
_MOST_STRATA = 15
_LEAST_IN_STRATUM = 10
_OTHERS = "other strata"
# Cluster means of the questions in which clusters differ most.
_MOST_QUESTIONS = 12
_SIGNIFICANT = 0.01
# A respondent's own answer must not be in the mean that predicts it: means leave out the fold that
# the respondent is in.
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class ClusterMeans:
    """Means of one question in the clusters, shrunk toward the overall mean.

    Attributes
    ----------
    question : str
    level : float or None
        For a nominal question of several levels: the level whose share is meant.
    middle : float
        The overall mean.
    strength : float
        Variance within clusters over variance between them: the number of answers at which a
        cluster's mean counts as much as the overall mean.
    clusters : tuple of str
    sums, counts : ndarray of float64, shape (n_clusters, 5)
        Of the answers, by fold of the respondents.
    """

    question: str
    level: float | None
    middle: float
    strength: float
    clusters: tuple[str, ...]
    sums: Numbers
    counts: Numbers

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        question: str,
        clusters: NDArray[np.str_],
        folds: NDArray[np.int64],
    ) -> tuple[ClusterMeans, float] | None:
        """Return the means and the p-value of equal clusters; None if that cannot be tested.

        The variances are those of the analysis of variance of an unbalanced one-way layout.
        """
        level = _level(table, question)
        answers = _scores(table, question, level)
        known = ~np.isnan(answers)
        names, code = np.unique(clusters[known], return_inverse=True)
        values, n = answers[known], int(known.sum())
        if names.size < 2 or n <= names.size or values.std() == 0:
            return None
        sizes = np.bincount(code)
        means = np.bincount(code, values) / sizes
        middle = float(values.mean())
        within = float(((values - means[code]) ** 2).sum() / (n - names.size))
        mean_square = float((sizes * (means - middle) ** 2).sum() / (names.size - 1))
        typical_size = (n - (sizes**2).sum() / n) / (names.size - 1)
        between = (mean_square - within) / typical_size
        if between <= 0 or within <= 0:
            return None
        p_value = float(stats.f.sf(mean_square / within, names.size - 1, n - names.size))
        place = code * _FOLDS + folds[known]
        shape = (names.size, _FOLDS)
        counts = np.bincount(place, minlength=names.size * _FOLDS).reshape(shape)
        sums = np.bincount(place, values, minlength=names.size * _FOLDS).reshape(shape)
        listed = tuple(str(name) for name in names)
        own = cls(
            question,
            level,
            middle,
            within / between,
            listed,
            np.asarray(sums, dtype=np.float64),
            np.asarray(counts, dtype=np.float64),
        )
        return own, p_value

    def predict(
        self, answers: Numbers, clusters: NDArray[np.str_], folds: NDArray[np.int64]
    ) -> Numbers:
        """Return the mean of each respondent's cluster, shape (n,); of all in unknown clusters.

        Parameters
        ----------
        answers : ndarray of float64, shape (n,)
            NaN where the question is not answered: then all folds count.
        clusters : ndarray of str, shape (n,)
        folds : ndarray of int64, shape (n,)
        """
        place = {name: number for number, name in enumerate(self.clusters)}
        rows = np.array([place.get(str(name), -1) for name in clusters], dtype=np.intp)
        own = (~np.isnan(answers)).astype(np.float64)
        sums = self.sums.sum(axis=1)[rows] - own * self.sums[rows, folds]
        counts = self.counts.sum(axis=1)[rows] - own * self.counts[rows, folds]
        found = (sums + self.strength * self.middle) / (counts + self.strength)
        return np.where(rows < 0, self.middle, found)


@dataclass(frozen=True, eq=False)
class DesignPredictors:
    """What of a survey's design the model sees, as fitted.

    Attributes
    ----------
    weights : dict of str to float
        Mean logarithm by weight column, for rows without a weight.
    strata : dict of str to tuple of str
        By stratum column, the strata that have an indicator.
    clusters : dict of str to tuple of ClusterMeans
        By cluster column.
    """

    weights: dict[str, float]
    strata: dict[str, tuple[str, ...]]
    clusters: dict[str, tuple[ClusterMeans, ...]]

    @classmethod
    def fit(cls, survey: Survey, events: EventLog) -> DesignPredictors | None:
        """Choose the predictors; None if the description declares no design or nothing varies.

        Parameters
        ----------
        survey : Survey
            With the states that the model is fitted with.
        events : EventLog
        """
        if survey.is_array:
            return None
        of_role = {
            role: [column.name for column in survey.schema if column.role is role]
            for role in (ColumnRole.WEIGHT, ColumnRole.STRATUM, ColumnRole.CLUSTER)
        }
        weights = {}
        for name in of_role[ColumnRole.WEIGHT]:
            logs = _log_weights(survey.frame[name])
            known = logs[np.isfinite(logs)]
            if known.size and known.std() > 0:
                weights[name] = float(known.mean())
        strata = {name: _strata(survey.frame[name]) for name in of_role[ColumnRole.STRATUM]}
        strata = {name: found for name, found in strata.items() if found}
        clusters = {
            name: _cluster_means(survey, survey.frame[name]) for name in of_role[ColumnRole.CLUSTER]
        }
        clusters = {name: found for name, found in clusters.items() if found}
        if not (weights or strata or clusters):
            return None
        events.add(
            "design_in_model",
            weights=list(weights),
            strata=list(strata),
            clusters=list(clusters),
            questions=[one.question for found in clusters.values() for one in found],
        )
        return cls(weights, strata, clusters)

    def extend(self, survey: Survey) -> Survey:
        """Return the survey with the predictors as further columns of its table."""
        columns: list[Column] = []
        values: list[Numbers] = []
        for name, middle in self.weights.items():
            logs = _log_weights(survey.frame[name])
            columns.append(Column(name, ColumnKind.CONTINUOUS))
            values.append(np.where(np.isfinite(logs), logs, middle))
        for name, listed in self.strata.items():
            place = {stratum: number for number, stratum in enumerate(listed)}
            columns.append(Column(name, ColumnKind.NOMINAL, (*listed, _OTHERS)))
            names = _texts(survey.frame[name])
            values.append(np.array([place.get(text, len(listed)) for text in names], dtype=float))
        folds = _folds(survey.table)
        for name, means in self.clusters.items():
            clusters = _texts(survey.frame[name])
            for one in means:
                answers = _scores(survey.table, one.question, one.level)
                columns.append(Column(f"{one.question}, mean in {name}", ColumnKind.CONTINUOUS))
                values.append(one.predict(answers, clusters, folds))
        return _with_columns(survey, tuple(columns), np.column_stack(values))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "weights": self.weights,
            "strata": {name: list(found) for name, found in self.strata.items()},
            "clusters": {
                name: [
                    {
                        "question": one.question,
                        "level": one.level,
                        "middle": one.middle,
                        "strength": one.strength,
                        "clusters": list(one.clusters),
                        "sums": one.sums.tolist(),
                        "counts": one.counts.tolist(),
                    }
                    for one in means
                ]
                for name, means in self.clusters.items()
            },
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> DesignPredictors:
        """Read from :meth:`to_dict`."""
        clusters = {
            name: tuple(
                ClusterMeans(
                    one["question"],
                    one["level"],
                    float(one["middle"]),
                    float(one["strength"]),
                    tuple(one["clusters"]),
                    np.array(one["sums"], dtype=np.float64).reshape(-1, _FOLDS),
                    np.array(one["counts"], dtype=np.float64).reshape(-1, _FOLDS),
                )
                for one in means
            )
            for name, means in content["clusters"].items()
        }
        strata = {name: tuple(found) for name, found in content["strata"].items()}
        return cls(dict(content["weights"]), strata, clusters)


def without_design(survey: Survey, n_questions: int) -> Survey:
    """Return an extended survey with only its questions."""
    table = survey.table
    return _replaced(survey, table.select(table.names[:n_questions]))


def _log_weights(series: pl.Series) -> Numbers:
    """Return logarithms of weights; NaN for blanks, zeros and what is not a positive number."""
    numbers = series.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.isfinite(numbers) & (numbers > 0), np.log(numbers), np.nan)


def _texts(series: pl.Series) -> NDArray[np.str_]:
    """Return codes as texts, so that a file's 1 and a saved "1" are the same."""
    return np.array(["" if v is None else str(plain(v)) for v in series.to_list()], dtype=np.str_)


def _strata(series: pl.Series) -> tuple[str, ...]:
    names, counts = np.unique(_texts(series), return_counts=True)
    if names.size < 2:
        return ()
    order = np.argsort(-counts, kind="stable")[:_MOST_STRATA]
    return tuple(str(names[at]) for at in sorted(order) if counts[at] >= _LEAST_IN_STRATUM)


def _cluster_means(survey: Survey, series: pl.Series) -> tuple[ClusterMeans, ...]:
    """Return the means of incomplete questions in which clusters differ, most different first."""
    clusters, folds = _texts(series), _folds(survey.table)
    found = []
    for position, column in enumerate(survey.table.columns):
        if not survey.states.missing[:, position].any():
            continue
        fitted = ClusterMeans.fit(survey.table, column.name, clusters, folds)
        if fitted is not None and fitted[1] < _SIGNIFICANT:
            found.append(fitted)
    found.sort(key=lambda one: one[1])
    return tuple(means for means, _ in found[:_MOST_QUESTIONS])


def _level(table: CodedTable, question: str) -> float | None:
    """Return the most frequent level of a nominal question of several; None for the others."""
    position = table.names.index(question)
    column, values = table.columns[position], table.values[:, position]
    known = values[~np.isnan(values)].astype(np.int64)
    if column.kind is not ColumnKind.NOMINAL or column.n_levels <= 2 or not known.size:
        return None
    return float(np.bincount(known).argmax())


def _scores(table: CodedTable, question: str, level: float | None) -> Numbers:
    """Return answers as numbers: positions of levels, or whether a level was chosen."""
    values = table.values[:, table.names.index(question)]
    if level is None:
        return values
    return np.where(np.isnan(values), np.nan, (values == level).astype(np.float64))


def _folds(table: CodedTable) -> NDArray[np.int64]:
    """Return the fold of each row, which depends only on its content."""
    return (row_hashes(table.values, table.states.states) % np.uint64(_FOLDS)).astype(np.int64)


def _with_columns(survey: Survey, columns: tuple[Column, ...], values: Numbers) -> Survey:
    table = survey.table
    added = CodedTable.from_values(columns, values)
    states = CellStates(
        np.hstack([table.states.states, added.states.states]),
        np.hstack([table.states.reasons, added.states.reasons]),
        (*table.names, *added.names),
    )
    whole = CodedTable((*table.columns, *columns), np.hstack([table.values, added.values]), states)
    return _replaced(survey, whole)


def _replaced(survey: Survey, table: CodedTable) -> Survey:
    """Return a survey with another table; its record of known skips has the same width."""
    known = survey.known_skips
    if known is not None:
        extra = max(table.shape[1] - known.shape[1], 0)
        known = np.pad(known, ((0, 0), (0, extra)))[:, : table.shape[1]]
    return replace(survey, table=table, known_skips=known)
