"""Populations with interactions, curves and effects that differ by group, and their true values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from populations import complete_table
from scipy.special import expit

from tabsoda.analysis.pooling import Analysis
from tabsoda.bench.metrics.coverage import (
    Array,
    linear_analysis,
    logistic_analysis,
    mean_analysis,
)
from tabsoda.schema.column import Column, ColumnKind

Bools = NDArray[np.bool_]
TRUE_ROWS = 400_000
NOMINAL, ORDINAL, NUMBER = ColumnKind.NOMINAL, ColumnKind.ORDINAL, ColumnKind.CONTINUOUS


@dataclass(frozen=True, eq=False)
class Model:
    """A regression that an analyst would run.

    Attributes
    ----------
    outcome : str
    terms : tuple of str
        ``"x"``, ``"x:z"`` for a product, ``"x:x"`` for a square, ``"g=2"`` for a level's indicator.
    logistic : bool
    asked : str or None
        A question that must not have been skipped.
    """

    outcome: str
    terms: tuple[str, ...]
    logistic: bool = False
    asked: str | None = None

    def analyse(self, names: tuple[str, ...], values: Array) -> Analysis:
        """Fit the model to a table, shape (n, d), without rows that lack an answer."""
        parts = [
            values[:, names.index(self.outcome)],
            *(self._term(names, values, t) for t in self.terms),
        ]
        table = np.column_stack(parts)
        table = table[~np.isnan(table).any(axis=1)]
        return (logistic_analysis if self.logistic else linear_analysis)(table)

    @staticmethod
    def _term(names: tuple[str, ...], values: Array, term: str) -> Array:
        found = np.ones(len(values))
        for factor in term.split(":"):
            name, _, level = factor.partition("=")
            own = values[:, names.index(name)]
            own = np.where(np.isnan(own), np.nan, own == float(level)) if level else own
            found = found * own
        return found

    def kind(self, term: str) -> str:
        """Return the kind of estimate that a term is."""
        factors = [factor.partition("=")[0] for factor in term.split(":")]
        if len(factors) == 1:
            return "main effect"
        return "curve" if len(set(factors)) == 1 else "interaction"


@dataclass(frozen=True, eq=False)
class Population:
    """Respondents, the questions they may leave out, and what is estimated.

    Attributes
    ----------
    name : str
    columns : tuple of Column
    sample : callable
        From a number of rows and a generator to answers (n, d); NaN where skipped.
    incomplete : tuple of str
        Questions of which answers are hidden.
    drivers : tuple of str
        Questions on which missingness depends under MAR; complete themselves.
    models : tuple of Model
    means : tuple of str
    """

    name: str
    columns: tuple[Column, ...]
    sample: Callable[[int, np.random.Generator], Array]
    incomplete: tuple[str, ...]
    drivers: tuple[str, ...]
    models: tuple[Model, ...]
    means: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the questions."""
        return tuple(column.name for column in self.columns)

    def analyses(self, values: Array) -> dict[str, tuple[str, float, float, float]]:
        """Return kind, estimate, variance and degrees of freedom of every estimand."""
        found = {}
        for model in self.models:
            done = model.analyse(self.names, values)
            for place, term in enumerate(model.terms):
                found[f"{model.outcome} ~ {term}"] = (
                    model.kind(term),
                    float(done.estimates[place]),
                    float(done.covariance[place, place]),
                    float(done.complete_df),
                )
        for name in self.means:
            own = values[:, [self.names.index(name)]]
            done = mean_analysis(own[~np.isnan(own[:, 0])])
            found[f"mean {name}"] = (
                "mean",
                float(done.estimates[0]),
                float(done.covariance[0, 0]),
                float(done.complete_df),
            )
        return found

    def hide(
        self, values: Array, mechanism: str, share: float, generator: np.random.Generator
    ) -> Bools:
        """Choose the answers to hide."""
        hidden = np.zeros(values.shape, dtype=bool)
        driver = np.zeros(len(values))
        if mechanism == "mar":
            for name in self.drivers:
                own = values[:, self.names.index(name)]
                driver += (own - own.mean()) / own.std()
        for name in self.incomplete:
            place = self.names.index(name)
            answered = np.flatnonzero(~np.isnan(values[:, place]))
            score = driver[answered] + generator.logistic(size=answered.size)
            hidden[answered[score > np.quantile(score, 1 - share)], place] = True
        return hidden


