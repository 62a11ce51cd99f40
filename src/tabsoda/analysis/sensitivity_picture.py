"""A sensitivity analysis as a picture: estimates and intervals by shift, in the report's style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from tabsoda._internal.svg import element, number, picture, polyline, scale
from tabsoda.analysis.sensitivity_text import delta_text, shift_axis, value_text
from tabsoda.analysis.text import printable

if TYPE_CHECKING:
    from tabsoda.analysis.sensitivity_analysis import Sensitivity

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 620, 340, 70, 20, 34, 280
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4")
_STYLE = """
text { fill: #5e5e58; font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
.head { fill: #1c1c1a; font-weight: 600; } .grid { stroke: #dcdcd4; } .null { stroke: #1c1c1a; }
.tip { stroke: #1c1c1a; stroke-dasharray: 3 3; } .line { fill: none; stroke-width: 2; }
.paper { fill: #fff; }
@media (prefers-color-scheme: dark) {
  text { fill: #a3a39b; } .head { fill: #e8e8e2; } .grid { stroke: #3a3a37; }
  .null, .tip { stroke: #e8e8e2; } .paper { fill: #161615; }
}
"""


def draw_sensitivity(found: Sensitivity) -> Markup:
    """Draw the estimate and its interval over the first shift, a line per other combination."""
    # With many combinations of the other shifts, some of them, evenly spaced.
    curves = found.curves[:: math.ceil(len(found.curves) / len(_COLOURS))]
    shown = [point for others in curves for point in found.curve(others)]
    values = [end for point in shown for end in (point.low, point.high)] + [found.null]
    low, high = min(values), max(values)
    space = 0.06 * ((high - low) or 1.0)
    across = scale(shown[0].deltas[0], max(p.deltas[0] for p in shown), _LEFT, _WIDTH - _RIGHT)
    up = scale(low - space, high + space, _BOTTOM, _TOP)
    parts: list[Markup] = [
        element("style", Markup(_STYLE)),
        element("rect", class_="paper", width=_WIDTH, height=_legend_height(curves)),
        _text(_LEFT, 16, _fitting(found.term), "start", "head"),
    ]
    for value in _ticks(low, high):
        parts.append(_line(_LEFT, up(value), _WIDTH - _RIGHT, up(value), "grid"))
        parts.append(_text(_LEFT - 8, up(value) + 4, value_text(found, value), "end"))
    parts.append(_line(_LEFT, up(found.null), _WIDTH - _RIGHT, up(found.null), "null"))
    for place, others in enumerate(curves):
        points = found.curve(others)
        xs = across.all([point.deltas[0] for point in points])
        ends = [*up.all([p.low for p in points]), *reversed(up.all([p.high for p in points]))]
        band, colour = polyline([*xs, *reversed(xs)], ends), _COLOURS[place]
        parts.append(element("path", d=f"{band}Z", fill=colour, fill_opacity=0.18))
        parts.append(
            element(
                "path",
                class_="line",
                d=polyline(xs, up.all([p.estimate for p in points])),
                stroke=colour,
                stroke_dasharray=_DASHES[place] or None,
            )
        )
    for tip in found.tipping:
        if tip.others in curves:
            at = across(tip.delta)
            style = f"stroke:{_COLOURS[curves.index(tip.others)]}" if tip.others else None
            path = f"M{number(at)} {_TOP}V{_BOTTOM}"
            parts.append(element("path", class_="tip", d=path, style=style))
            parts.append(_text(at, _TOP - 4, delta_text(tip.delta), "middle"))
    for delta in _ticks(across.low, across.high):
        parts.append(_text(across(delta), _BOTTOM + 18, delta_text(delta), "middle"))
    first = found.planned[0]
    axis = f"shift of the imputed answers: {first.shift}, in {shift_axis(first)}"
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _BOTTOM + 40, _fitting(axis), "middle"))
    parts += _legend(found, curves)
    intervals = f"{found.level * 100:g} % intervals"
    title = f"{printable(found.term)} by shift of the imputed answers, with {intervals}"
    drawn = picture(_WIDTH, _legend_height(curves), title, *parts)
    return Markup(str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def _legend_height(curves: Sequence[tuple[float, ...]]) -> int:
    return _HEIGHT + (18 * len(curves) if curves[0] else 0)


def _legend(found: Sensitivity, curves: Sequence[tuple[float, ...]]) -> list[Markup]:
    if not curves[0]:
        return []
    parts = []
    for place, others in enumerate(curves):
        y = _HEIGHT + 18 * place
        parts.append(
            element(
                "path",
                class_="line",
                d=f"M{_LEFT} {y - 4}h28",
                stroke=_COLOURS[place],
                stroke_dasharray=_DASHES[place] or None,
            )
        )
        texts = [
            f"{plan.shift}: {delta_text(delta)}"
            for plan, delta in zip(found.planned[1:], others, strict=True)
        ]
        parts.append(_text(_LEFT + 36, y, _fitting(", ".join(texts)), "start"))
    return parts


def _ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return round numbers that divide a range into about ``n`` parts.

    Examples
    --------
    >>> _ticks(-1, 1)
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / n))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= (high - low) / n - 1e-12)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") + 0.0 for k in range(first, last + 1)]


def _fitting(text: str, most: int = 84) -> str:
    # Control characters are not allowed in XML.
    text = printable(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(x: float, y: float, to_x: float, to_y: float, kind: str) -> Markup:
    path = f"M{number(x)} {number(y)}L{number(to_x)} {number(to_y)}"
    return element("path", class_=kind, d=path)


def _text(x: float, y: float, text: str, anchor: str, kind: str | None = None) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=kind)
