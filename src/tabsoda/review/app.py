"""The web application of the review page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tabsoda.errors import InputError
from tabsoda.review.edit_list import EditList
from tabsoda.review.guard import Guard
from tabsoda.review.session import ReviewSession, StaleVersionError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

PAGE = Path(__file__).parent / "page"
# Far more than the longest note and the largest rule need.
_LARGEST_BODY = 200_000


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

    async def page(request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    async def summary(request: Request) -> Response:
        return await _answer(session.summary)

    async def patterns(request: Request) -> Response:
        return await _answer(lambda: session.patterns(request.query_params.get("id", "")))

    async def decide(request: Request) -> Response:
        return await _change(
            request,
            lambda body: session.decide(
                body["version"], _texts(body["ids"]), body["action"], body.get("note")
            ),
        )

    async def edit(request: Request) -> Response:
        return await _change(
            request,
            lambda body: session.edit(body["version"], body["id"], body["when"], body.get("note")),
        )

    async def preview(request: Request) -> Response:
        return await _change(
            request,
            lambda body: session.preview(body.get("id"), body["when"], body.get("target")),
        )

    async def add(request: Request) -> Response:
        return await _change(
            request,
            lambda body: session.add(
                body["version"], body["target"], body["when"], body.get("note")
            ),
        )

    async def rival(request: Request) -> Response:
        return await _change(
            request, lambda body: session.choose_rival(body["version"], body["id"], body["index"])
        )

    async def undo(request: Request) -> Response:
        return await _change(request, lambda body: session.undo(body["version"]))

    async def finish(request: Request) -> Response:
        stop()
        return JSONResponse({"finished": True})

    routes = [
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
        Route("/api/finish", finish, methods=["POST"]),
        Mount("/page", StaticFiles(directory=PAGE)),
    ]
    return Guard(Starlette(routes=[Mount(f"/{token}", routes=routes)]), token, port)


def _edit_routes(edits: EditList) -> list[Route]:
    """Return the routes of the edits in the description."""

    async def listed(request: Request) -> Response:
        return await _answer(edits.summary)

    async def decide(request: Request) -> Response:
        return await _change(
            request, lambda body: edits.decide(body["number"], body["approved"], body["rule"])
        )

    return [Route("/api/edits", listed), Route("/api/edits", decide, methods=["POST"])]


async def _change(request: Request, change: Callable[[dict[str, Any]], Any]) -> Response:
    try:
        body = await _body(request)
    except (ValueError, RecursionError) as error:
        return JSONResponse({"error": str(error)}, status_code=400)
    return await _answer(lambda: _applied(change, body))


def _applied(change: Callable[[dict[str, Any]], Any], body: dict[str, Any]) -> Any:
    try:
        return change(body)
    except KeyError as error:
        raise InputError(f"The request has no {error}") from error


async def _answer(work: Callable[[], Any]) -> Response:
    """Run the work in a thread, and return errors in a form the page can show."""
    try:
        return JSONResponse(await run_in_threadpool(work))
    except StaleVersionError as error:
        return JSONResponse({"error": str(error)}, status_code=409)
    except InputError as error:
        return JSONResponse({"error": str(error)}, status_code=422)


async def _body(request: Request) -> dict[str, Any]:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > _LARGEST_BODY:
            raise ValueError("The request is too large.")
    body = json.loads(content)
    if not isinstance(body, dict):
        raise ValueError("The request is not a JSON object.")
    return body


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(
            "The rules to change are not a list of identifiers", found=repr(value)[:80]
        )
    return value
