"""The variables that a benchmark lists by name: kind, domain, question and reason of each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tabsoda.schema.column import ColumnKind


@dataclass(frozen=True)
class ListedVariable:
    """A variable of a published survey that a benchmark lists.

    Attributes
    ----------
    names : tuple of str
        Its names in releases of the file, the usual one first.
    kind : ColumnKind
    domain, question : str
    reason : str
        Why it is in the benchmark.
    """

    names: tuple[str, ...]
    kind: ColumnKind
    domain: str
    question: str
    reason: str


@cache
def listed_variables(survey: str) -> tuple[ListedVariable, ...]:
    """Read the list of ``"nsduh"`` or ``"path"``.

    Examples
    --------
    >>> [variable.names[0] for variable in listed_variables("nsduh")][:2]
    ['IRSEX', 'NEWRACE2']
    """
    text = files("tabsoda.datasets").joinpath(f"{survey}_variables.toml").read_text("utf-8")
    return tuple(
        ListedVariable(
            tuple(entry["names"]),
            ColumnKind(entry["kind"]),
            entry["domain"],
            entry["question"],
            entry["reason"],
        )
        for entry in tomllib.loads(text)["variables"]
    )
