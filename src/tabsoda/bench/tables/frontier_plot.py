"""Plot accuracy against time as SVG: one point per method, its mean over the surveys."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.bench.tables.collected import Series
from tabsoda.bench.tables.paper_tables import HEADINGS, OWN_METHODS
from tabsoda.bench.tables.replications import summarise

_PANEL, _HEIGHT, _LEFT, _BOTTOM, _TOP = 380, 300, 64, 44, 46
# This many labels fit into a panel of that size; it grows with the root of their number.
_ROOM = 11
_OURS, _OTHERS = "#1b7837", "#4d4d4d"
_RADIUS, _LINE, _CHARACTER = 4, 14, 6.8
_SWEEPS = 3


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
    """Draw the methods that ran on every survey and replication, one panel per metric.

    Parameters
    ----------
    series : iterable of Series
    mechanism, track : str
    metrics : sequence of str

    Returns
    -------
    str
        An SVG document; time on a log scale, better is up. Methods with negligible time, such as
        the mode, are left out.
    """
    chosen = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
    points = [[p for p in _points(chosen, metric) if p.seconds > 0.5] for metric in metrics]
    growth = max(1.0, max(map(len, points)) / _ROOM) ** 0.5
    panel, height = round(_PANEL * growth), round(_HEIGHT * growth)
    width = panel * len(metrics)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    ]
    for number, (metric, found) in enumerate(zip(metrics, points, strict=True)):
        if found:
            parts += _panel(found, metric, number * panel, panel, height)
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
            ours = own[0].method in OWN_METHODS
            points.append(_Point(title, seconds, float(np.mean(finite)), ours))
    return points


def _short(title: str) -> str:
    return title.replace(", skips a level", "").replace(", skips blank", " (blind)")


def _panel(
    points: list[_Point], metric: str, left: float, width: float, height: float
) -> list[str]:
    times = [math.log10(p.seconds) for p in points]
    low_x, high_x = min(times) - 0.15, max(times) + 0.55
    values = [p.value for p in points]
    pad = 0.12 * (max(values) - min(values)) or 0.01
    low_y, high_y = min(values) - pad, max(values) + pad
    if not METRICS[metric]:
        low_y, high_y = high_y, low_y
    right, bottom = left + width - 16, height - _BOTTOM

    def x(seconds: float) -> float:
        share = (math.log10(seconds) - low_x) / (high_x - low_x)
        return round(left + _LEFT + (right - left - _LEFT) * share, 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - _TOP) * (value - low_y) / (high_y - low_y), 1)

    parts = [
        f'<text x="{left + _LEFT}" y="24" font-size="14">{HEADINGS[metric]}, better upwards</text>',
        f'<path d="M{left + _LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#888888"/>',
        f'<text x="{(left + _LEFT + right) / 2}" y="{height - 8}" text-anchor="middle" '
        'fill="#666666">seconds per table (log scale)</text>',
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
    spots = [(x(point.seconds), y(point.value)) for point in points]
    labels = place_labels(spots, [_short(point.title) for point in points], left + _LEFT, right)
    for point, (across, up), label in zip(points, spots, labels, strict=True):
        color = _OURS if point.ours else _OTHERS
        parts.append(f'<circle cx="{across}" cy="{up}" r="{_RADIUS}" fill="{color}"/>')
        # The width of a text is estimated; to the left of its point it is aligned by its end.
        at, anchor = (label.right, "end") if label.right < across else (label.left, "start")
        parts.append(
            f'<text x="{at}" y="{label.bottom - 3}" text-anchor="{anchor}" fill="{color}">'
            f"{html.escape(_short(point.title))}</text>"
        )
    return parts


class Box(NamedTuple):
    """A rectangle of the plot, in pixels from the top left."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Return the area that both cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(across, 0.0) * max(down, 0.0)


def place_labels(
    spots: Sequence[tuple[float, float]], texts: Sequence[str], left: float, right: float
) -> list[Box]:
    """Choose a place next to each spot that covers no spot and no other text, if possible.

    Parameters
    ----------
    spots : sequence of (float, float)
    texts : sequence of str
    left, right : float
        Texts should stay within these.

    Examples
    --------
    >>> first, second = place_labels([(50, 50), (60, 50)], ["here", "there"], 0, 200)
    >>> first.right < 60, second.left > 60
    (True, True)
    """
    marks = [Box(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in spots]
    placed: dict[int, Box] = {}
    # Early labels were placed before later ones: place all of them again.
    for number in [*range(len(spots))] * _SWEEPS:
        taken = [*marks, *(box for other, box in placed.items() if other != number)]

        def covered(box: Box, taken: list[Box] = taken) -> float:
            outside = max(left - box.left, 0.0) + max(box.right - right, 0.0)
            return sum(box.overlap(other) for other in taken) + _LINE * outside

        placed[number] = min(_places(spots[number], texts[number]), key=covered)
    return [placed[number] for number in range(len(spots))]


def _places(spot: tuple[float, float], text: str) -> list[Box]:
    """Return the possible places of a text next to its spot, best first."""
    (x, y), width, gap = spot, _CHARACTER * len(text), _RADIUS + 3
    corners = [
        (x + gap, y - _LINE / 2),
        (x - gap - width, y - _LINE / 2),
        (x - width / 2, y - gap - _LINE),
        (x - width / 2, y + gap),
        (x + gap, y - _LINE),
        (x + gap, y),
        (x - _RADIUS, y - gap - _LINE),
        (x - _RADIUS, y + gap),
        (x - gap - width, y - _LINE),
        (x - gap - width, y),
        (x - width + _RADIUS, y - gap - _LINE),
        (x - width + _RADIUS, y + gap),
    ]
    return [Box(round(a, 1), round(b, 1), round(a + width, 1), b + _LINE) for a, b in corners]
