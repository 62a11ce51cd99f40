"""What a script has to do, before it is written in a language."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from tabsoda.analysis.estimates import with_levels, with_numbers
from tabsoda.analysis.formula import check_formula
from tabsoda.analysis.quantiles import ordered_numbers
from tabsoda.analysis.request import EstimateRequest, parse_quantiles, parse_ratio
from tabsoda.analysis.sample_design import SampleDesign, find_sample
from tabsoda.analysis.text import printable
from tabsoda.analysis.variables import Variable, column_names, find_variable
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.publishing.scripts import conditions
from tabsoda.schema.column import Code, Column, ColumnKind

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# What a column must be to be estimated; raises as the estimate itself does.
_CHECKS: dict[str, Callable[[Any, str], object]] = {
    "mean": with_numbers,
    "total": with_numbers,
    "ratio": with_numbers,
    "quantile": ordered_numbers,
    "share": with_levels,
}
_MODULES = {"r": "r_mice", "stata": "stata", "parquet": "parquet_files"}


@dataclass(frozen=True, eq=False)
class ScriptColumn:
    """A column that a script uses.

    Attributes
    ----------
    name : str
        In the survey.
    written : str
        In the exported file.
    variable : Variable
    is_question : bool
        Whether it is imputed; other columns are written as published.
    """

    name: str
    written: str
    variable: Variable
    is_question: bool

    @property
    def column(self) -> Column:
        """The description."""
        return self.variable.column

    @property
    def has_numbers(self) -> bool:
        """Whether its answers are numbers; otherwise they are levels that are texts."""
        return self.variable.has_numbers()

    @property
    def is_factor(self) -> bool:
        """Whether a formula takes the column as categorical without ``C()``."""
        if not self.is_question:
            return not self.has_numbers
        return self.column.is_categorical and not (
            self.column.kind is ColumnKind.ORDINAL and self.has_numbers
        )

    @property
    def blanks(self) -> tuple[Code, ...]:
        """Codes for "no answer" that an export leaves in columns that are not questions."""
        return () if self.is_question else tuple(self.column.special_codes)


@dataclass(frozen=True)
class Part:
    """One estimate of a script.

    Attributes
    ----------
    kind : {"mean", "total", "share", "ratio", "quantile", "model"}
    names : tuple of str
        The columns whose answers are needed.
    quantiles : tuple of float
    """

    kind: str
    names: tuple[str, ...]
    quantiles: tuple[float, ...] = ()

    @property
    def title(self) -> str:
        """What is estimated, for a comment."""
        first, last = printable(self.names[0]), printable(self.names[-1])
        return {
            "mean": f"Mean of {first}",
            "total": f"Total of {first}",
            "share": f"Shares of the answers to {first}",
            "ratio": f"Total of {first} over total of {last}",
            "quantile": f"Quantiles of {first}",
            "model": "Regression",
        }[self.kind]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a script has to do.

    Attributes
    ----------
    result : Imputations
    request : EstimateRequest
    export : str
        The format of the files that it reads.
    parts : tuple of Part
    columns : dict of str to ScriptColumn
        All columns that it needs, by their names in the survey.
    design : SampleDesign or None
        None for a simple random sample.
    groups : tuple of str
        Columns whose groups are estimated one by one: that of ``by``, and the rows of a table.
    """

    result: Imputations
    request: EstimateRequest
    export: str
    parts: tuple[Part, ...]
    columns: dict[str, ScriptColumn]
    design: SampleDesign | None
    groups: tuple[str, ...]

    @property
    def with_total(self) -> bool:
        """Whether the groups are the rows of a table, which also has a line for all."""
        return self.request.kind == "table"

    def written(self, name: str) -> str:
        """Return the name of a column in the exported file."""
        return self.columns[name].written

    def levels(self, name: str) -> tuple[Code, ...]:
        """Return the levels of a column; of numbers, the different values of all draws."""
        one = self.columns[name]
        if one.column.levels:
            return one.column.levels
        import numpy as np

        from tabsoda.schema.codes import plain

        draws = range(1, len(self.result) + 1)
        values = np.unique(np.concatenate([one.variable.coded(draw) for draw in draws]))
        return tuple(plain(float(value)) for value in values[~np.isnan(values)])

    def head(self) -> list[str]:
        """Return the lines of the comment at the top."""
        from tabsoda._version import __version__

        # On one line each: a line break would end the comment.
        return [
            printable(self.request.title),
            f"The same as: {printable(self.request.command('RESULT'))}",
            f"Written by TabSODA {__version__}. Run it in the folder of:"
            f" tabsoda export RESULT --to {self.export} -o FOLDER",
        ]


def make_plan(result: Imputations, request: EstimateRequest, export: str) -> Plan:
    """Check a request, and return what its script has to do.

    Parameters
    ----------
    result : Imputations
    request : EstimateRequest
    export : {"r", "stata", "parquet"}
    """
    module = import_module(f"tabsoda.exchange.{_MODULES[export]}")
    portable = module.portable(result, EventLog())
    written = {one.column.name: one.name for one in portable.questions} | portable.others
    # These raise for what cannot be estimated, as the estimate itself would.
    selected_rows(result, request.where)
    design = request.design.of(result)
    sampled = find_sample(result, design=design) is not None
    parts = tuple(_parts(result, request))
    groups = tuple(name for name in (request.by, *_rows_of_table(request)) if name)
    names = dict.fromkeys(
        [
            *(name for part in parts for name in part.names),
            *groups,
            *_names_in(request.where),
            *(_names_of(design) if sampled else ()),
        ]
    )
    for part in parts:
        for name in part.names:
            _CHECKS.get(part.kind, find_variable)(result, name)
    found = {name: find_variable(result, name) for name in names}
    columns = {
        name: ScriptColumn(name, written[name], variable, name in result.table.names)
        for name, variable in found.items()
    }
    for one in columns.values():
        _check_type(result, one)
    return Plan(result, request, export, parts, columns, design if sampled else None, groups)


def _parts(result: Imputations, request: EstimateRequest) -> Iterable[Part]:
    kind, of = request.kind, request.of
    if kind == "formula":
        yield Part("model", check_formula(of[0], column_names(result)))
    elif kind == "table":
        yield Part("share", (of[1],))
    elif kind == "ratio":
        yield from (Part("ratio", parse_ratio(text)) for text in of)
    elif kind == "median":
        yield from (Part("quantile", (name,), (0.5,)) for name in of)
    elif kind == "quantile":
        found = parse_quantiles(of).items()
        yield from (Part("quantile", (name,), tuple(shares)) for name, shares in found)
    else:
        yield from (Part(kind, (name,)) for name in of)


def _rows_of_table(request: EstimateRequest) -> tuple[str, ...]:
    return request.of[:1] if request.kind == "table" else ()


def _names_in(where: str | None) -> list[str]:
    import ast

    return [] if where is None else conditions.column_names(ast.parse(where.strip(), mode="eval"))


def _names_of(design: SampleDesign) -> list[str]:
    parts: tuple[Any, ...] = (design.weights, design.strata, design.clusters, design.population)
    return [part for part in parts if isinstance(part, str)]


def _check_type(result: Imputations, one: ScriptColumn) -> None:
    """Raise for columns whose values programs read differently, such as dates."""
    if one.is_question or result.survey is None:
        return
    kind = result.survey.frame[one.name].dtype
    if not (kind.is_numeric() or kind in (pl.String, pl.Categorical, pl.Enum)):
        raise InputError(
            "cannot be used in code for another program",
            column=one.name,
            found=f"values of the type {kind}",
            expected="numbers or texts",
        )
