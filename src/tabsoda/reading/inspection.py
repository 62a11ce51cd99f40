"""What is in a survey, as a plain dictionary: the same for the terminal and for JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tabsoda.reading.describing import ROLE_GUESSED
from tabsoda.schema.column import Column, ColumnRole
from tabsoda.schema.file_codes import ONE_MEANING
from tabsoda.survey import Survey

# Decisions that a person should look at, beside those that begin with "flag: ".
_WORTH_A_LOOK = (
    ROLE_GUESSED,
    ONE_MEANING,
    "unlisted values taken as missing",
    "words taken for an empty cell",
    "codes taken for no answer",
    "declared level overruled",
    "column not described",
    "code kept as an answer",
    "encoding found",
    "repeated column name",
    "column without a name",
    "missing reasons not read",
)


def summarize(survey: Survey) -> dict[str, Any]:
    """Summarise a survey: sizes, one entry a variable, and what deserves a look.

    Examples
    --------
    >>> import polars as pl
    >>> from tabsoda.reading import read_survey
    >>> summary = summarize(read_survey(pl.DataFrame({"q": [1, 2, None, 2]})))
    >>> summary["cells"]
    {'answered': 3, 'missing': 1, 'skipped': 0}
    """
    states = survey.states
    cells = {
        name: mask.sum(axis=0)
        for name, mask in (
            ("answered", states.answered),
            ("missing", states.missing),
            ("skipped", states.skipped),
        )
    }
    position = {name: number for number, name in enumerate(survey.table.names)}
    return {
        "source": survey.source,
        "rows": survey.frame.height,
        "columns": survey.frame.width,
        "kinds": dict(Counter(column.kind.value for column in survey.schema.questions)),
        "roles": dict(Counter(column.role.value for column in survey.schema)),
        "cells": {name: int(counts.sum()) for name, counts in cells.items()},
        "variables": [
            _variable(column)
            | (
                {name: int(counts[position[column.name]]) for name, counts in cells.items()}
                if column.name in position
                else {}
            )
            for column in survey.schema
        ],
        "flags": [
            {
                "flag": event.decision.removeprefix("flag: "),
                "variable": event.column,
                "detail": event.detail,
            }
            for event in survey.events
            if event.decision.startswith("flag: ") or event.decision in _WORTH_A_LOOK
        ],
    }


def _variable(column: Column) -> dict[str, Any]:
    is_question = column.role is ColumnRole.QUESTION
    return {
        "name": column.name,
        "label": column.label,
        "role": column.role.value,
        "kind": column.kind.value if is_question else None,
        "levels": list(column.levels),
        "codes": {str(code): reason.value for code, reason in column.special_codes.items()},
        "is_guess": column.is_guess,
        "reason": column.note,
        "guessed": column.guessed,
        "confidence": column.confidence.value if column.confidence is not None else None,
    }
