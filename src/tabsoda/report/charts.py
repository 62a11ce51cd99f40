"""The report's figures: small inline SVGs, coloured by the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from tabsoda._internal.svg import element, number, picture, polyline, scale

_FONT = 11


def share_bars(
    observed: float | None, imputed: float | None, low: float | None, high: float | None
) -> Markup:
    """Draw two bars of one level: observed above, imputed (with its range over draws) below.

    Shares are between 0 and 1. The bars stretch to the width of their table cell; the shares are
    given as text in the next cells.
    """
    parts = []
    if observed is not None:
        parts.append(element("rect", class_="o", width=100 * observed, height=5))
    if imputed is not None:
        parts.append(element("rect", class_="i", y=6, width=100 * imputed, height=5))
    if low is not None and high is not None and high > low:
        reach = f"M{number(100 * low)} 8.5H{number(100 * high)}"
        parts.append(element("path", class_="w", d=reach))
    return element(
        "svg",
        *parts,
        class_="bar",
        viewBox="0 0 100 11",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def state_bar(answered: float, missing: float, skipped: float) -> Markup:
    """Draw the three states of a question as one bar; shares between 0 and 1."""
    parts, start = [], 0.0
    for kind, width in (("a", answered), ("m", missing), ("s", skipped)):
        if width > 0:
            parts.append(element("rect", class_=kind, x=start, width=100 * width, height=8))
        start += 100 * width
    return element(
        "svg",
        *parts,
        class_="states",
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def densities(x: Sequence[float], observed: Sequence[float], imputed: Sequence[float]) -> Markup:
    """Draw the density of observed numbers as an area, that of imputed ones as a line."""
    width, height, left, bottom = 360, 130, 6, 110
    across = scale(x[0], x[-1], left, width - left)
    top = max([*observed, *imputed, 1e-12])
    up = scale(0, top, bottom, 8)
    xs = across.all(x)
    parts: list[Markup] = []
    if observed:
        area = polyline([xs[0], *xs, xs[-1]], [bottom, *up.all(observed), bottom])
        parts.append(element("path", class_="area", d=f"{area}Z"))
    if imputed:
        parts.append(element("path", class_="line", d=polyline(xs, up.all(imputed))))
    parts.append(element("path", class_="axis", d=f"M{left} {bottom}H{width - left}"))
    for value in ticks(x[0], x[-1]):
        at = across(value)
        anchor = "start" if at < 25 else "end" if at > width - 25 else "middle"
        parts.append(_text(at, bottom + 14, f"{value:,.6g}", anchor))
    return picture(width, height, "Density of observed and imputed numbers", *parts)


def lines(
    values: Sequence[float],
    title: str,
    across: str,
    *,
    starts: Sequence[int] = (),
    dots: bool = False,
    zero: bool = True,
) -> Markup:
    """Draw a series over its steps.

    Parameters
    ----------
    values : sequence of float
    title : str
    across : str
        What a step is, such as ``"round"``.
    starts : sequence of int
        Steps at which a new round begins, marked by a thin line.
    dots : bool
        Mark every value.
    zero : bool
        Let the axis start at 0; otherwise at the smallest value.
    """
    width, height, left, bottom = 440, 190, 52, 160
    low, high = min([0.0] * zero + [*values]), max([1e-12] * zero + [*values])
    x = scale(1, max(len(values), 2), left, width - 12)
    y = scale(low, high, bottom, 12)
    parts = []
    for value in ticks(low, high, 4):
        parts.append(element("path", class_="grid", d=f"M{left} {number(y(value))}H{width - 12}"))
        parts.append(_text(left - 6, y(value) + 4, f"{value:,.3g}", "end"))
    for start in starts:
        parts.append(element("path", class_="grid", d=f"M{number(x(start))} 12V{bottom}"))
    places = [x(step) for step in range(1, len(values) + 1)]
    parts.append(element("path", class_="line", d=polyline(places, y.all(values))))
    if dots:
        parts += [
            element("circle", class_="dot", cx=at, cy=y(value), r=3.5)
            for at, value in zip(places, values, strict=True)
        ]
    for step in _steps(len(values)):
        parts.append(_text(x(step), bottom + 16, f"{step:,}", "middle"))
    parts.append(_text(width - 12, height - 1, across, "end"))
    return picture(width, height, title, *parts)


def reliability_curve(bins: Sequence[dict[str, Any]]) -> Markup:
    """Draw how often the most probable level was correct against its predicted probability."""
    size, left, bottom = 290, 40, 240
    across, up = scale(0, 1, left, size - 20), scale(0, 1, bottom, 10)
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(element("path", class_="grid", d=f"M{left} {number(up(tick))}H{size - 20}"))
        parts.append(_text(left - 6, up(tick) + 4, f"{tick:.0%}", "end"))
        if tick:
            parts.append(_text(across(tick), bottom + 15, f"{tick:.0%}", "middle"))
    diagonal = polyline([across(0), across(1)], [up(0), up(1)])
    parts.append(element("path", class_="axis", d=diagonal))
    xs = across.all([one["confidence"] for one in bins])
    ys = up.all([one["accuracy"] for one in bins])
    parts.append(element("path", class_="line", d=polyline(xs, ys)))
    most = max((one["cells"] for one in bins), default=1)
    for at, height, one in zip(xs, ys, bins, strict=True):
        radius = 2.5 + 5 * (one["cells"] / most) ** 0.5
        parts.append(element("circle", class_="dot", cx=at, cy=height, r=radius))
    parts.append(_text((left + size) / 2, bottom + 34, "predicted probability", "middle"))
    return picture(size, size, "Share correct, by predicted probability", *parts)


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return round numbers that divide a range into about ``n`` parts.

    Examples
    --------
    >>> ticks(0, 97)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    span = high - low
    if not span > 0:
        return [low]
    rough = span / n
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough)
    first = np.ceil(low / step - 1e-9)
    count = int(np.floor(high / step + 1e-9) - first) + 1
    # Twelve digits remove rounding errors such as that of 0.1 + 0.2.
    return [float(f"{(first + k) * step:.12g}") + 0.0 for k in range(count)]


def _steps(n: int) -> list[int]:
    between = {int(value) for value in ticks(1, n, 6) if 1 + 0.08 * n < value < 0.92 * n}
    return sorted(between | {1, n})


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, font_size=_FONT)
