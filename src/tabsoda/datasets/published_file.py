"""Build a benchmark from a published survey file: choose variables and interpret codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from tabsoda.errors import InputError
from tabsoda.schema.codes import as_number, plain
from tabsoda.schema.column import Code, Column, ColumnKind, Reason
from tabsoda.schema.reasons import reason_from_label

if TYPE_CHECKING:
    import polars as pl

    from tabsoda.reading.raw import RawTable
    from tabsoda.schema.hints import ColumnHints
    from tabsoda.survey import Survey

# Returns the missing codes of a column and their reasons, given its distinct numbers.
CodeRule = Callable[[Sequence[float]], Mapping[Code, Reason]]
# Absent variables that an error names.
_SHOWN = 5


@dataclass(frozen=True)
class Candidate:
    """A variable that may enter a benchmark, and the part of the questionnaire it is from."""

    column: Column
    section: str


@dataclass(frozen=True)
class PublishedSurvey:
    """A published survey, for messages.

    Attributes
    ----------
    title : str
    address : str
        The web page from which the file is downloaded.
    """

    title: str
    address: str

    @property
    def where(self) -> str:
        """Say where to get the file."""
        return f"Download the file from {self.address}"


def read_published(path: str | Path, codebook: str | Path | None = None) -> RawTable:
    """Read the file, with labels filled in from a codebook: DDI (.xml), .toml or .json."""
    from tabsoda.reading.files import read_file

    raw = read_file(Path(path))
    if codebook is not None:
        book = {name.upper(): hints for name, hints in _codebook(Path(codebook)).items()}
        for name in raw.frame.columns:
            if name.upper() in book:
                raw.hints[name] = raw.hint(name).filled_from(book[name.upper()])
    return raw


def _codebook(path: Path) -> dict[str, ColumnHints]:
    """Read labels and scales; a description's codes are left to the survey's own rule."""
    from tabsoda.reading.codebook import read_codebook
    from tabsoda.schema.files import load_schema
    from tabsoda.schema.hints import ColumnHints

    if path.suffix.lower() not in (".toml", ".json"):
        return read_codebook(path)
    measures = {ColumnKind.CONTINUOUS: "scale"}
    return {
        column.name: ColumnHints(
            label=column.label,
            level_labels=column.level_labels,
            measure=measures.get(column.kind, column.kind.value),
            # An order that somebody wrote down counts more than labels that are not understood.
            order=column.levels if column.kind is ColumnKind.ORDINAL else (),
        )
        for column in load_schema(path)
    }


def find_name(raw: RawTable, *names: str) -> str | None:
    """Return the file's spelling of the first of these names that it has, whatever the case."""
    spelled = {name.upper(): name for name in raw.frame.columns}
    return next((spelled[name.upper()] for name in names if name.upper() in spelled), None)


def require(
    raw: RawTable,
    variables: Iterable[Sequence[str]],
    survey: PublishedSurvey,
    otherwise: str = "",
) -> None:
    """Raise if the file lacks one of these variables, each given by its names in releases."""
    wanted = list(variables)
    absent = [names[0] for names in wanted if find_name(raw, *names) is None]
    if not absent:
        return
    shown = ", ".join(f"'{name}'" for name in absent[:_SHOWN])
    more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
    raise InputError(
        f"The file '{raw.source}' has no column{'s' * (len(absent) > 1)} {shown}{more}",
        found=f"{len(wanted) - len(absent)} of {len(wanted)} variables; the file's columns are "
        f"{', '.join(raw.frame.columns[:3])} and {max(raw.frame.width - 3, 0)} more",
        expected=f"the variables of {survey.title}",
        next_step=f"Check that it is the file of that survey and year. {survey.where}{otherwise}",
    )


def describe_column(
    series: pl.Series, hints: ColumnHints, rule: CodeRule, kind: ColumnKind | None = None
) -> Column:
    """Describe one variable: codes by label if there is one, else by the survey's rule.

    Parameters
    ----------
    series : polars.Series
        As published.
    hints : ColumnHints
    rule : callable
        Returns the missing codes among the numbers that occur or are labelled.
    kind : ColumnKind, optional
        Known kind; without it the labels and levels decide.
    """
    from tabsoda.schema.inference import propose_column
    from tabsoda.schema.special_codes import special_codes

    distinct = series.drop_nulls().unique().to_list()
    numbers = sorted(n for value in distinct if (n := as_number(value)) is not None)
    labels = {
        as_number(code): reason
        for code, text in hints.level_labels.items()
        if (reason := reason_from_label(text, declared=True)) is not None
    }
    # Codes that are labelled but never occur are still codes, not levels.
    labelled = [n for code in hints.level_labels if (n := as_number(code)) is not None]
    codes = {
        plain(code): labels.get(as_number(code), reason)
        for code, reason in rule(sorted({*numbers, *labelled})).items()
    }
    known = replace(hints, missing_codes=(*hints.missing_codes, *codes))
    by_file = special_codes([], known)
    column = propose_column(series, known)
    special = {plain(code): codes.get(plain(code), why) for code, why in by_file.items()}
    column = replace(column, special_codes=special)
    if kind is None or kind is column.kind:
        return column
    levels: tuple[Code, ...] = ()
    if kind is not ColumnKind.CONTINUOUS:
        levels = column.levels or tuple(plain(n) for n in numbers if plain(n) not in special)
    return replace(column, kind=kind, levels=levels, note="known from the survey's codebook")


def choose(
    candidates: Sequence[Candidate],
    quotas: Mapping[ColumnKind, int] | int,
    required: Iterable[str] = (),
) -> tuple[Column, ...]:
    """Choose variables section by section in turn, each section in the order of the file.

    Parameters
    ----------
    candidates : sequence of Candidate
        In the order of the file.
    quotas : mapping of ColumnKind to int, or int
        How many of each kind, or of all; fewer where the file has fewer.
    required : iterable of str
        Chosen first.

    Returns
    -------
    tuple of Column
        In the order of the file.
    """
    sections: dict[str, list[Column]] = {}
    for candidate in candidates:
        sections.setdefault(candidate.section, []).append(candidate.column)
    in_turn = [c for turn in zip_longest(*sections.values()) for c in turn if c is not None]
    wanted = {name.upper() for name in required}
    in_turn.sort(key=lambda column: column.name.upper() not in wanted)
    left = {"any": quotas} if isinstance(quotas, int) else {k.value: n for k, n in quotas.items()}
    chosen: set[str] = set()
    for column in in_turn:
        key = "any" if isinstance(quotas, int) else column.kind.value
        if left.get(key, 0) > 0:
            left[key] -= 1
            chosen.add(column.name)
    return tuple(c.column for c in candidates if c.column.name in chosen)


def build(raw: RawTable, columns: tuple[Column, ...], wanted: str) -> Survey:
    """Read the chosen columns into a Survey, with an event that records the choice."""
    from tabsoda.reading.survey_reader import read_survey
    from tabsoda.schema.schema import Schema

    if not columns:
        raise InputError(
            f"The file '{raw.source}' has none of the requested variables",
            expected=wanted,
            next_step="Check that it is the right file; text files need a codebook for labels",
        )
    names = [column.name for column in columns]
    survey = read_survey(raw.frame.select(names), Schema(columns), unlisted="missing")
    kinds = [column.kind for column in columns]
    survey.events.add(
        "variables_chosen",
        continuous=kinds.count(ColumnKind.CONTINUOUS),
        nominal=kinds.count(ColumnKind.NOMINAL),
        ordinal=kinds.count(ColumnKind.ORDINAL),
        asked_for=wanted,
    )
    return replace(survey, source=raw.source)
