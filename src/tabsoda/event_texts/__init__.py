"""The sentences of events: one catalogue of every kind, and functions that write them.

Input: events. Output: texts for commands, reports and JSON. Nothing reads these texts back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tabsoda.event_texts.diagnosing import DIAGNOSING
from tabsoda.event_texts.exporting import EXPORTING
from tabsoda.event_texts.fitting import FITTING
from tabsoda.event_texts.imputing import IMPUTING
from tabsoda.event_texts.reading import READING
from tabsoda.event_texts.skips import SKIPS
from tabsoda.event_texts.template import EventText, is_given, render, write_value
from tabsoda.events import EARLIER_VERSION, Event

CATALOGUE: dict[str, EventText] = READING | SKIPS | FITTING | IMPUTING | DIAGNOSING | EXPORTING
# Values that are sentences written elsewhere, such as the message of an error: they may state
# counts of their own.
FREE_TEXTS = frozenset({"note", "message", "detail"})
# In an event that several shards of a table logged: their number; the other values are the first's.
FIRST_OF_SHARDS = "first_of_shards"


def stage(event: Event) -> str:
    """Return the stage in which a decision was taken.

    Examples
    --------
    >>> stage(Event("empty_lines_dropped", counts={"lines": 1}))
    'read'
    """
    if event.kind == EARLIER_VERSION:
        return str(event.counts["stage"])
    known = CATALOGUE.get(event.kind)
    return "other" if known is None else known.stage


def heading(event: Event) -> str:
    """Return what was decided, the same for all events of a kind.

    Examples
    --------
    >>> heading(Event("empty_lines_dropped", counts={"lines": 1}))
    'empty lines dropped'
    """
    if event.kind == EARLIER_VERSION:
        return str(event.counts["decision"])
    known = CATALOGUE.get(event.kind)
    return event.kind.replace("_", " ") if known is None else known.heading


def detail(event: Event) -> str:
    """Return why, with the numbers; empty where the heading says it all.

    Of a kind that is not in the catalogue, such as one of a later version, the values are listed.

    Examples
    --------
    >>> detail(Event("empty_lines_dropped", counts={"lines": 1}))
    '1 line'
    """
    if event.kind == EARLIER_VERSION:
        return str(event.counts["detail"])
    known = CATALOGUE.get(event.kind)
    text = None if known is None else render(known.detail, event.counts)
    if text is None:
        own = {name: value for name, value in event.counts.items() if name != FIRST_OF_SHARDS}
        shown = {name: write_value(value) for name, value in own.items() if is_given(value)}
        text = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in shown.items())
    shards = event.counts.get(FIRST_OF_SHARDS)
    if shards is None:
        return text
    where = f"in the first of {write_value(shards)} shards"
    return f"{text}; {where}" if text else where


def sentence(event: Event) -> str:
    """Return column, heading and detail as one text.

    Examples
    --------
    >>> sentence(Event("column_constant", "wave", {"answers": 300}))
    'wave: constant (300 equal answers)'
    """
    why = detail(event)
    start = "" if event.column is None else f"{event.column}: "
    return f"{start}{heading(event)}{f' ({why})' if why else ''}"


def to_dicts_with_text(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return events for JSON that people read, too: ``kind``, ``column``, ``counts``, ``text``.

    Examples
    --------
    >>> to_dicts_with_text([Event("empty_lines_dropped", counts={"lines": 1})])[0]["text"]
    'empty lines dropped (1 line)'
    """
    return [event.to_dict() | {"text": sentence(event)} for event in events]
