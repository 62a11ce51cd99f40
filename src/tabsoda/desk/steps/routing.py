"""Step 2, Routing: mine rules, review them, propose edits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from tabsoda._internal.files import file_hash, write_text
from tabsoda.desk.pictures import picture
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import keep_rules
from tabsoda.desk.reviewing import ReviewPage
from tabsoda.desk.routed_cells import routed_map, routed_summary
from tabsoda.desk.steps.commands import call, commands, shell_line
from tabsoda.errors import InputError
from tabsoda.review.answers import answer, change
from tabsoda.review.reviewer import login_name, save_rules
from tabsoda.schema.files import load_description, save_schema
from tabsoda.skips.review_policy import approve_unread
from tabsoda.skips.rule_files import dump_rules
from tabsoda.skips.rule_set import RuleSet

if TYPE_CHECKING:
    from starlette.requests import Request

    from tabsoda.desk.job_progress import JobProgress

_LONGEST_NAME = 100
_EDITED = "edited.toml"


def routes(project: Project) -> list[BaseRoute]:
    """Return the routes of this step."""

    async def summary(request: Request) -> Response:
        return await answer(lambda: routing_summary(project))

    async def start_mining(request: Request) -> Response:
        return await change(request, lambda body: _start_mining(project, body))

    async def start_edits(request: Request) -> Response:
        return await change(request, lambda body: _start_edits(project, body))

    async def approve(request: Request) -> Response:
        return await change(request, lambda body: _approve(project, body))

    async def reviewer(request: Request) -> Response:
        return await change(request, lambda body: _set_reviewer(project, body))

    async def cell_map(request: Request) -> Response:
        return await picture(lambda: routed_map(project), "image/png")

    return [
        Route("/api/routing", summary),
        Route("/api/routing/map.png", cell_map),
        Route("/api/routing/mine", start_mining, methods=["POST"]),
        Route("/api/routing/edits", start_edits, methods=["POST"]),
        Route("/api/routing/approve", approve, methods=["POST"]),
        Route("/api/routing/reviewer", reviewer, methods=["POST"]),
        Mount("/review", app=ReviewPage(project)),
    ]


def routing_summary(project: Project) -> dict[str, Any]:
    """Return what the page shows of rules and edits, ready for JSON."""
    content = project.content
    shown: dict[str, Any] = {
        "version": content["version"],
        "reviewer": content["settings"]["reviewer"] or login_name(),
        "form": content["description"]["form"] is not None,
        "rules": None,
        "edits": None,
        "cells": None,
        "commands": _commands(project),
    }
    if project.rules.is_file():
        rules = RuleSet.from_toml(project.rules)
        counts = Counter(rule.status.value for rule in rules)
        states = {name: counts[name] for name in ("approved", "rejected", "proposed")}
        shown["rules"] = {"all": len(rules), "targets": len(rules.targets), **states}
        if project.data is not None and project.description.is_file():
            shown["cells"] = routed_summary(project)
    if project.description.is_file():
        edits = load_description(project.description).edits
        approved = sum(edit.approved for edit in edits)
        shown["edits"] = {"all": len(edits), "approved": approved}
    return shown


def mine(project: Project, parameters: dict[str, Any], progress: JobProgress) -> dict[str, Any]:
    """Mine the rules and write ``rules.toml``; the job of ``tabsoda mine``."""
    from tabsoda.skips.mining import mine_survey

    with progress.stage("Reading"):
        survey = project.survey()
    with progress.stage("Mining") as update:
        rules = mine_survey(survey, "default", screen="purity", progress=update).rules
    keep_rules(project)
    write_text(project.rules, dump_rules(rules))
    return {"rules": len(rules), "targets": len(rules.targets)}


def propose(project: Project, parameters: dict[str, Any], progress: JobProgress) -> dict[str, Any]:
    """Add proposed edits to ``survey.toml``; the job of ``tabsoda edits``."""
    from tabsoda.edits.proposals import propose_edits

    before = file_hash(project.description)
    with progress.stage("Reading"):
        survey = project.survey()
    with progress.stage("Looking for edits"):
        found = propose_edits(survey.schema, survey.table)
    if file_hash(project.description) != before:
        raise InputError(
            "survey.toml was changed in the meantime, so no edits were added",
            next_step="Propose edits again",
        )
    added = tuple(replace(one.edit, approved=False) for one in found)
    whole = replace(survey.schema, edits=(*survey.schema.edits, *added))
    save_schema(whole, project.description)
    return {"edits": len(found)}


def _start_mining(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    project.require(body["version"])
    project.require_data()
    if project.rules.is_file() and body.get("replace") is not True:
        raise InputError(
            "The project already has rules",
            next_step="Confirm that mining may replace them; the old ones are kept in"
            " rules.previous.toml",
        )
    project.jobs.submit("mine", "Mine the routing rules", {})
    return {"version": project.version}


def _start_edits(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    project.require(body["version"])
    project.require_data()
    project.jobs.submit("edits", "Propose edits", {})
    return {"version": project.version}


def _approve(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    """Approve the rules that nobody has reviewed, as ``tabsoda review --accept-all`` does."""
    precision = body.get("min_precision")
    if precision is not None and not (
        type(precision) in (int, float) and 0 <= float(precision) <= 1
    ):
        raise InputError("The precision is not a number from 0 to 1", found=repr(precision)[:80])
    by = project.content["settings"]["reviewer"] or login_name()
    with project.change(body["version"]):
        rules, approved = approve_unread(
            RuleSet.from_toml(project.rules), by=by, min_precision=precision
        )
        save_rules(rules, project.rules)
    return routing_summary(project) | {"newly_approved": len(approved)}


def _set_reviewer(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    name = body["reviewer"]
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError("The name is not usable", found=repr(name)[:80])
    with project.change(body["version"]) as content:
        content["settings"]["reviewer"] = name.strip()
    return routing_summary(project)


def _commands(project: Project) -> dict[str, Any]:
    content = project.content
    data = "survey.sav" if project.data is None else project.path_text(project.data)
    unlisted = content["settings"]["unlisted"]
    read = [data, "--survey", "survey.toml"]
    read += ["--unlisted", unlisted] if unlisted != "error" else []
    options = {"unlisted": unlisted} if unlisted != "error" else {}
    by = content["settings"]["reviewer"]
    name = ["--by", by] if by else []
    shell = [
        shell_line("tabsoda", "mine", *read, "-o", "rules.toml"),
        shell_line("tabsoda", "edits", *read, "-o", _EDITED),
        shell_line("mv", _EDITED, "survey.toml"),
        shell_line("tabsoda", "review", "rules.toml", *read, *name),
    ]
    if project.rules.is_file() and any(r.read_by_nobody for r in RuleSet.from_toml(project.rules)):
        shell.append(shell_line("tabsoda", "review", "rules.toml", "--accept-all", *name))
    python = [
        "import tabsoda",
        "survey = " + call("tabsoda.read_survey", data, "survey.toml", **options),
        "rules = tabsoda.mine_rules(survey)",
        "rules.to_toml('rules.toml')",
    ]
    return commands(shell, python)
