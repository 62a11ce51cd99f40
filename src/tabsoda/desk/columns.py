"""What the page shows of the columns of a survey."""

from __future__ import annotations

from typing import Any

import numpy as np

from tabsoda.errors import InputError
from tabsoda.reading.inspection import summarize
from tabsoda.report.state_map import axis_labels
from tabsoda.report.suppression import plain, withhold, withhold_in_text
from tabsoda.schema.column import Column, Reason
from tabsoda.states.cell_states import reason_code
from tabsoda.survey import Survey

_STATES = ("answered", "missing", "skipped")
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_LEVELS = 200


def survey_summary(survey: Survey, suppress_below: int) -> dict[str, Any]:
    """Return sizes, one short entry per column, and decisions to check, ready for JSON.

    Parameters
    ----------
    survey : Survey
    suppress_below : int
        Counts from 1 to this minus 1 are None.
    """
    whole = summarize(survey)
    for variable in whole["variables"]:
        variable["levels"] = len(variable["levels"])
        variable["codes"] = len(variable["codes"])
        if "answered" in variable:
            counts = withhold([variable[name] for name in _STATES], suppress_below)
            variable |= dict(zip(_STATES, counts, strict=True))
        variable["reason"] = withhold_in_text(variable["reason"], suppress_below)
    for flag in whole["flags"]:
        flag["detail"] = withhold_in_text(flag["detail"], suppress_below)
    whole["ticks"] = axis_labels(survey.table.names, 6) if survey.table.names else []
    return whole


def column_details(survey: Survey, name: str, suppress_below: int) -> dict[str, Any]:
    """Return the levels, codes and distribution of one column, ready for JSON."""
    if name not in survey.schema:
        raise InputError("There is no such column", found=repr(name)[:80])
    column = survey.schema[name]
    details: dict[str, Any] = {
        "name": name,
        "label": column.label,
        "role": column.role.value,
        "kind": column.kind.value,
        "universe": column.universe,
        "note": withhold_in_text(column.note, suppress_below),
        "guessed": withhold_in_text(column.guessed, suppress_below),
        "confidence": None if column.confidence is None else column.confidence.value,
        "levels": [],
        "codes": _codes(column),
        "numbers": None,
        "reasons": {},
    }
    if name not in survey.table.names:
        return details
    place = survey.table.names.index(name)
    answers = survey.table.values[survey.states.answered[:, place], place]
    reasons = survey.states.reasons[:, place]
    found = {reason.value: int((reasons == reason_code(reason)).sum()) for reason in Reason}
    details["reasons"] = dict(
        zip(found, withhold(list(found.values()), suppress_below), strict=True)
    )
    if column.is_categorical:
        return details | {"levels": _levels(column, answers, suppress_below)}
    return details | {"numbers": _numbers(answers, suppress_below)}


def _levels(column: Column, answers: Any, suppress_below: int) -> list[dict[str, Any]]:
    counts = np.bincount(answers.astype(int), minlength=column.n_levels)
    shown = withhold([int(count) for count in counts], suppress_below)
    return [
        {"code": level, "label": column.level_labels.get(level, ""), "count": count}
        for level, count in list(zip(column.levels, shown, strict=True))[:_MOST_LEVELS]
    ]


def _codes(column: Column) -> list[dict[str, Any]]:
    return [
        {"code": code, "label": column.level_labels.get(code, ""), "reason": reason.value}
        for code, reason in column.special_codes.items()
    ]


def _numbers(answers: Any, suppress_below: int) -> dict[str, Any] | None:
    """Return quantiles; the smallest and the largest answer could identify somebody."""
    if answers.size < max(1, suppress_below):
        return None
    quantiles = np.quantile(answers, _QUANTILES)
    named = {f"{100 * q:.0f} %": value for q, value in zip(_QUANTILES, quantiles, strict=True)}
    if suppress_below < 2:
        named = {"least": answers.min(), **named, "most": answers.max()}
    shown: dict[str, Any] = plain(named)
    return shown
