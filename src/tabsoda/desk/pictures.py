"""Answers that are pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

from tabsoda.errors import TabSODAError


async def picture(
    draw: Callable[[], bytes | str], kind: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with what a function draws, or with the reason why it cannot.

    Parameters
    ----------
    draw : callable
        Called in a thread; returns the content of the picture.
    kind : str
        The media type.
    headers : mapping, optional
        Further headers.
    """
    try:
        drawn = await run_in_threadpool(draw)
    except TabSODAError as error:
        return PlainTextResponse(str(error), status_code=422)
    return Response(drawn, media_type=kind, headers=headers)
