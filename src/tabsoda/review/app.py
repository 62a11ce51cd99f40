"""The web application of the review page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tabsoda.errors import InputError
from tabsoda.review.answers import answer, change
from tabsoda.review.edit_list import EditList
from tabsoda.review.guard import Guard
from tabsoda.review.session import ReviewSession

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

PAGE = Path(__file__).parent / "page"


def make_app(session: ReviewSession, token: str, port: int, stop: Callable[[], None]) -> ASGIApp:
    """Return the application that serves the page of one session.

    Parameters
    ----------
    session : ReviewSession
    token : str
        The first part of every path.
    port : int
    stop : callable
        Stops the server, when the reviewer is done.
    """

    def finish() -> dict[str, Any]:
        stop()
        return {"finished": True}

    routes = review_routes(session, finish)
    return Guard(Starlette(routes=[Mount(f"/{token}", routes=routes)]), token, port)


def review_routes(
    session: ReviewSession, finish: Callable[[], dict[str, Any]]
) -> list[Route | Mount]:
    """Return the routes of the page.

    Parameters
    ----------
    session : ReviewSession
    finish : callable
        Called when the reviewer is done; returns what is sent to the page.
    """

    async def page(request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    async def summary(request: Request) -> Response:
        return await answer(session.summary)

    async def patterns(request: Request) -> Response:
        return await answer(lambda: session.patterns(request.query_params.get("id", "")))

    async def decide(request: Request) -> Response:
        return await change(
            request,
            lambda body: session.decide(
                body["version"], _texts(body["ids"]), body["action"], body.get("note")
            ),
        )

    async def edit(request: Request) -> Response:
        return await change(
            request,
            lambda body: session.edit(body["version"], body["id"], body["when"], body.get("note")),
        )

    async def preview(request: Request) -> Response:
        return await change(
            request,
            lambda body: session.preview(body.get("id"), body["when"], body.get("target")),
        )

    async def add(request: Request) -> Response:
        return await change(
            request,
            lambda body: session.add(
                body["version"], body["target"], body["when"], body.get("note")
            ),
        )

    async def rival(request: Request) -> Response:
        return await change(
            request, lambda body: session.choose_rival(body["version"], body["id"], body["index"])
        )

    async def undo(request: Request) -> Response:
        return await change(request, lambda body: session.undo(body["version"]))

    async def done(request: Request) -> Response:
        return JSONResponse(finish())

    return [
        Route("/", page),
        Route("/api/rules", summary),
        Route("/api/patterns", patterns),
        *_edit_routes(session.edits),
        Route("/api/decide", decide, methods=["POST"]),
        Route("/api/edit", edit, methods=["POST"]),
        Route("/api/add", add, methods=["POST"]),
        Route("/api/rival", rival, methods=["POST"]),
        Route("/api/preview", preview, methods=["POST"]),
        Route("/api/undo", undo, methods=["POST"]),
        Route("/api/finish", done, methods=["POST"]),
        Mount("/page", StaticFiles(directory=PAGE)),
    ]


def _edit_routes(edits: EditList) -> list[Route]:
    """Return the routes of the edits in the description."""

    async def listed(request: Request) -> Response:
        return await answer(edits.summary)

    async def decide(request: Request) -> Response:
        return await change(
            request, lambda body: edits.decide(body["number"], body["approved"], body["rule"])
        )

    return [Route("/api/edits", listed), Route("/api/edits", decide, methods=["POST"])]


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(
            "The rules to change are not a list of identifiers", found=repr(value)[:80]
        )
    return value
