"""Files that the browser sends: streamed to disk, within a limit."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from tabsoda._internal.files import make_folder
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import checked_name, take_file
from tabsoda.errors import InputError
from tabsoda.review.answers import answer

if TYPE_CHECKING:
    from starlette.requests import Request

_UNFINISHED = ".upload."


async def receive(request: Request, project: Project) -> Response:
    """Write the body of a request into the project's folder ``data``, and use the file.

    The query names the file (``name``), the project's ``version`` and, optionally, its ``use``.
    """
    query = request.query_params
    try:
        name = checked_name(query.get("name"))
        version = int(query.get("version", ""))
        path = await _streamed(request, project, name)
    except InputError as error:
        return JSONResponse({"error": str(error)}, status_code=422)
    except ValueError:
        return JSONResponse({"error": "The request has no version."}, status_code=400)
    except ClientDisconnect:
        # The user has closed the page or chosen another file.
        return Response(status_code=400)

    def use() -> dict[str, object]:
        used = take_file(project, version, path, query.get("use") or None)
        return {"version": project.version, "used_as": used}

    result = await answer(use)
    if result.status_code != 200:
        await run_in_threadpool(path.unlink, missing_ok=True)
    return result


async def _streamed(request: Request, project: Project, name: str) -> Path:
    """Write the body to a new file in the folder ``data``."""
    folder = project.folder / "data"
    await run_in_threadpool(make_folder, folder)
    most = project.largest_upload
    if int(request.headers.get("content-length") or 0) > most:
        raise _too_large(name, most)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=_UNFINISHED)
        size = 0
        with os.fdopen(handle, "wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise _too_large(name, most)
                await run_in_threadpool(file.write, chunk)
        path = _free_name(folder, name)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(
            f"The file '{name}' cannot be written", found=error.strerror or str(error)
        ) from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
    return path


def remove_unfinished(project: Path) -> None:
    """Remove what a server that was killed had received in part.

    Parameters
    ----------
    project : Path
        A folder that this process has locked.
    """
    for path in (project / "data").glob(f"{_UNFINISHED}*"):
        path.unlink(missing_ok=True)


def _free_name(folder: Path, name: str) -> Path:
    """Return a path that does not exist yet, so that no file is replaced."""
    path, number = folder / name, 2
    while path.exists():
        path = folder / f"{Path(name).stem}-{number}{Path(name).suffix}"
        number += 1
    return path


def _too_large(name: str, most: int) -> InputError:
    return InputError(
        f"The file '{name}' is too large to be sent by the browser",
        expected=f"at most {most / 1e6:,.0f} MB",
        next_step="Open it by its path, or start tabsoda desk with --largest-upload",
    )
