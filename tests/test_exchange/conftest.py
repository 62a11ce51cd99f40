"""A small survey with all that files can say: letters, labels, weights, ids, texts and skips."""

import numpy as np
import pandas as pd
import pyreadstat
import pytest


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
