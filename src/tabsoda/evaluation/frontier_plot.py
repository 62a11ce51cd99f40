"""A picture of accuracy against time: every method a point, its mean over the surveys.

Input: series of replications. Output: SVG text, drawn without a plotting library.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tabsoda.evaluation.collected import Series
from tabsoda.evaluation.imputation_metrics import METRICS
from tabsoda.evaluation.replications import summarise
from tabsoda.evaluation.tables import HEADINGS

_PANEL, _HEIGHT, _LEFT, _BOTTOM, _TOP = 380, 300, 64, 44, 46
_OURS, _OTHERS = "#1b7837", "#4d4d4d"


class _Point(NamedTuple):
    title: str
    seconds: float
    value: float
    ours: bool


def frontier_plot(
    series: Iterable[Series],
    mechanism: str,
    *,
    track: str = "resolved",
    metrics: Sequence[str] = ("categorical_accuracy", "mace_median"),
) -> str:
    """Draw the methods that ran on every survey and replication, one panel a metric.

    Parameters
    ----------
    series : iterable of Series
    mechanism, track : str
    metrics : sequence of str

    Returns
    -------
    str
        An SVG document; time on a log scale, better upwards. Methods that take no time to speak
        of, such as the mode, are left out.
    """
    chosen = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
    width = _PANEL * len(metrics)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" '
        f'width="{width}" height="{_HEIGHT}" font-family="sans-serif" font-size="12">'
    ]
    for number, metric in enumerate(metrics):
        points = [p for p in _points(chosen, metric) if p.seconds > 0.5]
        if points:
            parts += _panel(points, metric, number * _PANEL)
    return "\n".join([*parts, "</svg>", ""])


def _points(chosen: list[Series], metric: str) -> list[_Point]:
    surveys = {one.survey for one in chosen}
    most = {s: max(len(o.cells) for o in chosen if o.survey == s) for s in surveys}
    points = []
    for title in dict.fromkeys(one.title for one in chosen):
        own = [one for one in chosen if one.title == title]
        if {one.survey: len(one.cells) for one in own} != most:
            continue
        means = [summarise(list(one.values(metric).values())).mean for one in own]
        finite = [mean for mean in means if np.isfinite(mean)]
        if finite:
            seconds = float(np.mean([np.mean(one.seconds) for one in own]))
            ours = own[0].method.startswith("tabsoda")
            points.append(_Point(title, seconds, float(np.mean(finite)), ours))
    return points


def _short(title: str) -> str:
    return title.replace(", skips a level", "").replace(", skips blank", " (blind)")


def _panel(points: list[_Point], metric: str, left: float) -> list[str]:
    times = [math.log10(p.seconds) for p in points]
    low_x, high_x = min(times) - 0.15, max(times) + 0.55
    values = [p.value for p in points]
    pad = 0.12 * (max(values) - min(values)) or 0.01
    low_y, high_y = min(values) - pad, max(values) + pad
    if not METRICS[metric]:
        low_y, high_y = high_y, low_y
    right, bottom = left + _PANEL - 16, _HEIGHT - _BOTTOM

    def x(seconds: float) -> float:
        share = (math.log10(seconds) - low_x) / (high_x - low_x)
        return round(left + _LEFT + (right - left - _LEFT) * share, 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - _TOP) * (value - low_y) / (high_y - low_y), 1)

    parts = [
        f'<text x="{left + _LEFT}" y="24" font-size="14">{HEADINGS[metric]}, better upwards</text>',
        f'<path d="M{left + _LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#888888"/>',
        f'<text x="{(left + _LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle" '
        'fill="#666666">seconds a table (log scale)</text>',
    ]
    for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500):
        if low_x <= math.log10(tick) <= high_x:
            parts.append(
                f'<text x="{x(tick)}" y="{bottom + 16}" text-anchor="middle" '
                f'fill="#666666">{tick}</text>'
            )
    for value in np.linspace(low_y, high_y, 5)[1:-1]:
        parts.append(
            f'<text x="{left + _LEFT - 6}" y="{y(float(value)) + 4}" text-anchor="end" '
            f'fill="#666666">{value:.3f}</text>'
        )
    for point in points:
        color = _OURS if point.ours else _OTHERS
        across, up = x(point.seconds), y(point.value)
        parts.append(f'<circle cx="{across}" cy="{up}" r="4" fill="{color}"/>')
        parts.append(
            f'<text x="{across + 7}" y="{up + 4}" fill="{color}">'
            f"{html.escape(_short(point.title))}</text>"
        )
    return parts
