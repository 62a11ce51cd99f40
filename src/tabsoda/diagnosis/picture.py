"""Draw a diagnosis: every question's score relative to the mode's, by method."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from tabsoda._internal.svg import element, number, picture, scale
from tabsoda.report.page import page_asset, page_environment, page_policy

_MOST_DRAWN, _MOST_LISTED = 150, 2000
_WIDTH, _LABELS, _ROW, _TOP = 760, 190, 20, 26
# Larger relative errors are drawn at the edge.
_FARTHEST = 2.0
# The mode is the line at 1; up to five other methods have colours and shapes.
_MOST_METHODS = 6


def render_diagnosis(found: dict[str, Any], source: str = "") -> str:
    """Return a diagnosis as a self-contained page.

    Parameters
    ----------
    found : dict
        The result of :func:`tabsoda.diagnosis.diagnosing.diagnose`.
    source : str
        The file's name.
    """
    style = page_asset("report.css")
    names = [one["name"] for one in found["methods"]]
    known = sorted(
        (one for one in found["variables"] if _gain(one, names) is not None),
        key=lambda one: -(_gain(one, names) or 0.0),
    )
    template = page_environment().get_template("diagnosis.html")
    return template.render(
        found=found,
        names=names,
        source=source,
        listed=found["variables"][:_MOST_LISTED],
        picture=relative_errors(known[:_MOST_DRAWN], names),
        left_out=max(len(known) - _MOST_DRAWN, 0),
        style=Markup(style),
        policy=page_policy(style, ""),
    )


def relative_errors(variables: list[dict[str, Any]], names: list[str]) -> Markup:
    """Draw one line per question and one dot per method; the mode is the vertical line at 1."""
    across = scale(0, _FARTHEST, _LABELS, _WIDTH - 16)
    height = _TOP + _ROW * len(variables) + 14
    parts = [
        element("text", f"{tick:g}", x=across(tick), y=14, text_anchor="middle")
        for tick in (0, 0.5, 1, 1.5, 2)
    ]
    parts += [
        element("path", class_=kind, d=f"M{number(across(tick))} {_TOP - 6}V{height - 8}")
        for tick, kind in ((0, "grid"), (0.5, "grid"), (1, "axis"), (1.5, "grid"), (2, "grid"))
    ]
    for row, variable in enumerate(variables):
        y = _TOP + _ROW * row + _ROW / 2
        weak = variable["verdict"] == "no better"
        label = variable["name"] if len(variable["name"]) <= 26 else variable["name"][:25] + "…"
        kind = "name weak" if weak else "name"
        parts.append(
            element("text", label, x=_LABELS - 14, y=y + 4, text_anchor="end", class_=kind)
        )
        parts.append(element("path", class_="grid", d=f"M{_LABELS} {number(y)}H{_WIDTH - 16}"))
        for place, name in enumerate(names[1:_MOST_METHODS], 1):
            relative = variable["methods"][name]["relative"]
            if relative is not None:
                x = across(min(relative, _FARTHEST))
                parts.append(
                    _mark(
                        place, x, y, f"{name}: {relative:.2f} of the overall distribution's score"
                    )
                )
    title = "Score of each method relative to the overall distribution, by question"
    return picture(_WIDTH, height, title, *parts, class_="figure relative")


def _mark(place: int, x: float, y: float, title: str) -> Markup:
    """Draw a mark whose shape, not only its colour, shows the method."""
    tooltip = element("title", title)
    kind = f"k{place}"
    if place == 1:
        return element("rect", tooltip, class_=kind, x=x - 4, y=y - 4, width=8, height=8)
    if place == 2:
        path = f"M{number(x)} {number(y - 5)}l5 9h-10z"
        return element("path", tooltip, class_=kind, d=path)
    if place == 3:
        return element("circle", tooltip, class_=kind, cx=x, cy=y, r=5)
    path = f"M{number(x)} {number(y - 6)}l6 6l-6 6l-6-6z"
    return element("path", tooltip, class_=kind, d=path)


def _gain(variable: dict[str, Any], names: list[str]) -> float | None:
    """Return the relative error of the last method, by which questions are sorted."""
    relative: float | None = variable["methods"][names[-1]]["relative"]
    return None if variable["verdict"] == "too few" else relative
