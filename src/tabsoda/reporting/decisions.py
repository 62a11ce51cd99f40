"""Every automatic decision, grouped so that many columns do not hide the one that matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tabsoda.events import Event
from tabsoda.reporting.suppression import withhold_in_text

# Columns and details shown for one kind of decision; the JSON holds every one.
MOST_SHOWN = 12
ROUTING = "routing"


def group_events(events: Iterable[Event], suppress_below: int = 0) -> list[dict[str, Any]]:
    """Group decisions by stage and kind, in the order they were first taken.

    Returns
    -------
    list of dict
        ``stage``, ``decision``, ``times`` and ``cases`` (column and detail of each).

    Examples
    --------
    >>> found = group_events([Event("encode", "ordinal sent to bits", "Q7", "91 %"),
    ...                       Event("encode", "ordinal sent to bits", "Q8", "95 %")])
    >>> found[0]["times"], [case["column"] for case in found[0]["cases"]]
    (2, ['Q7', 'Q8'])
    """
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        groups.setdefault((event.stage, event.decision), []).append(event)
    return [
        {
            "stage": stage,
            "decision": decision,
            "times": len(group),
            "cases": [
                {"column": one.column, "detail": withhold_in_text(one.detail, suppress_below)}
                for one in group
            ],
        }
        for (stage, decision), group in groups.items()
    ]


def gate_conflicts(
    events: Iterable[Event], counts: dict[str, Any] | None, suppress_below: int = 0
) -> dict[str, Any] | None:
    """Say how missing gates and the questions behind them were settled; None where nothing was.

    Parameters
    ----------
    events : iterable of Event
        Those of stage ``"routing"`` are told.
    counts : dict or None
        What the run counted, such as the manifest's ``routing``.
    suppress_below : int
    """
    told = group_events((one for one in events if one.stage == ROUTING), suppress_below)
    numbers = {
        name.replace("_", " "): _shown(value, suppress_below)
        for name, value in (counts or {}).items()
        if isinstance(value, int | float | str) and not isinstance(value, bool)
    }
    return {"counts": numbers, "events": told} if told or numbers else None


def _shown(value: float | str, suppress_below: int) -> float | str:
    if isinstance(value, int) and 0 < value < suppress_below:
        return f"fewer than {suppress_below}"
    return value
