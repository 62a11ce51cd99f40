"""A clustered sample whose gate is imputed, exported once for every language."""

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.exchange import export
from tabsoda.publishing.scripts import EXPORTS
from tabsoda.results import Imputations, ImputedCells

QUESTIONS = ("income", "smokes", "region", "members", "health", "cigarettes")


def description(*, with_design):
    roles = {"wt": "weight", "stratum": "stratum", "psu": "cluster"}
    return [
        *(
            {
                "name": name,
                "type": "continuous",
                "role": role if with_design else "ignore",
                **({"missing_codes": [-1]} if name == "wt" else {}),
            }
            for name, role in roles.items()
        ),
        {"name": "n_psu", "type": "continuous", "role": "ignore"},
        {"name": "area", "type": "nominal", "role": "ignore", "levels": []},
        {"name": "income", "type": "continuous", "missing_codes": [-9]},
        {
            "name": "smokes",
            "type": "nominal",
            "levels": [2, 1],
            "level_labels": {"1": "Yes", "2": "No"},
            "missing_codes": [-9],
        },
        {"name": "region", "type": "nominal", "levels": ["c", "a", "b"]},
        {"name": "members", "type": "ordinal", "levels": [1, 2, 3, 4]},
        {"name": "health", "type": "ordinal", "levels": ["poor", "fair", "good"]},
        {"name": "cigarettes", "type": "continuous", "skip_codes": [-1], "missing_codes": [-9]},
    ]


def make(*, with_design):
    generator = np.random.default_rng(4)
    sizes = [3, 2, 4, 5]
    stratum = np.repeat(np.arange(4), [12 * size for size in sizes]) + 1
    psu = np.repeat(np.arange(sum(sizes)), 12) + 1
    n = psu.size
    effect = generator.normal(0, 5, psu.max() + 1)[psu]
    income = np.round(30 + 4 * stratum + effect + generator.normal(0, 8, n), 2)
    income[generator.random(n) < 0.2] = -9
    smokes = 1 + (generator.random(n) < 0.6)
    unknown = generator.random(n) < 0.1
    smokes = np.where(unknown, -9, smokes)
    cigarettes = np.where(smokes == 2, -1, generator.integers(1, 30, n))
    cigarettes = np.where(unknown, -9, cigarettes)
    weights = np.round(generator.uniform(1, 6, n) * stratum, 3)
    # One respondent has a code for no weight, one has weight 0.
    weights[[7, 50]] = -1, 0
    region = np.array(["a", "b", "c"])[generator.integers(0, 3, n)].astype(object)
    region[20:30] = None
    health = np.array(["poor", "fair", "good"])[generator.integers(0, 3, n)].astype(object)
    health[60:75] = None
    frame = pl.DataFrame(
        {
            "wt": weights,
            "stratum": stratum,
            "psu": psu,
            "n_psu": np.array([20, 11, 40, 25])[stratum - 1],
            "area": np.array(["town", "city", "farm"])[generator.integers(0, 3, n)],
            "income": income,
            "smokes": smokes,
            "region": pl.Series(region.tolist(), dtype=pl.String),
            "members": generator.integers(1, 5, n),
            "health": pl.Series(health.tolist(), dtype=pl.String),
            "cigarettes": cigarettes,
        }
    )
    survey = read_survey(frame, description(with_design=with_design))
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.empty((5, len(rows)))
    for cell, (row, position) in enumerate(zip(rows, positions, strict=True)):
        name = survey.table.names[position]
        if name == "income":
            draws[:, cell] = np.round(generator.normal(42, 12, 5), 2)
        elif name == "cigarettes":
            gate = np.flatnonzero((rows == row) & (positions == 1))[0]
            draws[:, cell] = np.where(draws[:, gate] == 1, generator.integers(1, 30, 5), np.nan)
        else:
            draws[:, cell] = generator.integers(0, 2 if name == "smokes" else 3, 5)
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)


@pytest.fixture(scope="session")
def described():
    """Return a result whose description has weights, strata and clusters."""
    return make(with_design=True)


@pytest.fixture(scope="session")
def exported(described, tmp_path_factory):
    """Return the folder of each export, by language."""
    folders = {}
    for language, target in EXPORTS.items():
        folders[language] = tmp_path_factory.mktemp(language) / "export"
        export(described, target, folders[language])
    return folders
