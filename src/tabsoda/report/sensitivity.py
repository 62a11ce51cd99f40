"""Sensitivity analyses for the report: table, picture and paragraph."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np
from markupsafe import Markup

from tabsoda._internal.svg import element
from tabsoda.analysis.sensitivity_analysis import Sensitivity
from tabsoda.analysis.sensitivity_text import estimate_name, paper_sentence, shift_axis, table_rows
from tabsoda.analysis.text import printable
from tabsoda.report.suppression import withhold_alone, withhold_in_text


def describe_analyses(found: Iterable[Sensitivity], suppress_below: int) -> list[dict[str, Any]]:
    """Return sensitivity analyses as plain values.

    Parameters
    ----------
    found : iterable of Sensitivity
    suppress_below : int
        Counts from 1 to this minus 1 are withheld.

    Returns
    -------
    list of dict
        As :meth:`Sensitivity.to_dict` returns, with ``title``, a ``text`` for each shift, and
        ``table``, whose rows are texts, the head first.
    """
    return [_described(one, suppress_below) for one in found]


def _described(found: Sensitivity, below: int) -> dict[str, Any]:
    content = found.to_dict()
    for plan, shift in zip(found.planned, content["shifts"], strict=True):
        shift["text"] = f"{plan.shift}, in {shift_axis(plan)}"
        shift["imputed_answers"] = withhold_alone(shift["imputed_answers"], below)
    for point in content["points"]:
        for name in ("shifted", "moved_back"):
            point[name] = withhold_alone(point[name], below)
    for name in ("notes", "warnings"):
        content[name] = [withhold_in_text(text, below) for text in content[name]]
    title = printable(estimate_name(found))
    return content | {
        "title": title[0].upper() + title[1:],
        "table": table_rows(found, below),
        "sentence": paper_sentence(found, below),
    }


def analysis_picture(content: dict[str, Any]) -> Markup | None:
    """Return the picture of an analysis as an image; None if an estimate is not a number.

    An image has its own style, which the policy of the page would not allow in the page.
    """
    found = Sensitivity.from_dict(content)
    if not np.isfinite([(p.estimate, p.low, p.high) for p in found.points]).all():
        return None
    data = base64.b64encode(found.picture().encode()).decode()
    alternative = f"{content['title']} by shift of the imputed answers"
    return element("img", class_="figure", src=f"data:image/svg+xml;base64,{data}", alt=alternative)
