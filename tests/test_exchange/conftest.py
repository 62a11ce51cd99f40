"""A small survey with all that files can say: letters, labels, weights, ids, texts and skips."""

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tabsoda import TabSODAImputer, read_survey
from tabsoda.results import Imputations, ImputedCells


@pytest.fixture(scope="session")
def lettered_file(tmp_path_factory):
    """Write a Stata file of 60 with lettered missings in one column and blanks in others."""
    generator = np.random.default_rng(5)
    n = 60
    smokes = generator.integers(1, 3, n).astype(float)
    cigarettes = generator.integers(1, 30, n).astype(float).astype(object)
    cigarettes[smokes == 2] = "a"
    cigarettes[:3], cigarettes[3:5] = "r", "d"
    health = generator.integers(1, 5, n).astype(float)
    smokes[5:8] = np.nan
    health[8:14] = np.nan
    frame = pd.DataFrame(
        {
            "person": np.arange(1000.0, 1000.0 + n),
            "smokes": smokes,
            "cigarettes": cigarettes,
            "health": health,
        }
    )
    path = tmp_path_factory.mktemp("stata") / "study.dta"
    pyreadstat.write_dta(
        frame,
        str(path),
        column_labels={"smokes": "Do you smoke?", "health": "How is your health?"},
        variable_value_labels={
            "smokes": {1: "Yes", 2: "No"},
            "cigarettes": {"a": "Not applicable", "r": "Refused", "d": "Don't know"},
            "health": {1: "Poor", 2: "Fair", 3: "Good", 4: "Excellent"},
        },
        missing_user_values={"cigarettes": ["a", "r", "d"]},
    )
    return path


LONG_NAME = "a_question_with_a_name_of_more_than_32_letters"
RICH = [
    {"name": "person id", "type": "continuous", "role": "id", "label": "Who"},
    {"name": "weight", "type": "continuous", "role": "weight"},
    {
        "name": "smokes",
        "type": "nominal",
        "levels": [2, 1],
        "label": "Do you smoke? <script>alert(1)</script>",
        "level_labels": {"1": "Yes", "2": "No", "7": "REFUSED", "8": "DK"},
        "refused_codes": [7],
        "dont_know_codes": [8],
    },
    {
        "name": "cigarettes",
        "type": "continuous",
        "label": "=1+1",
        "skip_codes": [-1],
        "refused_codes": [-7],
        "dont_know_codes": [-8],
        "missing_codes": [-9, -6],
    },
    {"name": "region", "type": "nominal", "levels": ["süd", "=cmd()", "north"]},
    {
        "name": LONG_NAME,
        "type": "ordinal",
        "levels": [3, 1, 2],
        "level_labels": {"3": "It's fine", "1": "&so so", "2": "100 %bad"},
    },
    {"name": "never", "type": "continuous", "refused_codes": [-7]},
    {"name": "comment", "type": "nominal", "role": "id", "levels": []},
]


@pytest.fixture(scope="session")
def rich():
    """Return a result of 50 and 3 draws in which one missing cell is a skip in the second draw."""
    generator = np.random.default_rng(3)
    n = 50
    smokes = generator.integers(1, 3, n)
    cigarettes = np.where(smokes == 1, generator.integers(0, 40, n), -1)
    smokers = np.flatnonzero(smokes == 1)
    cigarettes[smokers[:8]] = [-7, -7, -8, -8, -9, -9, -6, -6]
    smokes[:6] = [7, 7, 8, 8, 7, 8]
    cigarettes[0] = -9
    order = generator.integers(1, 4, n).astype(object)
    order[20:24] = None
    region = np.array(["süd", "=cmd()", "north"])[generator.integers(0, 3, n)].astype(object)
    region[30:35] = None
    comment = ["=HYPERLINK(1)", "'+quoted", None, "plain", "-5"] * 10
    frame = pl.DataFrame(
        {
            "person id": np.arange(101, 101 + n),
            "weight": generator.uniform(0.5, 2, n),
            "smokes": smokes,
            "cigarettes": cigarettes,
            "region": pl.Series(region.tolist(), dtype=pl.String),
            LONG_NAME: pl.Series(order.tolist(), dtype=pl.Int64),
            "never": np.full(n, -7),
            "comment": comment,
        }
    )
    survey = read_survey(frame, RICH)
    rows, positions = np.nonzero(survey.states.missing)
    keep = positions != 4
    rows, positions = rows[keep], positions[keep]
    top = np.array([2, 40, 3, 3])[positions]
    draws = generator.integers(0, top, (3, len(rows))).astype(float)
    hung = np.flatnonzero((rows == 0) & (positions == 1))[0]
    draws[1, hung] = np.nan
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)


@pytest.fixture(scope="session")
def both(lettered_file, tmp_path_factory):
    """Return a fitted result of a Stata file with letters, and the folder it was written to."""
    survey = read_survey(lettered_file)
    imputer = TabSODAImputer(quality="tiny", random_state=1, device="cpu").fit(survey)
    result = imputer.impute(survey, m=3)
    folder = tmp_path_factory.mktemp("result") / "out"
    result.save(folder)
    return result, folder
