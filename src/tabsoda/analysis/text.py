"""Pooled estimates as a table of text, eighty columns wide where names allow."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tabsoda.analysis.pooled import PooledEstimates

_FMI = "fmi: fraction of missing information"
HEADER = ("", "estimate", "std error", "df", "95 % interval", "p", "fmi")


def headline(pooled: PooledEstimates) -> str:
    """Say over what was pooled."""
    return f"Pooled over {pooled.n_draws} imputations (Rubin's rules)"


def shown_rows(pooled: PooledEstimates) -> list[tuple[str, ...]]:
    """Return the cells of the table, one tuple an estimate."""
    ends = pooled.intervals()
    return [
        (
            name,
            _number(pooled.estimates[i]),
            _number(pooled.std_errors[i]),
            _df(pooled.df[i]),
            f"{_number(ends[i, 0])} to {_number(ends[i, 1])}",
            _probability(pooled.p_values[i]),
            f"{pooled.missing_information[i]:.3f}",
        )
        for i, name in enumerate(pooled.names)
    ]


def pooled_text(pooled: PooledEstimates, width: int = 80) -> str:
    """Write pooled estimates for a terminal; long names are cut, notes wrapped."""
    rows = [HEADER, *shown_rows(pooled)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    room = max(width - sum(widths[1:]) - 2 * len(widths[1:]), 8)
    widths[0] = min(widths[0], room)
    lines = [headline(pooled)]
    for row in rows:
        name = row[0] if len(row[0]) <= widths[0] else row[0][: widths[0] - 1] + "…"
        cells = [cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *cells]).rstrip())
    for note in (*pooled.notes, _FMI):
        lines.extend(textwrap.wrap(note, width))
    return "\n".join(lines)


def _number(value: float) -> str:
    """Three significant digits, and all digits before the point of larger numbers."""
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _df(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _probability(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}".lstrip("0")