def _ordinal(latent: Array, cuts: tuple[float, ...]) -> Array:
    return np.digitize(latent, cuts).astype(np.float64)


def _two_way(n: int, rng: np.random.Generator) -> Array:
    g, u = rng.integers(0, 2, n), rng.normal(size=n)
    o = _ordinal(0.6 * u + 0.8 * rng.normal(size=n), (-1, -0.3, 0.3, 1))
    h = rng.integers(0, 3, n)
    x = 0.4 * u + 0.9 * rng.normal(size=n)
    y1 = _ordinal(0.3 * x + 0.3 * g + 0.8 * x * g + rng.logistic(size=n), (-1.5, -0.5, 0.5, 1.5))
    y2 = 0.3 * x + 0.5 * x**2 + 0.3 * u + rng.normal(size=n)
    y3 = 0.3 * o + 0.3 * g + 0.4 * o * g + rng.normal(size=n)
    logit = -0.5 + 0.4 * (h == 1) + 0.3 * g + 1.2 * (h == 2) * g - 0.3 * x
    y4 = rng.random(n) < expit(logit)
    n1 = 0.5 * x + 0.3 * o + rng.normal(size=n)
    n2 = _ordinal(0.5 * u + 0.3 * n1 + rng.normal(size=n), (-0.8, 0, 0.8))
    n3 = rng.random(n) < expit(0.5 * n1)
    return np.column_stack([g, u, o, h, x, y1, y2, y3, y4, n1, n2, n3]).astype(np.float64)


def _linear(n: int, rng: np.random.Generator) -> Array:
    g, u = rng.integers(0, 2, n), rng.normal(size=n)
    o = _ordinal(0.6 * u + 0.8 * rng.normal(size=n), (-1, -0.3, 0.3, 1))
    h = rng.integers(0, 3, n)
    x = 0.4 * u + 0.9 * rng.normal(size=n)
    y1 = _ordinal(0.7 * x + 0.3 * g + rng.logistic(size=n), (-1.5, -0.5, 0.5, 1.5))
    y2 = 0.5 * x + 0.3 * u + rng.normal(size=n)
    y3 = 0.5 * o + 0.3 * g + rng.normal(size=n)
    y4 = rng.random(n) < expit(-0.5 + 0.4 * (h == 1) + 0.5 * g - 0.3 * x)
    n1 = 0.5 * x + 0.3 * o + rng.normal(size=n)
    n2 = _ordinal(0.5 * u + 0.3 * n1 + rng.normal(size=n), (-0.8, 0, 0.8))
    n3 = rng.random(n) < expit(0.5 * n1)
    return np.column_stack([g, u, o, h, x, y1, y2, y3, y4, n1, n2, n3]).astype(np.float64)


def _three_way(n: int, rng: np.random.Generator) -> Array:
    g, s, u = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=n)
    x = 0.4 * u + 0.9 * rng.normal(size=n)
    y = 0.3 * x + 0.2 * g + 0.2 * s + 0.4 * x * g + 0.3 * x * s + 0.6 * x * g * s
    y = y + rng.normal(size=n)
    z = rng.random(n) < expit(-0.3 + 0.4 * x + 0.6 * x * s + 0.4 * s)
    v = 0.5 * y + 0.3 * u + rng.normal(size=n)
    w = _ordinal(0.4 * x + 0.4 * v + rng.normal(size=n), (-1, 0, 1))
    return np.column_stack([g, s, u, x, y, z, v, w]).astype(np.float64)


