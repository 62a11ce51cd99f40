"""Pooled estimates as a text table, eighty columns wide if possible."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tabsoda.analysis.pooled import RATIOS

if TYPE_CHECKING:
    from tabsoda.analysis.pooled import PooledEstimates

# Heading above the row (empty for none), label of the row, and its cells.
Row = tuple[str, str, tuple[str, ...]]
# Kinds of estimates that describe numbers; a test against 0 is not meaningful for them.
NUMBERS = ("mean", "total", "ratio of totals", "median", "quantile")
FMI = "fmi: fraction of missing information"
_INTERVAL = "95 % interval"
_LABEL_LINES = 3
_NARROWEST_LABEL = 12
# Above this many degrees of freedom, t is practically normal.
_MANY_DF = 1e6


def printable(text: str) -> str:
    r"""Make any label safe for a terminal: control characters and line breaks become spaces.

    Examples
    --------
    >>> printable("Don't\nknow\x1b[31m")
    "Don't know [31m"
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def headline(pooled: PooledEstimates) -> str:
    """Return the headline with the number of imputations."""
    return f"Pooled over {pooled.n_draws} imputations (Rubin's rules)"


def header(kind: str) -> tuple[str, ...]:
    """Return the headings of the cells, by the kind of estimate."""
    if kind in RATIOS:
        return (kind, "df", _INTERVAL, "p", "fmi")
    if kind == "share" or kind in NUMBERS:
        return (kind, "std error", "df", _INTERVAL, "N", "fmi")
    return ("estimate", "std error", "df", _INTERVAL, "p", "fmi")


def rows_of(pooled: PooledEstimates) -> list[Row]:
    """Return the rows of the table; levels are below their question."""
    labels = [(one.heading, one.text) for one in pooled.labels] or [("", n) for n in pooled.names]
    return [
        (printable(heading), printable(text), _cells(pooled, i))
        for i, (heading, text) in enumerate(labels)
    ]


def shown_rows(pooled: PooledEstimates) -> list[tuple[str, ...]]:
    """Return the cells of the table with the whole label first, a tuple per estimate."""
    return [(label, *_cells(pooled, i)) for i, label in enumerate(pooled.label_texts)]


def pooled_text(pooled: PooledEstimates, width: int = 80) -> str:
    """Format pooled estimates for a terminal; long labels and notes are wrapped."""
    lines = [headline(pooled)]
    if pooled.counts is not None:
        lines += textwrap.wrap(str(pooled.counts), width, subsequent_indent="  ")
    lines += table_lines(pooled.kind, rows_of(pooled), width)
    lines += note_lines((*pooled.notes, FMI), width)
    return "\n".join(lines)


def note_lines(notes: Iterable[str], width: int) -> list[str]:
    """Wrap notes, without duplicates."""
    unique = dict.fromkeys(notes)
    return [line for note in unique for line in textwrap.wrap(note, width, subsequent_indent="  ")]


def table_lines(kind: str, rows: Sequence[Row], width: int) -> list[str]:
    """Align rows below the header of their kind."""
    heads = header(kind)
    sizes = [
        max(len(cells[i]) for cells in (heads, *(r[2] for r in rows))) for i in range(len(heads))
    ]
    room = max(width - sum(sizes) - 2 * len(sizes), _NARROWEST_LABEL)
    indents = ["  " if heading else "" for heading, _, _ in rows]
    longest = max((len(i + row[1]) for i, row in zip(indents, rows, strict=True)), default=0)
    room = min(room, longest)
    lines = [_line("", heads, room, sizes)]
    above = ""
    for indent, (heading, label, cells) in zip(indents, rows, strict=True):
        if heading and heading != above:
            lines += textwrap.wrap(heading, width, subsequent_indent="  ")
        above = heading
        first, *more = textwrap.wrap(
            label or " ",
            # A label of one character is never cut: there is no room for the ellipsis.
            max(room, len(indent) + 3),
            initial_indent=indent,
            subsequent_indent=indent + "  ",
            max_lines=_LABEL_LINES,
            placeholder="…",
            drop_whitespace=bool(label.strip()),
        )
        lines += [_line(first, cells, room, sizes), *more]
    return lines


def _line(label: str, cells: Sequence[str], room: int, sizes: Sequence[int]) -> str:
    shown = [cell.rjust(size) for cell, size in zip(cells, sizes, strict=True)]
    return "  ".join([label.ljust(room), *shown]).rstrip()


def _cells(pooled: PooledEstimates, i: int) -> tuple[str, ...]:
    estimate, std_error, df = pooled.estimates[i], pooled.std_errors[i], df_text(pooled.df[i])
    low, high = pooled.intervals()[i]
    fmi = f"{pooled.missing_information[i]:.3f}"
    p_value = probability_text(pooled.p_values[i])
    if pooled.kind in RATIOS:
        ratios = [ratio_text(float(np.exp(value))) for value in (estimate, low, high)]
        return (ratios[0], df, f"{ratios[1]} to {ratios[2]}", p_value, fmi)
    used = "-" if pooled.counts is None else pooled.counts.used_text()
    if pooled.kind == "share":
        percents = [percent_text(value) for value in (estimate, std_error, low, high)]
        ends = f"{percents[2]} to {percents[3]}"
        return (f"{percents[0]} %", f"{percents[1]} %", df, f"{ends} %", used, fmi)
    shown = (number_text(estimate), number_text(std_error), df)
    ends = f"{number_text(low)} to {number_text(high)}"
    return (*shown, ends, used if pooled.kind in NUMBERS else p_value, fmi)


def number_text(value: float) -> str:
    """Format with three significant digits, and all digits before the decimal point."""
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def ratio_text(value: float) -> str:
    """Format a ratio, with three decimals near 1, so that 1.003 is not shown as 1.

    Examples
    --------
    >>> ratio_text(1.0034), ratio_text(0.0123), ratio_text(23.45)
    ('1.003', '0.0123', '23.4')
    """
    return f"{value:.3f}" if 0.1 <= value < 10 else number_text(value)


def percent_text(share: float) -> str:
    """Format a share in per cent with one decimal, without the sign.

    Examples
    --------
    >>> percent_text(0.1234), percent_text(0.00004), percent_text(0.0)
    ('12.3', '<0.1', '0.0')
    """
    percent = 100 * share
    return "<0.1" if 0 < percent < 0.05 else f"{percent:.1f}"


def df_text(value: float) -> str:
    """Format degrees of freedom; as infinite if t is practically normal.

    Examples
    --------
    >>> df_text(12.34), df_text(1234.5), df_text(4e8)
    ('12.3', '1,234', '∞')
    """
    if value >= _MANY_DF:
        return "∞"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def probability_text(value: float) -> str:
    """Format a p-value with three decimals.

    Examples
    --------
    >>> probability_text(0.0421), probability_text(0.0002)
    ('.042', '<.001')
    """
    if not np.isfinite(value):
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}".lstrip("0")
