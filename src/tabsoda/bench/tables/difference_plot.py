"""Plot paired differences as SVG: one row per method and survey, a dot and its interval."""

from __future__ import annotations

import html
from collections.abc import Iterable

import numpy as np

from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.bench.tables.collected import Series
from tabsoda.bench.tables.paper_tables import HEADINGS
from tabsoda.bench.tables.replications import PairedDifference

_WIDTH, _LABELS, _MARGIN = 760, 330, 24
_ROW, _TOP = 18, 52
# The axis is cut if some rows reach more than this many times as far as most.
_MOST, _FAR = 0.8, 2.0
_BETTER, _WORSE, _UNCLEAR = "#1b7837", "#b2182b", "#666666"


def difference_plot(
    series: Iterable[Series],
    reference: str,
    mechanism: str,
    metric: str = "mace",
    *,
    track: str = "resolved",
) -> str:
    """Draw each method minus a reference on the same replications, with 95 % intervals.

    Parameters
    ----------
    series : iterable of Series
    reference : str
        A method's label.
    mechanism, metric, track : str

    Returns
    -------
    str
        An SVG document. Green: clearly better than the reference; red: clearly worse. An arrow
        stands for a dot beyond the axis.
    """
    chosen = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
    rows = [
        (f"{one.title} · {one.survey}", gap)
        for base in chosen
        if base.label == reference
        for one in chosen
        if one.survey == base.survey and one.title != base.title
        if (gap := one.minus(base, metric)).n
    ]
    reach = _axis_reach([_reach(gap) for _, gap in rows])
    height = _TOP + _ROW * len(rows) + 40
    better = "right" if METRICS[metric] else "left"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<text x="{_MARGIN}" y="20" font-size="14">{HEADINGS[metric]}, {mechanism.upper()}: '
        f"method minus {html.escape(reference)}</text>",
        f'<text x="{_MARGIN}" y="38" fill="#666666">95 % intervals over paired replications; '
        f"the method is better to the {better} of zero</text>",
        *_axis(reach, height),
    ]
    for number, (label, gap) in enumerate(rows):
        parts += _row(label, gap, _TOP + _ROW * (number + 0.7), reach, higher=METRICS[metric])
    return "\n".join([*parts, "</svg>", ""])


def _axis_reach(reaches: list[float]) -> float:
    """Return the end of the axis: beyond all rows, or most of them if few reach much further.

    Examples
    --------
    >>> round(_axis_reach([1.0, 1.5]), 2), round(_axis_reach([1.0, 1.0, 1.0, 1.0, 50.0]), 2)
    (1.62, 2.16)
    """
    if not any(reaches):
        return 1.0
    most = float(np.quantile(reaches, _MOST, method="lower"))
    return 1.08 * min(max(reaches), _FAR * most or max(reaches))


def _reach(gap: PairedDifference) -> float:
    ends = [abs(end) for end in (gap.low, gap.high, gap.mean) if np.isfinite(end)]
    return max(ends)


def _x(value: float, reach: float) -> float:
    left, right = _LABELS, _WIDTH - _MARGIN
    share = min(max(value / reach, -1.0), 1.0)
    return round(left + (right - left) * (share + 1) / 2, 2)


def _axis(reach: float, height: int) -> list[str]:
    bottom = height - 30
    parts = [
        f'<line x1="{_x(0, reach)}" x2="{_x(0, reach)}" y1="{_TOP - 6}" y2="{bottom}" '
        'stroke="#000000" stroke-width="1"/>'
    ]
    for tick in (-reach, -reach / 2, 0.0, reach / 2, reach):
        parts.append(
            f'<text x="{_x(tick, reach)}" y="{bottom + 16}" text-anchor="middle" '
            f'fill="#666666">{tick:+.3f}</text>'
        )
    return parts


def _row(label: str, gap: PairedDifference, y: float, reach: float, *, higher: bool) -> list[str]:
    color = _UNCLEAR
    if gap.is_clear:
        color = _BETTER if (gap.mean > 0) == higher else _WORSE
    parts = [
        f'<text x="{_LABELS - 10}" y="{y + 4:.1f}" text-anchor="end">{html.escape(label)}</text>'
    ]
    if np.isfinite(gap.low):
        parts.append(
            f'<line x1="{_x(gap.low, reach)}" x2="{_x(gap.high, reach)}" y1="{y:.1f}" '
            f'y2="{y:.1f}" stroke="{color}" stroke-width="2"/>'
        )
    at = _x(gap.mean, reach)
    if abs(gap.mean) <= reach:
        parts.append(f'<circle cx="{at}" cy="{y:.1f}" r="3.5" fill="{color}"/>')
    else:
        tip = 8 if gap.mean > 0 else -8
        parts.append(f'<path d="M{at} {y - 4:.1f}v8l{tip} -4z" fill="{color}"/>')
    return parts
