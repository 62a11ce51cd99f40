"""Quotes texts that a spreadsheet would execute as formulas, with an apostrophe."""

from __future__ import annotations

import re

import polars as pl

from tabsoda.events import EventLog
from tabsoda.schema.codes import as_number

# Also with leading apostrophes, so that removing one always restores the original text.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def harmless(text: str) -> str:
    """Put an apostrophe before a text that starts like a formula; numbers are unchanged.

    Examples
    --------
    >>> [harmless(text) for text in ("=cmd()", "-1", "+", "no", "'=x")]
    ["'=cmd()", '-1', "'+", 'no', "''=x"]
    """
    if not _FORMULA.match(text) or as_number(text) is not None:
        return text
    return f"'{text}"


def harmless_frame(frame: pl.DataFrame, events: EventLog) -> pl.DataFrame:
    """Return a frame in which no text and no name is a formula; changes are logged as events."""
    columns = []
    for series in frame:
        columns.append(_harmless_series(series, events))
    return pl.DataFrame(columns)


def _harmless_series(series: pl.Series, events: EventLog) -> pl.Series:
    name = harmless(series.name)
    if name != series.name:
        events.add("name_quoted", column=series.name)
    if series.dtype != pl.String:
        return series.rename(name)
    changed = {
        text: harmless(text) for text in series.unique().drop_nulls() if harmless(text) != text
    }
    if changed:
        cells = int(series.is_in(list(changed)).sum())
        events.add("texts_quoted", column=series.name, cells=cells)
        series = series.replace(changed)
    return series.rename(name)
