"""The populations whose truth is known, and what is estimated of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from tabsoda.bench.cases import SurveyCase, load_case, save_case
from tabsoda.bench.metrics.coverage import (
    Array,
    Estimand,
    linear_analysis,
    logistic_analysis,
    mean_analysis,
    quantile_analysis,
    share_analysis,
)
from tabsoda.datasets import make_survey
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

# Outcome, then predictors. A logistic outcome has two levels.
Model = tuple[str, ...]

COLUMNS = {
    "embedded": ("AGE SEX EDUC MARITAL CHILDREN INCOME LADDER HEALTH KILOS CHRONIC SLEEP LOWDAYS"),
    "nsfg2006_2010_male": (
        "AGE_R MARSTAT HIGRADE ROSCNT BIOKIDS RWEIGHT GENHEALT ATTNDNOW WRK12MOS HIVTEST"
        " SAMESEX GAYADOPT"
    ),
    "nhanes2015_16": (
        "RIDAGEYR RIAGENDR DMDEDUC2 DMDMARTL INDFMPIR DMDHHSIZ SLD012 SLQ050 BPQ020 SMQ020"
        " DPQ020 DPQ040"
    ),
}
# Of these, interactions and curves are studied alone.
INTERACTION_COLUMNS = {
    "nhts2022_person": (
        "r_age r_sex educ hhsize hhvehcnt drvrcnt wrkcount hhfaminc urbrur homeown worker driver"
    ),
}
LINEAR: dict[str, tuple[Model, ...]] = {
    "embedded": (
        ("INCOME", "EDUC", "LADDER", "AGE", "HEALTH"),
        ("LOWDAYS", "HEALTH", "SLEEP", "LADDER"),
    ),
    "nsfg2006_2010_male": (
        ("BIOKIDS", "AGE_R", "ROSCNT", "HIGRADE"),
        ("GAYADOPT", "SAMESEX", "ATTNDNOW", "AGE_R"),
    ),
    "nhanes2015_16": (
        ("INDFMPIR", "DMDEDUC2", "RIDAGEYR", "DMDHHSIZ"),
        ("DPQ040", "DPQ020", "SLD012", "RIDAGEYR"),
    ),
}
LOGISTIC: dict[str, tuple[Model, ...]] = {
    "embedded": (("CHRONIC", "HEALTH", "AGE", "KILOS"), ("SEX", "KILOS", "SLEEP")),
    "nsfg2006_2010_male": (("HIVTEST", "AGE_R", "GENHEALT", "HIGRADE"),),
    "nhanes2015_16": (
        ("BPQ020", "RIDAGEYR", "DPQ040", "INDFMPIR"),
        ("SLQ050", "DPQ040", "SLD012", "RIDAGEYR"),
    ),
}
_TRUE_ROWS = 200_000
# Numbers with fewer answers than this have no quantile worth speaking of.
_FEWEST_ANSWERS = 20
# Rarer levels have intervals that are not normal even where nothing is missing.
_RAREST = 0.10


@dataclass(frozen=True, eq=False)
class Population:
    """A complete table that samples are drawn from with replacement.

    Attributes
    ----------
    name : str
    table : CodedTable
    estimands : tuple of Estimand
    truths : tuple of ndarray
        One array per estimand, shape (k,).
    """

    name: str
    table: CodedTable
    estimands: tuple[Estimand, ...]
    truths: tuple[Array, ...]


@cache
def population(name: str, surveys: Path | None) -> Population:
    """Build a population; the shared surveys keep the rows that answered every question.

    ``surveys`` is the folder of the surveys, or one that :func:`pack` wrote.
    """
    if surveys is not None and (packed := surveys / f"{name}.npz").is_file():
        table = load_case(packed).table
    else:
        table = complete_table(name, surveys)
    estimands = tuple(_estimands(name, table))
    truths = tuple(estimand.of(table.values).estimates for estimand in estimands)
    return Population(name, table, estimands, truths)


def pack(surveys: Path, folder: Path) -> None:
    """Write every population as one file, for machines that hold no survey."""
    for name in COLUMNS:
        table = complete_table(name, surveys)
        nothing = np.zeros((len(table.columns), len(table.columns)), dtype=bool)
        save_case(SurveyCase(name, table, nothing), folder / f"{name}.npz")


def complete_table(name: str, surveys: Path | None) -> CodedTable:
    """Return those who answered all questions of a population."""
    names = tuple((COLUMNS | INTERACTION_COLUMNS)[name].split())
    if name == "embedded":
        survey = make_survey(_TRUE_ROWS, seed=0, nonresponse=0, breakoff=0, violations=0)
        return survey.complete_table.select(names)
    from tabsoda.datasets.survey_folder import load_survey_folder, surveys_folder

    whole = load_survey_folder(surveys_folder(surveys) / name).table.select(names)
    return whole.rows(np.flatnonzero(whole.states.answered.all(axis=1)))


def _estimands(name: str, table: CodedTable) -> list[Estimand]:
    found = []
    for position, column in enumerate(table.columns):
        answers, counts = np.unique(table.values[:, position], return_counts=True)
        where = (position,)
        if column.kind is not ColumnKind.NOMINAL:
            found.append(Estimand("mean", (column.name,), where, mean_analysis))
        if column.is_categorical:
            share = counts / counts.sum()
            levels = answers[(share >= _RAREST) & (share <= 1 - _RAREST)]
            # The shares of two levels are one figure.
            for level in levels[:1] if answers.size == 2 else levels:
                analyse = partial(share_analysis, level=float(level))
                found.append(
                    Estimand("proportion", (f"{column.name} = {level:g}",), where, analyse)
                )
        elif answers.size >= _FEWEST_ANSWERS:
            for probability in (0.25, 0.5, 0.75):
                analyse = partial(quantile_analysis, probability=probability)
                found.append(
                    Estimand("quantile", (f"{column.name} at {probability:g}",), where, analyse)
                )
    for kind, models, analyse in (
        ("linear", LINEAR[name], linear_analysis),
        ("logistic", LOGISTIC[name], logistic_analysis),
    ):
        for outcome, *terms in models:
            places = tuple(table.names.index(one) for one in (outcome, *terms))
            names = tuple(f"{outcome} ~ {term}" for term in terms)
            found.append(Estimand(kind, names, places, analyse))
    return found
