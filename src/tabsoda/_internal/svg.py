"""Elements of inline SVG; all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

Number = int | float


def number(value: Number) -> str:
    """Format a coordinate with at most two decimals.

    Examples
    --------
    >>> number(3.0), number(2 / 3), number(-0.001)
    ('3', '0.67', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def element(name: str, *children: str, **attributes: str | Number | None) -> Markup:
    """Build one element; ``class_`` is written class, underscores become hyphens.

    Children that are :class:`markupsafe.Markup` go in as they are, any other text is escaped.

    Examples
    --------
    >>> element("text", "<b>", x=1.5, class_="axis")
    Markup('<text x="1.5" class="axis">&lt;b&gt;</text>')
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def _value(value: str | Number) -> str:
    return str(escape(value)) if isinstance(value, str) else number(value)


def picture(
    width: Number, height: Number, title: str, *children: str, class_: str = "figure"
) -> Markup:
    """Build an SVG that is never scaled up, with a title for screen readers."""
    return element(
        "svg",
        element("title", title),
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        class_=class_,
        role="img",
    )


def polyline(xs: Iterable[Number], ys: Iterable[Number]) -> str:
    """Return path data through points.

    Examples
    --------
    >>> polyline([0, 1.25], [2, 3])
    'M0 2L1.25 3'
    """
    points = [f"{number(x)} {number(y)}" for x, y in zip(xs, ys, strict=True)]
    return f"M{'L'.join(points)}" if points else ""


def scale(low: float, high: float, start: float, end: float) -> _Scale:
    """Return a function from data to coordinates; a range of one value maps to the middle."""
    return _Scale(low, high, start, end)


class _Scale:
    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        place = (value - self.low) / span if span > 0 else 0.5
        return self.start + place * (self.end - self.start)

    def all(self, values: Sequence[float]) -> list[float]:
        """Map several values."""
        return [self(value) for value in values]
