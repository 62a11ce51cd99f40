"""Outcomes that a level tells without error: no coefficient, and an error that says why."""

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.errors import InputError
from tabsoda.results import Imputations, ImputedCells

DESCRIPTION = [
    {"name": "region", "type": "nominal", "levels": ["north", "south", "sea"]},
    {"name": "age", "type": "continuous"},
    {"name": "smokes", "type": "nominal", "levels": [0, 1]},
    {"name": "visits", "type": "continuous"},
    {"name": "weight", "type": "continuous", "role": "weight"},
]


def _result(exceptions, weight=1.0):
    """Nobody by the sea smokes or visits, but some; the first age is missing."""
    generator = np.random.default_rng(0)
    n = 300
    region = generator.integers(3, size=n)
    smokes = (generator.random(n) < 0.4).astype(int)
    visits = generator.integers(1, 5, size=n).astype(float)
    smokes[region == 2], visits[region == 2] = 0, 0.0
    some = np.flatnonzero(region == 2)[:exceptions]
    smokes[some], visits[some] = 1, 1.0
    age = generator.integers(18, 80, size=n).astype(float)
    frame = pl.DataFrame(
        {
            "region": [["north", "south", "sea"][code] for code in region],
            "age": [None, *age[1:]],
            "smokes": smokes,
            "visits": visits,
            "weight": weight * generator.uniform(0.5, 2.0, n),
        }
    )
    survey = read_survey(frame, DESCRIPTION)
    draws, one = np.array([[40.0], [50.0], [60.0]]), np.array([50.0])
    cells = ImputedCells(np.array([0]), np.array([1]), draws, one, one)
    return Imputations(survey.table, cells, survey)


@pytest.mark.parametrize("weights", [None, "weight"])
@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize(
    ("formula", "family"),
    [("I(smokes == 1) ~ region + age", "binomial"), ("visits ~ age + region", "poisson")],
)
def test_a_level_with_one_outcome_is_named(formula, family, scale, weights):
    with pytest.raises(InputError) as told:
        _result(0, scale).pool(formula, family=family, weights=weights)
    text = str(told.value)
    assert "in draw 1" in text
    assert "region[T.sea]" in text
    assert "Merge the level with another one" in text


def test_a_number_that_parts_the_outcomes_is_named():
    with pytest.raises(InputError, match=r"draw 1.*predicts the outcome almost perfectly"):
        _result(3).pool("I(age > 45) ~ age", family="binomial")


@pytest.mark.parametrize("weights", [None, "weight"])
def test_one_respondent_who_differs_is_enough_for_a_coefficient(weights):
    pooled = _result(1).pool("I(smokes == 1) ~ region + age", family="binomial", weights=weights)
    sea = pooled.names.index("region[T.sea]")
    assert -6 < pooled.estimates[sea] < -2
    assert 0.3 < pooled.std_errors[sea] < 3


def test_a_negative_variance_says_of_what():
    from tabsoda import pool

    with pytest.raises(InputError, match=r"Analysis 2 has a negative variance.*-1 of estimate 2"):
        pool([np.zeros(2)] * 2, [np.eye(2), np.diag([1.0, -1.0])])
