"""What the rules of a project make of its blanks: missing answers and questionnaire skips."""

from __future__ import annotations

import base64
from typing import Any

from tabsoda.desk.project import Project
from tabsoda.errors import InputError
from tabsoda.report.state_map import axis_labels, state_map
from tabsoda.report.suppression import withhold
from tabsoda.skips.review_policy import apply_rules
from tabsoda.skips.rule_set import RuleSet
from tabsoda.states.cell_states import CellStates
from tabsoda.survey import Survey


def routed_summary(project: Project) -> dict[str, Any]:
    """Return the number of cells by state, before and with the rules, ready for JSON.

    Parameters
    ----------
    project : Project
        It has data and rules.

    Returns
    -------
    dict
        ``before`` and ``after`` by state, ``ticks`` below the map, and ``map``, which changes with
        the rules; or only ``error``, if the rules are not about this survey.
    """
    try:
        survey, routed = project.survey(), routed_survey(project)
    except InputError as error:
        return {"error": str(error)}
    names = routed.table.names
    below = project.suppress_below
    return {
        "before": _counts(survey.states, below),
        "after": _counts(routed.states, below),
        "ticks": axis_labels(names, 6) if names else [],
        "map": project.hash_of(project.rules)[:12] + project.hash_of(project.description)[:12],
    }


def routed_survey(project: Project) -> Survey:
    """Return the survey with its rules applied, rejected ones excepted, as the imputer does."""
    files = project.require_data(), project.description, project.rules
    hashes = tuple(project.hash_of(path) for path in files)
    key = (*files, *hashes, project.content["settings"]["unlisted"])
    return project.read_once(
        "routed", key, lambda: apply_rules(project.survey(), RuleSet.from_toml(project.rules))
    )


def routed_map(project: Project) -> bytes:
    """Return the map of the cells with the rules applied, as PNG."""
    image = state_map(routed_survey(project).states, project.suppress_below)["image"]
    return base64.b64decode(image.partition(",")[2])


def _counts(states: CellStates, below: int) -> dict[str, int | None]:
    counts = [int(one.sum()) for one in (states.answered, states.missing, states.skipped)]
    shown = withhold(counts, below)
    return dict(zip(("answered", "missing", "skipped"), shown, strict=True))
