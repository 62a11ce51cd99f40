"""Pooled estimates as a figure: a dot and an interval for each, in the style of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from tabsoda._internal.svg import element, number, picture, scale
from tabsoda.analysis.crosstab import PooledTable
from tabsoda.analysis.groups import PooledGroups
from tabsoda.analysis.pooled import RATIOS, PooledEstimates
from tabsoda.analysis.request import EstimateRequest
from tabsoda.analysis.results_text import Result
from tabsoda.analysis.text import printable, ratio_text
from tabsoda.report.charts import ticks

_WIDTH, _LEFT, _RIGHT, _TOP, _STEP = 720, 300, 24, 44, 22
# More rows than this are not drawn: nobody could read them.
MOST_ROWS = 80
_LABEL, _TITLE = 44, 96
_STYLE = """
text { fill: #5e5e58; font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
.head { fill: #1c1c1a; font-weight: 600; } .name { fill: #1c1c1a; } .grid { stroke: #dcdcd4; }
.null { stroke: #1c1c1a; } .reach { stroke: #0072b2; stroke-width: 2; } .dot { fill: #0072b2; }
.paper { fill: #fff; }
@media (prefers-color-scheme: dark) {
  text { fill: #a3a39b; } .head, .name { fill: #e8e8e2; } .grid { stroke: #3a3a37; }
  .null { stroke: #e8e8e2; } .reach { stroke: #56b4e9; } .dot { fill: #56b4e9; }
  .paper { fill: #161615; }
}
"""


@dataclass(frozen=True)
class _Row:
    label: str
    estimate: float
    low: float
    high: float


def draw_estimates(request: EstimateRequest, parts: Sequence[Result]) -> Markup:
    """Draw every estimate with its 95 % interval; the intercept of a model is left out.

    Parameters
    ----------
    request : EstimateRequest
    parts : sequence of PooledEstimates, PooledGroups or PooledTable

    Returns
    -------
    Markup
        An SVG file. Ratios have a logarithmic axis.
    """
    kind = _first(parts[0]).kind
    rows = [row for part in parts for row in _rows(part, "")]
    shown = rows[:MOST_ROWS]
    # An interval can be unknown or endless; its estimate is drawn all the same.
    places = [place for row in shown for place in (row.low, row.estimate, row.high)]
    ends = [place for place in places if np.isfinite(place)]
    null = 0.0 if kind in RATIOS or kind == "estimate" else None
    values = [*ends, *([null] if null is not None else [])] or [0.0, 1.0]
    low, high = min(values), max(values)
    space = 0.04 * ((high - low) or 1.0)
    across = scale(low - space, high + space, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _STEP * len(shown)
    left_out = len(rows) - len(shown)
    height = bottom + 44 + 16 * bool(left_out)
    parts_drawn: list[Markup] = [
        element("style", Markup(_STYLE)),
        element("rect", class_="paper", width=_WIDTH, height=height),
        _text(12, 20, _cut(request.title, _TITLE), "start", "head"),
    ]
    for value in _marks(low, high, kind):
        parts_drawn.append(_line(across(value), _TOP - 8, across(value), bottom, "grid"))
        parts_drawn.append(_text(across(value), bottom + 16, _value(value, kind), "middle"))
    if null is not None:
        parts_drawn.append(_line(across(null), _TOP - 8, across(null), bottom, "null"))
    for place, row in enumerate(shown):
        y = _TOP + _STEP * place + 8
        parts_drawn.append(_text(_LEFT - 10, y + 4, _cut(row.label, _LABEL), "end", "name"))
        if np.isfinite(row.low) and np.isfinite(row.high):
            parts_drawn.append(_line(across(row.low), y, across(row.high), y, "reach"))
        parts_drawn.append(element("circle", class_="dot", cx=across(row.estimate), cy=y, r=4))
    axis = f"{kind}, with 95 % intervals"
    parts_drawn.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 36, axis, "middle"))
    if left_out:
        parts_drawn.append(_text(12, height - 6, f"{left_out:,} more in the table", "start"))
    drawn = picture(_WIDTH, height, f"{_cut(request.title, _TITLE)}: {axis}", *parts_drawn)
    return Markup(str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def _first(part: Any) -> PooledEstimates:
    while not isinstance(part, PooledEstimates):
        part = part.total if isinstance(part, PooledTable) else next(iter(part.values()))
    return part


def _rows(part: Any, group: str) -> list[_Row]:
    if isinstance(part, PooledEstimates):
        ends = part.intervals()
        labels = [str(label) for label in part.label_texts]
        return [
            _Row(f"{group}{printable(label)}", float(part.estimates[i]), *map(float, ends[i]))
            for i, label in enumerate(labels)
            if part.names[i] != "Intercept" and np.isfinite(part.estimates[i])
        ]
    if isinstance(part, PooledTable):
        return [*_rows(part.rows, group), *_rows(part.total, f"{group}All, ")]
    groups: PooledGroups = part
    return [
        row
        for code, one in groups.items()
        for row in _rows(one, f"{group}{printable(groups.describe(code))}, ")
    ]


def _marks(low: float, high: float, kind: str) -> list[float]:
    """Return where the axis has marks: round numbers, or round ratios."""
    if kind not in RATIOS:
        return ticks(low, high)
    wanted = [m * 10.0**power for power in range(-6, 7) for m in (1, 2, 5)]
    inside = [float(np.log(one)) for one in wanted if low <= np.log(one) <= high]
    return inside if len(inside) > 1 else ticks(low, high)


def _value(value: float, kind: str) -> str:
    if kind in RATIOS:
        return ratio_text(float(np.exp(value))).rstrip("0").rstrip(".")
    return f"{100 * value:.4g} %" if kind == "share" else f"{value:,.6g}"


def _cut(text: str, most: int) -> str:
    text = printable(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(x: float, y: float, to_x: float, to_y: float, kind: str) -> Markup:
    path = f"M{number(x)} {number(y)}L{number(to_x)} {number(to_y)}"
    return element("path", class_=kind, d=path)


def _text(x: float, y: float, text: str, anchor: str, kind: str | None = None) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=kind)
