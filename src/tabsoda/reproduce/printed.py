"""The numbers that the paper prints."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

# The numbers of the paper's tables, as typeset.
BENCHMARK_TABLES = {"mar": 2, "mcar": 7, "mnar": 8}
ABLATION_TABLES = {"mar": 3, "mcar": 9, "mnar": 10}
MINER_TABLE = 4


@cache
def _printed() -> Mapping[str, Any]:
    return tomllib.loads(files("tabsoda.reproduce").joinpath("printed.toml").read_text("utf-8"))


def printed_scores(survey: str, mechanism: str) -> Mapping[str, Mapping[str, list[float]]]:
    """Return mean and SD of each metric by method.

    Examples
    --------
    >>> printed_scores("path", "mar")["tabsoda"]["mace"]
    [0.455, 0.087]
    """
    scores: Mapping[str, Mapping[str, list[float]]] = _printed()["imputation"][survey][mechanism]
    return scores


def printed_miner(survey: str) -> list[Mapping[str, Any]]:
    """Return the rows of the miner's table for a survey."""
    return [row for row in _printed()["miner"] if row["survey"] == survey]
