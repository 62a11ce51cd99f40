"""The web application of the desk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from tabsoda.desk.project import Project
from tabsoda.desk.steps import analysing, exporting, imputing, looking, opening, routing
from tabsoda.errors import InputError
from tabsoda.review.answers import answer, change
from tabsoda.review.app import PAGE as SHARED
from tabsoda.review.guard import Guard

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

PAGE = Path(__file__).parent / "page"
_STEPS = (opening, routing, imputing, looking, analysing, exporting)


def make_app(project: Project, token: str, port: int, stop: Callable[[], None]) -> ASGIApp:
    """Return the application that serves the page of one project.

    Parameters
    ----------
    project : Project
    token : str
        The first part of every path.
    port : int
    stop : callable
        Stops the server.
    """

    async def page(request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    async def finish(request: Request) -> Response:
        stop()
        return JSONResponse({"finished": True})

    routes: list[BaseRoute] = [
        Route("/", page),
        Route("/api/finish", finish, methods=["POST"]),
        *_project_routes(project),
        *(route for step in _STEPS for route in step.routes(project)),
        Mount("/page", StaticFiles(directory=PAGE)),
        # Elements, requests and colours, which the review page has as well.
        Mount("/shared", StaticFiles(directory=SHARED)),
    ]
    inner = Starlette(routes=[Mount(f"/{token}", routes=routes)])
    return Guard(inner, token, port, command="desk")


def _project_routes(project: Project) -> list[BaseRoute]:
    """Return the routes of what all steps share: the project, its settings and its jobs."""

    async def summary(request: Request) -> Response:
        return await answer(project.summary)

    async def jobs(request: Request) -> Response:
        return await answer(lambda: {"version": project.version, "jobs": project.jobs.summary()})

    async def job(request: Request) -> Response:
        return await answer(lambda: project.jobs.get(request.query_params.get("id")))

    async def act(request: Request) -> Response:
        return await change(request, lambda body: _act(project, body))

    return [
        Route("/api/project", summary),
        Route("/api/jobs", jobs),
        Route("/api/job", job),
        Route("/api/jobs", act, methods=["POST"]),
    ]


def _act(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    """Pause, resume, cancel or remove a job."""
    actions: dict[str, Callable[[Any], object]] = {
        "pause": project.jobs.pause,
        "resume": project.jobs.resume,
        "cancel": project.jobs.cancel,
        "remove": project.jobs.remove,
    }
    action = body["action"]
    if not isinstance(action, str) or action not in actions:
        raise InputError(
            "The action is not known", found=repr(action)[:80], expected=", ".join(actions)
        )
    actions[action](body["id"])
    return {"version": project.version, "jobs": project.jobs.summary()}
