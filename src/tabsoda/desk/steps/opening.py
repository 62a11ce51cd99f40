"""Step 1, Open: a file, what is in it, and corrections of its description."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tabsoda.desk.columns import column_details, survey_summary
from tabsoda.desk.describing import (
    correct,
    described,
    description_commands,
    is_changed,
    undo,
    write_description,
)
from tabsoda.desk.pictures import picture
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import take_file
from tabsoda.desk.uploads import receive
from tabsoda.errors import InputError
from tabsoda.report.state_map import state_map
from tabsoda.review.answers import answer, change

if TYPE_CHECKING:
    from starlette.requests import Request


def routes(project: Project) -> list[BaseRoute]:
    """Return the routes of this step."""

    async def summary(request: Request) -> Response:
        return await answer(lambda: open_summary(project))

    async def column(request: Request) -> Response:
        name = request.query_params.get("name", "")
        return await answer(
            lambda: column_details(described(project), name, project.suppress_below)
        )

    async def cell_map(request: Request) -> Response:
        return await picture(lambda: _picture(project), "image/png")

    async def by_path(request: Request) -> Response:
        return await change(request, lambda body: _open(project, body))

    async def upload(request: Request) -> Response:
        return await receive(request, project)

    async def settings(request: Request) -> Response:
        return await change(request, lambda body: _correct(project, body))

    async def take_back(request: Request) -> Response:
        return await change(request, lambda body: _undo(project, body))

    async def options(request: Request) -> Response:
        return await change(request, lambda body: _set_options(project, body))

    return [
        Route("/api/open", summary),
        Route("/api/open/column", column),
        Route("/api/open/map.png", cell_map),
        Route("/api/open", by_path, methods=["POST"]),
        Route("/api/open/upload", upload, methods=["POST"]),
        Route("/api/open/correct", settings, methods=["POST"]),
        Route("/api/open/undo", take_back, methods=["POST"]),
        Route("/api/open/options", options, methods=["POST"]),
    ]


def open_summary(project: Project) -> dict[str, Any]:
    """Return what the page shows of the open survey, ready for JSON."""
    content = project.content
    shown: dict[str, Any] = {
        "version": content["version"],
        "survey": None,
        "commands": description_commands(project),
    }
    if project.data is None:
        return shown
    data = project.require_data()
    description = content["description"]
    changed = is_changed(project, description)
    survey = survey_summary(described(project), project.suppress_below)
    return shown | {
        "survey": survey,
        "is_other_file": project.hash_of(data) != content["data"]["sha256"],
        "unlisted": content["settings"]["unlisted"],
        "corrections": [", ".join(one) for one in description["settings"]],
        "can_undo": bool(description["settings"]) and not changed,
        "can_redo": bool(description["undone"]) and not changed,
        "changed_outside": changed,
        "form": description["form"],
    }


def _picture(project: Project) -> bytes:
    image = state_map(described(project).states, project.suppress_below)["image"]
    return base64.b64decode(image.partition(",")[2])


def _open(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    path = body["path"]
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise InputError("The path is not a text", found=repr(path)[:80])
    # Unlike Path.expanduser, this leaves the name of an unknown user as it is.
    place = Path(os.path.expanduser(path.strip()))
    used = take_file(project, body["version"], place, body.get("use"))
    return {"version": project.version, "used_as": used}


def _correct(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    correct(project, body["version"], body["settings"])
    return open_summary(project)


def _undo(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    undo(project, body["version"], again=bool(body.get("again")))
    return open_summary(project)


def _set_options(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    unlisted = body["unlisted"]
    if unlisted not in ("error", "missing"):
        raise InputError(
            "Unknown value of unlisted", found=repr(unlisted)[:80], expected="'error', 'missing'"
        )
    project.require_data()
    with project.change(body["version"]) as content:
        content["settings"]["unlisted"] = unlisted
        write_description(project, content)
    return open_summary(project)
