"""R, where it is installed, and a small result whose draws are known."""

import json
import shutil
import subprocess

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.results import Imputations, ImputedCells

# R without packages has no JSON: tables as lists of rows, vectors of one as their value.
TO_JSON = """
to_json <- function(x) {
  listed <- function(parts, ends) paste0(ends[1], paste(parts, collapse = ", "), ends[2])
  if (is.data.frame(x)) x <- lapply(seq_len(nrow(x)), function(i) as.list(x[i, , drop = FALSE]))
  if (is.matrix(x)) x <- lapply(seq_len(nrow(x)), function(i) as.list(unname(x[i, ])))
  if (is.factor(x)) x <- as.character(x)
  if (is.list(x) && !is.null(names(x)))
    return(listed(paste0('"', names(x), '": ', sapply(x, to_json)), c("{", "}")))
  if (is.list(x) || length(x) != 1) return(listed(sapply(unname(x), to_json), c("[", "]")))
  if (is.na(x) || (is.numeric(x) && !is.finite(x))) return("null")
  if (is.character(x)) return(encodeString(x, quote = '"'))
  if (is.logical(x)) tolower(x) else format(x, digits = 17)
}
"""


@pytest.fixture(scope="session")
def r():
    """Return a function that runs R code and reads what its expression gives, as JSON."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")

    def run(code, *packages, folder):
        wanted = ", ".join(f'"{name}"' for name in packages)
        there = f"sapply(c({wanted}), requireNamespace, quietly = TRUE)"
        check = f'if (!all({there})) {{ cat("absent"); quit() }}\n'
        loads = "".join(f"suppressPackageStartupMessages(library({name}))\n" for name in packages)
        script = folder / "script.R"
        script.write_text(
            f'{check}{loads}{TO_JSON}setwd("{folder}")\nanswer <- {{\n{code}\n}}\n'
            "cat(to_json(answer))\n"
        )
        done = subprocess.run(["Rscript", str(script)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if done.stdout.endswith("absent"):
            pytest.skip(f"R has not all of {packages}")
        return json.loads(done.stdout.splitlines()[-1])

    return run


DESCRIPTION = [
    {"name": "person", "type": "continuous", "role": "id"},
    {"name": "weight", "type": "continuous", "role": "weight"},
    {"name": "age", "type": "continuous", "missing_codes": [-9]},
    {
        "name": "smokes",
        "type": "nominal",
        "levels": [1, 2],
        "level_labels": {"1": "Yes", "2": "No"},
    },
    {"name": "region", "type": "nominal", "levels": ["north", "south", "west", "sea"]},
    {"name": "health", "type": "ordinal", "levels": [1, 2, 3, 4]},
    {"name": "cigarettes", "type": "continuous", "skip_codes": [-1], "missing_codes": [-9]},
]


@pytest.fixture(scope="session")
def result():
    """Return a result of 80 respondents and 4 draws; the cigarettes of non-smokers are skipped."""
    generator = np.random.default_rng(11)
    n = 80
    smokes = generator.integers(1, 3, n)
    age = generator.integers(18, 80, n)
    cigarettes = np.where(smokes == 1, generator.integers(1, 30, n), -1)
    cigarettes[np.flatnonzero(smokes == 1)[:5]] = -9
    health = np.clip(5 - age // 20 + generator.integers(-1, 2, n), 1, 4).astype(float)
    health[10:25] = np.nan
    age[:9] = -9
    region = np.array(["north", "south", "west"])[generator.integers(0, 3, n)].astype(object)
    region[30:36] = None
    frame = pl.DataFrame(
        {
            "person": np.arange(1, n + 1),
            "weight": generator.uniform(0.5, 2.0, n),
            "age": age,
            "smokes": smokes,
            "region": pl.Series(region.tolist(), dtype=pl.String),
            "health": pl.Series(health).fill_nan(None),
            "cigarettes": cigarettes,
        }
    )
    survey = read_survey(frame, DESCRIPTION)
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.empty((4, len(rows)))
    for cell, position in enumerate(positions):
        top = {0: 80, 2: 3, 3: 4, 4: 30}[position]
        draws[:, cell] = generator.integers(0 if position in (2, 3) else 1, top, 4)
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)
