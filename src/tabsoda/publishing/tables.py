"""Pooled estimates as a table to copy: TSV, Markdown, HTML or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tabsoda.analysis.crosstab import PooledTable
from tabsoda.analysis.groups import PooledGroups
from tabsoda.analysis.pooled import PooledEstimates
from tabsoda.analysis.request import EstimateRequest
from tabsoda.analysis.results_text import Result
from tabsoda.analysis.text import header, percent_text, printable, shown_rows
from tabsoda.bench.tables.table_formats import FORMATS, Entry, Table
from tabsoda.errors import InputError

TABLE_FORMATS = ("tsv", *FORMATS)


def result_table(request: EstimateRequest, parts: Sequence[Result]) -> Table:
    """Return the estimates of a request as one table of texts.

    Parameters
    ----------
    request : EstimateRequest
    parts : sequence of PooledEstimates, PooledGroups or PooledTable
        What :meth:`EstimateRequest.estimate` returns.

    Examples
    --------
    >>> from tabsoda.analysis import pool
    >>> pooled = pool([2.0, 2.5, 3.0], [1.0, 1.0, 1.0], names=["AGE"])
    >>> table = result_table(EstimateRequest("mean", ("AGE",)), [pooled])
    >>> [entry.text for entry in table.rows[0]]
    ['AGE', '2.5', '1.15', '32.0', '0.148 to 4.85', '.038', '0.293']
    """
    first = _member(parts[0])
    depth = _depth(parts[0])
    if isinstance(first, PooledTable):
        heads = [printable(first.column.describe_level(one)) for one in first.column.levels]
        names = (*[""] * depth, first.rows.column.name, "N", *heads)
        rows = [row for part in parts for row in _crosstab_rows(part, ())]
    else:
        names = (*[""] * depth, "", *header(first.kind))
        rows = [row for part in parts for row in _rows(part, ())]
    names = tuple(name or ("group" if place < depth else "") for place, name in enumerate(names))
    notes = [_sentence(note) for part in parts for note in _notes(part)]
    notes.append(f"Pooled over {_draws(first)} imputations by Rubin's rules.")
    if isinstance(first, PooledTable):
        notes.append("Row percentages with 95 % intervals.")
    else:
        notes.append("The fmi is the fraction of missing information.")
    entries = tuple(tuple(Entry(cell) for cell in row) for row in rows)
    note = " ".join(dict.fromkeys(notes))
    return Table(request.title, names, entries, note, left=depth + 1)


def table_text(table: Table, form: str) -> str:
    r"""Write a table in a format.

    Examples
    --------
    >>> table = Table("T", ("", "mean"), ((Entry("AGE"), Entry("2.5")),), "A note.", left=1)
    >>> table_text(table, "tsv")
    '\tmean\nAGE\t2.5\n'
    """
    if form == "tsv":
        lines = [table.header, *([entry.text for entry in row] for row in table.rows)]
        return "".join("\t".join(_cell(text) for text in line) + "\n" for line in lines)
    if form not in FORMATS:
        raise InputError("Unknown format", found=repr(form), expected=", ".join(TABLE_FORMATS))
    return FORMATS[form](table)


def _cell(text: str) -> str:
    return " ".join(text.split())


def _member(part: Any) -> Any:
    while isinstance(part, PooledGroups):
        part = next(iter(part.values()))
    return part


def _depth(part: Any) -> int:
    """Return by how many columns a result is grouped."""
    return 1 + _depth(next(iter(part.values()))) if isinstance(part, PooledGroups) else 0


def _draws(one: PooledEstimates | PooledTable) -> int:
    return one.total.n_draws if isinstance(one, PooledTable) else one.n_draws


def _rows(part: Any, groups: tuple[str, ...]) -> list[tuple[str, ...]]:
    if isinstance(part, PooledEstimates):
        rows = shown_rows(part)
        return [(*groups, printable(label), *map(_known, cells)) for label, *cells in rows]
    return [row for code, one in part.items() for row in _rows(one, (*groups, _name(part, code)))]


def _crosstab_rows(part: Any, groups: tuple[str, ...]) -> list[tuple[str, ...]]:
    if isinstance(part, PooledGroups):
        return [
            row
            for code, one in part.items()
            for row in _crosstab_rows(one, (*groups, _name(part, code)))
        ]
    entries = [(printable(part.rows.describe(code)), one) for code, one in part.rows.items()]
    return [(*groups, *_shares(name, one)) for name, one in [*entries, ("All", part.total)]]


def _shares(name: str, one: PooledEstimates) -> tuple[str, ...]:
    ends = one.intervals()
    cells = [
        _known(f"{percent_text(share)} ({percent_text(low)} to {percent_text(high)})")
        for share, (low, high) in zip(one.estimates, ends, strict=True)
    ]
    return (name, "-" if one.counts is None else one.counts.used_text(), *cells)


def _known(cell: str) -> str:
    """Return a cell as one line, or a dash for a number that is withheld."""
    return "–" if re.search(r"\bnan\b", cell) else printable(cell)


def _name(groups: PooledGroups, code: Any) -> str:
    return f"{groups.column.name}: {printable(groups.describe(code))}"


def _notes(part: Any) -> list[str]:
    """Return counts, groups that were not estimated, and other notes."""
    notes = [str(part.counts)] if part.counts is not None else []
    return [*notes, *_group_notes(part), *_last_notes(_member(part))]


def _group_notes(part: Any) -> list[str]:
    if isinstance(part, PooledTable):
        return _group_notes(part.rows)
    if not isinstance(part, PooledGroups):
        return []
    failed = [f"Not estimated: {_name(part, code)}: {why}" for code, why in part.failed.items()]
    return [*failed, *part.notes, *(note for one in part.values() for note in _group_notes(one))]


def _last_notes(one: PooledEstimates | PooledTable) -> tuple[str, ...]:
    return one.total.notes if isinstance(one, PooledTable) else one.notes


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
