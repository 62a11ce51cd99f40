"""Requests and answers of the local pages: JSON within limits, errors in a form they can show."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from tabsoda.errors import InputError, TabSODAError
from tabsoda.review.session import StaleVersionError

if TYPE_CHECKING:
    from starlette.requests import Request

# Far more than the longest note and the largest rule need.
LARGEST_BODY = 200_000


async def answer(work: Callable[[], Any]) -> Response:
    """Run the work in a thread; 409 for a stale version, 422 for bad input, 500 for a bad disk.

    Parameters
    ----------
    work : callable
        Returns plain values, which are sent as JSON.
    """
    try:
        return JSONResponse(await run_in_threadpool(work))
    except StaleVersionError as error:
        return JSONResponse({"error": str(error)}, status_code=409)
    except TabSODAError as error:
        return JSONResponse({"error": str(error)}, status_code=422)
    except OSError as error:
        where = f" '{error.filename[:200]}'" if isinstance(error.filename, str) else ""
        text = f"A file{where} cannot be read or written: {error.strerror or error}."
        return JSONResponse({"error": text}, status_code=500)


async def change(request: Request, work: Callable[[dict[str, Any]], Any]) -> Response:
    """Call the work with the JSON object of a request; 400 if there is none, else as `answer`."""
    try:
        body = await _body(request)
    except (ValueError, RecursionError) as error:
        return JSONResponse({"error": str(error)}, status_code=400)
    except ClientDisconnect:
        return Response(status_code=400)
    return await answer(lambda: _applied(work, body))


def _applied(work: Callable[[dict[str, Any]], Any], body: dict[str, Any]) -> Any:
    try:
        return work(body)
    except KeyError as error:
        raise InputError(f"The request has no {error}") from error


async def _body(request: Request) -> dict[str, Any]:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BODY:
            raise ValueError("The request is too large.")
    body = json.loads(content)
    if not isinstance(body, dict):
        raise ValueError("The request is not a JSON object.")
    # Half a pair of surrogates can neither be saved nor sent back.
    json.dumps(body, ensure_ascii=False).encode()
    return body
