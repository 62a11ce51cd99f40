"""The two surveys of the paper: their files, benchmarks, presets and sizes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tabsoda.datasets import nsduh, path_study
from tabsoda.datasets.listed_variables import listed_variables
from tabsoda.datasets.published_file import PublishedSurvey
from tabsoda.errors import InputError
from tabsoda.schema.column import ColumnKind
from tabsoda.survey import Survey


@dataclass(frozen=True)
class Source:
    """A survey of the paper.

    Attributes
    ----------
    name : str
        Also the preset of the paper's engine.
    label : str
        The name in tables.
    published : PublishedSurvey
    build : callable
        ``build(raw, subset, partial=...)`` returns the Survey of a file that has been read.
    miner_presets : mapping of int to str
        The miner's settings by number of variables.
    rows : int
        Respondents in the paper.
    kinds : mapping of ColumnKind to int
        Variables of each kind in the paper's benchmark.
    file_name : re.Pattern
        What the names of the survey's own data files look like, where a folder has several.
    """

    name: str
    label: str
    published: PublishedSurvey
    build: Callable[..., Survey]
    miner_presets: Mapping[int, str]
    rows: int
    kinds: Mapping[ColumnKind, int]
    file_name: re.Pattern[str]

    @property
    def listed(self) -> tuple[tuple[str, ...], ...]:
        """The listed variables, each by its names in releases of the file."""
        return tuple(variable.names for variable in listed_variables(self.name))

    def count(self, names: list[str]) -> int:
        """Return how many listed variables are among these column names."""
        known = {name.upper() for name in names}
        return sum(any(name.upper() in known for name in names) for names in self.listed)


SOURCES: Mapping[str, Source] = {
    "path": Source(
        "path",
        "PATH",
        path_study.SURVEY,
        path_study.path_survey,
        {50: "path", 100: "path", 200: "path"},
        32_320,
        path_study.QUOTAS,
        re.compile(r"1001"),
    ),
    "nsduh": Source(
        "nsduh",
        "NSDUH",
        nsduh.SURVEY,
        nsduh.nsduh_survey,
        {50: "nsduh-50", 100: "nsduh-100", 200: "nsduh-200"},
        58_034,
        Counter(variable.kind for variable in listed_variables("nsduh")),
        re.compile(r"2021"),
    ),
}


def source_of(name: str) -> Source:
    """Return a survey of the paper by name.

    Examples
    --------
    >>> source_of("path").rows
    32320
    """
    if name not in SOURCES:
        raise InputError(
            "The paper has no such survey", found=repr(name), expected=" or ".join(SOURCES)
        )
    return SOURCES[name]
