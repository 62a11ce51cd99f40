"""A picture of time and memory against rows and columns, drawn without a plotting library."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

_WIDTH, _HEIGHT, _GAP = 330, 230, 80
_LEFT, _TOP = 70, 70
_COLORS = {"fast": "#1b7837", "balanced": "#2166ac", "best": "#762a83"}
_USUAL = {"rows": ("columns", 40), "columns": ("rows", 4_000)}
_PANELS = (
    ("rows", "cpu_seconds", "seconds on one core, by rows (40 columns)"),
    ("columns", "cpu_seconds", "seconds on one core, by columns (4,000 rows)"),
    ("rows", "peak_gb", "peak memory in GB, by rows (40 columns)"),
    ("columns", "peak_gb", "peak memory in GB, by columns (4,000 rows)"),
)


def scaling_plot(points: Sequence[dict[str, Any]]) -> str:
    """Return an SVG document: four panels, both axes logarithmic, one line per quality."""
    width = _LEFT + 2 * (_WIDTH + _GAP)
    height = _TOP + 2 * (_HEIGHT + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        '<text x="20" y="24" font-size="14">Fitting and imputing, one draw, in shards of 50,000 '
        "rows; fitted on 100,000 rows at most</text>",
    ]
    for number, quality in enumerate(q for q in _COLORS if any(p["quality"] == q for p in points)):
        x = 20 + 110 * number
        parts.append(f'<circle cx="{x + 4}" cy="40" r="4" fill="{_COLORS[quality]}"/>')
        parts.append(f'<text x="{x + 14}" y="44">{quality}</text>')
    for number, (along, what, title) in enumerate(_PANELS):
        left = _LEFT + (number % 2) * (_WIDTH + _GAP)
        top = _TOP + 20 + (number // 2) * (_HEIGHT + _GAP)
        other, usual = _USUAL[along]
        shown = [point for point in points if point[other] == usual and what in point]
        if shown:
            parts += _panel(shown, along, what, title, left, top)
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    points: list[dict[str, Any]], along: str, what: str, title: str, left: float, top: float
) -> list[str]:
    across, up = _span([p[along] for p in points]), _span([p[what] for p in points])

    def x(value: float) -> float:
        return round(left + _WIDTH * _place(value, across), 1)

    def y(value: float) -> float:
        return round(top + _HEIGHT * (1 - _place(value, up)), 1)

    parts = [
        f'<text x="{left}" y="{top - 10}">{html.escape(title)}</text>',
        f'<path d="M{left} {top}V{top + _HEIGHT}H{left + _WIDTH}" fill="none" stroke="#000000"/>',
    ]
    for value in sorted({p[along] for p in points}):
        parts.append(
            f'<text x="{x(value)}" y="{top + _HEIGHT + 16}" text-anchor="middle" '
            f'fill="#666666">{_number(value)}</text>'
        )
    for value in _ticks(up):
        parts.append(
            f'<line x1="{left}" x2="{left + _WIDTH}" y1="{y(value)}" y2="{y(value)}" '
            'stroke="#dddddd"/>'
            f'<text x="{left - 8}" y="{y(value) + 4}" text-anchor="end" '
            f'fill="#666666">{_number(value)}</text>'
        )
    for quality, color in _COLORS.items():
        mine = sorted((p[along], p[what]) for p in points if p["quality"] == quality)
        line = " ".join(f"{x(a)},{y(b)}" for a, b in mine)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(a)}" cy="{y(b)}" r="3.5" fill="{color}"/>' for a, b in mine]
    return parts


def _span(values: list[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis, a little wider than the values."""
    return min(values) / 1.15, max(values) * 1.15


def _place(value: float, span: tuple[float, float]) -> float:
    return math.log(value / span[0]) / math.log(span[1] / span[0])


def _ticks(span: tuple[float, float]) -> list[float]:
    decades = range(math.floor(math.log10(span[0])), math.ceil(math.log10(span[1])) + 1)
    ticks: list[float] = []
    # A short axis needs finer steps.
    for steps in ((1.0, 2.0, 5.0), range(1, 10), [tenth / 10 for tenth in range(10, 100)]):
        every = (step * 10.0**decade for decade in decades for step in steps)
        ticks = [tick for tick in every if span[0] <= tick <= span[1]]
        if len(ticks) > 1:
            break
    return ticks


def _number(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1_000 else f"{value:g}"
