"""A table of results as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tabsoda.bench.tables.table_formats import Entry, Table
from tabsoda.cli.rule_text import columns, paragraph

_NOTHING = "–"


def table_text(table: Table, width: int) -> Iterator[str]:
    r"""Write a table whose first column is the survey: whole if it fits, else one per survey.

    Tables per survey show only means. The best is starred, because not all terminals have bold.

    Parameters
    ----------
    table : Table
    width : int
        Columns of the terminal.

    Examples
    --------
    >>> rows = ((Entry("s"), Entry("mode"), Entry("0.50 ± 0.01", bold=True)),)
    >>> table = Table("T", ("Survey", "Method", "Ord. acc."), rows, "Mean ± SD; best in bold.")
    >>> print("\n".join(table_text(table, 80)))
    T
    Survey  Method     Ord. acc.
    s       mode    0.50 ± 0.01*
    Mean ± SD; best starred.
    >>> print("\n".join(table_text(table, 27)))
    T
    <BLANKLINE>
    s
             Ord.
    Method   acc.
    mode    0.50*
    Mean (± in tables.md); best
      starred.
    """
    note = table.note.replace("in bold", "starred")
    lines = list(columns([[*table.header], *map(_starred, table.rows)], left=table.left))
    yield table.title
    if max(map(len, lines)) <= width:
        yield from lines
        yield paragraph(note, width)
        return
    for survey, rows in groupby(table.rows, key=lambda row: row[0].text):
        body = [[_mean(entry) for entry in row[1:]] for row in rows]
        kept = [place for place, cells in enumerate(zip(*body, strict=True)) if _has_content(cells)]
        heads = [_split(table.header[1 + place]) for place in kept]
        cells = [[row[place] for place in kept] for row in body]
        yield from ("", survey)
        yield from columns([*map(list, zip(*heads, strict=True)), *cells], left=1)
    yield paragraph(note.replace("Mean ± SD", "Mean (± in tables.md)"), width)


def _starred(row: tuple[Entry, ...]) -> list[str]:
    return [entry.text + "*" * entry.bold for entry in row]


def _mean(entry: Entry) -> str:
    return entry.text.split(" ±")[0] + "*" * entry.bold


def _has_content(cells: tuple[str, ...]) -> bool:
    """Return whether a column contains anything but blanks."""
    return any(cell != _NOTHING for cell in cells)


def _split(heading: str) -> tuple[str, str]:
    """Split a heading into two lines at its first space."""
    first, _, rest = heading.partition(" ")
    return (first, rest) if rest else ("", first)
