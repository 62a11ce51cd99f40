"""The kinds of jobs, and the function that each calls in its process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabsoda.desk.job_progress import JobProgress
    from tabsoda.desk.project import Project

# work(project, parameters, progress) returns plain values, which the page shows.
Work = Callable[["Project", dict[str, Any], "JobProgress"], dict[str, Any]]

# By path: the server does not import what only the process of a job needs.
KINDS = {
    "mine": "tabsoda.desk.steps.routing:mine",
    "edits": "tabsoda.desk.steps.routing:propose",
    "impute": "tabsoda.desk.steps.imputing:impute",
    "report": "tabsoda.desk.steps.looking:report",
    "sensitivity": "tabsoda.desk.sensitivity_job:analyse",
    "export": "tabsoda.desk.steps.exporting:write_export",
    "archive": "tabsoda.desk.steps.exporting:write_archive",
}


def work_of(kind: str) -> Work:
    """Return the function of a kind."""
    module, name = KINDS[kind].split(":")
    work: Work = getattr(import_module(module), name)
    return work
