"""A cross table as lines of text, in panels if its columns do not fit the width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tabsoda.analysis.text import percent_text, printable

if TYPE_CHECKING:
    from tabsoda.analysis.crosstab import PooledTable
    from tabsoda.analysis.pooled import PooledEstimates

_LABEL = 22
_CELL = 12
_HEADER_LINES = 3


def crosstab_lines(table: PooledTable, width: int) -> list[str]:
    """Return the row percentages, with intervals below."""
    heads = [printable(table.column.describe_level(level)) for level in table.column.levels]
    entries = [(printable(table.rows.describe(code)), one) for code, one in table.rows.items()]
    entries.append(("All", table.total))
    counts = [_used(one) for _, one in entries]
    room, n_room = min(_LABEL, max(len(text) for text, _ in entries)), max(map(len, counts))
    fit = max((width - room - 2 - n_room) // (_CELL + 2), 1)
    title = f"{table.rows.column.name} (rows) by {table.column.name} (columns)"
    lines = textwrap.wrap(f"{title}, % of row with 95 % interval", width)
    for start in range(0, len(heads), fit):
        places = range(start, min(start + fit, len(heads)))
        lines += [""] * (start > 0)
        for last, cells in _wrapped([heads[place] for place in places]):
            lines.append(_line("".ljust(room), ("N" if last else "").rjust(n_room), cells))
        for (text, one), n in zip(entries, counts, strict=True):
            first, *more = textwrap.wrap(text, room, max_lines=2, placeholder="…") or [""]
            shares, intervals = _cells(one, places)
            lines.append(_line(first.ljust(room), n.rjust(n_room), shares))
            lines.append(_line("".join(more).ljust(room), " " * n_room, intervals))
    return lines


def _used(one: PooledEstimates) -> str:
    return "-" if one.counts is None else one.counts.used_text()


def _wrapped(heads: Sequence[str]) -> list[tuple[bool, tuple[str, ...]]]:
    """Wrap headings to the width of a cell; return lines of cells and whether each is the last."""
    wrapped = [
        textwrap.wrap(head, _CELL, max_lines=_HEADER_LINES, placeholder="…") for head in heads
    ]
    depth = max(map(len, wrapped))
    padded = [[""] * (depth - len(lines)) + lines for lines in wrapped]
    return [(number == depth, c) for number, c in enumerate(zip(*padded, strict=True), 1)]


def _cells(one: PooledEstimates, places: Sequence[int]) -> tuple[list[str], list[str]]:
    ends = one.intervals()
    shares = [percent_text(one.estimates[place]) for place in places]
    return shares, [f"{percent_text(ends[p, 0])}–{percent_text(ends[p, 1])}" for p in places]


def _line(label: str, n: str, cells: Sequence[str]) -> str:
    return "  ".join([label, n, *(cell.rjust(_CELL) for cell in cells)]).rstrip()
