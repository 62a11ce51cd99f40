"""Summarise a survey as a plain dictionary, for the terminal and for JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tabsoda.event_texts import detail, heading
from tabsoda.schema.column import Column, ColumnRole
from tabsoda.survey import Survey

# Decisions that a person should look at before trusting a description.
WORTH_A_LOOK = frozenset(
    {
        "blank_words_found",
        "boxes_coded",
        "code_in_several_columns",
        "code_kept_as_answer",
        "code_with_several_meanings",
        "codes_taken_as_no_answer",
        "column_all_blank",
        "column_constant",
        "column_id_like",
        "column_not_described",
        "column_with_very_many_levels",
        "column_without_name",
        "declared_encoding_not_used",
        "declared_kind_not_used",
        "encoding_given_by_byte_order_mark",
        "label_may_mean_no_answer",
        "missing_reasons_not_read",
        "repeated_column_name",
        "repeated_ids",
        "role_guessed",
        "sheet_read",
        "suspicious_codes",
        "text_among_numbers",
        "text_not_utf8",
        "unlisted_values_taken_as_missing",
        "weights_not_numeric",
    }
)


def summarize(survey: Survey) -> dict[str, Any]:
    """Summarise a survey: sizes, one entry per variable, and decisions to check.

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
                "kind": event.kind,
                "flag": heading(event),
                "variable": event.column,
                "detail": detail(event),
            }
            for event in survey.events
            if event.kind in WORTH_A_LOOK
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
