"""Estimates, groups and cross tables as text, eighty columns wide if possible."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tabsoda.analysis.crosstab import PooledTable
from tabsoda.analysis.crosstab_text import crosstab_lines
from tabsoda.analysis.groups import PooledGroups
from tabsoda.analysis.pooled import PooledEstimates
from tabsoda.analysis.text import (
    FMI,
    NUMBERS,
    Row,
    headline,
    note_lines,
    printable,
    rows_of,
    table_lines,
)
from tabsoda.schema.column import Code

Result = PooledEstimates | PooledGroups | PooledTable


def results_text(parts: Sequence[Result], width: int = 80) -> str:
    """Format results for a terminal: headline, counts and notes once, means in one table.

    Parameters
    ----------
    parts : sequence of PooledEstimates, PooledGroups or PooledTable
        One or more, of the same kind.
    width : int
        Columns of the terminal.
    """
    first = _first(parts[0])
    lines = [headline(first)]
    for part in parts:
        name = f"{_question(part)}: " if len(parts) > 1 else ""
        lines += textwrap.wrap(f"{name}{part.counts}", width, subsequent_indent="  ")
    if first.kind in NUMBERS and not isinstance(parts[0], PooledTable):
        lines += table_lines(first.kind, [row for part in parts for row in _rows(part)], width)
    else:
        for part in parts:
            lines += [""] * (len(parts) > 1) + _body(part, width)
    has_fmi = not isinstance(_member(parts[0]), PooledTable)
    notes = [note for part in parts for note in _notes(part)]
    return "\n".join([*lines, *note_lines([*notes, *[FMI] * has_fmi], width)])


def _member(part: Result) -> PooledEstimates | PooledTable:
    """Return a result, or the first of several by group."""
    return next(iter(part.values())) if isinstance(part, PooledGroups) else part


def _first(part: Result) -> PooledEstimates:
    member = _member(part)
    return member.total if isinstance(member, PooledTable) else member


def _question(part: Result) -> str:
    first = _first(part)
    return first.labels[0].question if first.labels else first.names[0]


def _group(groups: PooledGroups, code: Code) -> str:
    return printable(groups.describe(code))


def _rows(part: Result) -> list[Row]:
    """Return a row per estimate, or a row per group below the estimate's name."""
    if isinstance(part, PooledEstimates):
        return rows_of(part)
    if isinstance(part, PooledTable):
        return rows_of(part.total)
    return [
        (f"{name} by {part.column.name}", _group(part, code), rows_of(one)[place][2])
        for place, name in enumerate(_first(part).names)
        for code, one in part.items()
    ]


def _body(part: Result, width: int) -> list[str]:
    if isinstance(part, PooledEstimates):
        return table_lines(part.kind, rows_of(part), width)
    if isinstance(part, PooledTable):
        return crosstab_lines(part, width)
    lines: list[str] = []
    for code, one in part.items():
        title = f"{part.column.name}: {_group(part, code)}; N = {one.counts.used_text()}"
        lines += ["", *textwrap.wrap(title, width, subsequent_indent="  "), *_body(one, width)]
    return lines


def _notes(part: Result) -> list[str]:
    """Return the notes: groups not estimated, imputed membership, weights."""
    if isinstance(part, PooledEstimates):
        return list(part.notes)
    if isinstance(part, PooledTable):
        return [*_notes(part.rows), *part.total.notes]
    failed = [
        f"Not estimated: {part.column.name} {_group(part, code)}: {why}"
        for code, why in part.failed.items()
    ]
    return [*failed, *part.notes, *(note for one in part.values() for note in _notes(one))]