def _routed(n: int, rng: np.random.Generator) -> Array:
    region, age = rng.integers(0, 2, n), rng.normal(size=n)
    gate = _ordinal(0.5 * age + rng.normal(size=n), (-0.5, 0.5))
    asked = gate > 0
    often = _ordinal(0.4 * age + 0.3 * gate + rng.normal(size=n), (-0.6, 0.2, 0.9))
    health = 0.3 * often + 0.3 * region + 0.5 * often * region + 0.2 * age
    health = health + rng.normal(size=n)
    cost = 0.2 * often + 0.4 * often * (gate == 2) + 0.3 * age + rng.normal(size=n)
    rating = _ordinal(0.5 * age + 0.3 * health + rng.logistic(size=n), (-1, 0, 1))
    often, cost = np.where(asked, often, np.nan), np.where(asked, cost, np.nan)
    health = np.where(asked, health, 0.4 * age + rng.normal(size=n))
    return np.column_stack([region, age, gate, often, health, cost, rating]).astype(np.float64)


def _levels(kind: ColumnKind, name: str, n_levels: int) -> Column:
    return Column(name, kind, tuple(range(n_levels)))


_TWO_WAY = (
    _levels(NOMINAL, "g", 2), Column("u", NUMBER), _levels(ORDINAL, "o", 5),
    _levels(NOMINAL, "h", 3), Column("x", NUMBER), _levels(ORDINAL, "y1", 5),
    Column("y2", NUMBER), Column("y3", NUMBER), _levels(NOMINAL, "y4", 2),
    Column("n1", NUMBER), _levels(ORDINAL, "n2", 4), _levels(NOMINAL, "n3", 2),
)  # fmt: skip
_TWO_WAY_MODELS = (
    Model("y1", ("x", "g", "x:g")),
    Model("y2", ("x", "x:x", "u")),
    Model("y3", ("o", "g", "o:g")),
    Model("y4", ("h=1", "h=2", "g", "h=1:g", "h=2:g", "x"), logistic=True),
    Model("x", ("u", "g")),
    Model("n1", ("x", "o")),
)
_GENERATED = {
    "two-way": Population(
        "two-way", _TWO_WAY, _two_way, ("y1", "y2", "y3", "y4"), ("u", "g"), _TWO_WAY_MODELS,
        ("y2", "y3"),
    ),
    "two-way, predictor missing": Population(
        "two-way, predictor missing", _TWO_WAY, _two_way, ("x", "o", "y1", "y2", "y3", "y4"),
        ("u", "g"), _TWO_WAY_MODELS, ("x", "y2", "y3"),
    ),
    "linear": Population(
        "linear", _TWO_WAY, _linear, ("x", "o", "y1", "y2", "y3", "y4"), ("u", "g"),
        _TWO_WAY_MODELS, ("x", "y2", "y3"),
    ),
    "three-way": Population(
        "three-way",
        (
            _levels(NOMINAL, "g", 2), _levels(NOMINAL, "s", 2), Column("u", NUMBER),
            Column("x", NUMBER), Column("y", NUMBER), _levels(NOMINAL, "z", 2),
            Column("v", NUMBER), _levels(ORDINAL, "w", 4),
        ),
        _three_way, ("y", "z", "v"), ("u", "g"),
        (
            Model("y", ("x", "g", "s", "x:g", "x:s", "g:s", "x:g:s")),
            Model("z", ("x", "s", "x:s"), logistic=True),
            Model("v", ("y", "u")),
        ),
        ("y", "v"),
    ),
    "routed": Population(
        "routed",
        (
            _levels(NOMINAL, "region", 2), Column("age", NUMBER), _levels(ORDINAL, "gate", 3),
            _levels(ORDINAL, "often", 4), Column("health", NUMBER), Column("cost", NUMBER),
            _levels(ORDINAL, "rating", 4),
        ),
        _routed, ("often", "health", "cost", "rating"), ("age", "region"),
        (
            Model("health", ("often", "region", "often:region", "age"), asked="often"),
            Model("cost", ("often", "gate=2", "often:gate=2", "age"), asked="often"),
            Model("rating", ("age", "health")),
        ),
        ("health", "rating"),
    ),
}  # fmt: skip
# Interactions that are clear among all who answered: chosen on whole populations, not on samples.
_REAL = {
    "nhanes2015_16": (
        ("DMDEDUC2", "INDFMPIR", "SLD012", "SMQ020", "BPQ020", "DPQ040"),
        ("RIDAGEYR", "RIAGENDR"),
        (
            Model("SLD012", ("RIDAGEYR", "RIDAGEYR:RIDAGEYR", "DPQ040")),
            Model("INDFMPIR", ("RIDAGEYR", "RIDAGEYR:RIDAGEYR", "DMDEDUC2", "DMDHHSIZ")),
            Model("SMQ020", ("RIDAGEYR", "RIAGENDR", "RIDAGEYR:RIAGENDR"), logistic=True),
            Model("SMQ020", ("DMDEDUC2", "DMDEDUC2:DMDEDUC2", "RIDAGEYR"), logistic=True),
            Model("DPQ040", ("DPQ020", "SLD012", "RIDAGEYR")),
        ),
        ("INDFMPIR", "SLD012"),
    ),
    "nsfg2006_2010_male": (
        ("HIGRADE", "BIOKIDS", "GENHEALT", "WRK12MOS", "ATTNDNOW", "HIVTEST"),
        ("AGE_R", "ROSCNT"),
        (
            Model("HIGRADE", ("AGE_R", "AGE_R:AGE_R")),
            Model("WRK12MOS", ("AGE_R", "AGE_R:AGE_R", "GENHEALT")),
            Model("GENHEALT", ("AGE_R", "WRK12MOS", "AGE_R:WRK12MOS")),
            Model("SAMESEX", ("HIGRADE", "ATTNDNOW", "HIGRADE:ATTNDNOW")),
            Model("HIVTEST", ("AGE_R", "AGE_R:AGE_R", "HIGRADE"), logistic=True),
        ),
        ("BIOKIDS", "HIGRADE"),
    ),
    "nhts2022_person": (
        ("educ", "hhvehcnt", "hhfaminc", "worker", "wrkcount", "homeown"),
        ("r_age", "hhsize"),
        (
            Model("hhfaminc", ("r_age", "r_age:r_age", "educ")),
            Model("worker", ("r_age", "r_age:r_age", "educ"), logistic=True),
            Model("hhvehcnt", ("hhfaminc", "urbrur", "hhfaminc:urbrur", "hhsize")),
            Model("wrkcount", ("hhsize", "hhsize:hhsize", "r_age")),
        ),
        ("hhvehcnt", "wrkcount"),
    ),
}
NAMES = (*_GENERATED, *_REAL)


def _resample(whole: Array, n: int, rng: np.random.Generator) -> Array:
    return whole[rng.integers(len(whole), size=n)]


@cache
def interaction_population(name: str, surveys: Path | None) -> Population:
    """Return a population by name; those of surveys are their complete respondents."""
    if name in _GENERATED:
        return _GENERATED[name]
    table = complete_table(name, surveys)
    values = table.values.copy()
    incomplete, drivers, models, means = _REAL[name]
    return Population(
        name, table.columns, partial(_resample, values), incomplete, drivers, models, means
    )


@cache
def truths(name: str, surveys: Path | None) -> dict[str, float]:
    """Return the true value of every estimand."""
    people = interaction_population(name, surveys)
    if name in _REAL:
        values = complete_table(name, surveys).values
    else:
        values = people.sample(TRUE_ROWS, np.random.default_rng(0))
    return {what: found[1] for what, found in people.analyses(values).items()}
