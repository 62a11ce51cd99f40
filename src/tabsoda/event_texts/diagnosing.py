"""Events of comparing imputation methods on hidden answers."""

from __future__ import annotations

from tabsoda.event_texts.template import EventText

DIAGNOSING: dict[str, EventText] = {
    "rows_sampled": EventText(
        "diagnose",
        "rows sampled",
        "{rows} of {of_rows:respondent/respondents}; imputing all of them learns from more",
    ),
    "answers_hidden": EventText(
        "diagnose", "answers hidden", "{cells} of {of_cells:answered cell/answered cells}"
    ),
}
