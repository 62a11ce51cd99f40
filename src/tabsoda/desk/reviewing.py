"""The review page within the desk: the same page, for the rules and the survey of the project."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from tabsoda.desk.project import Project
from tabsoda.errors import InputError, TabSODAError
from tabsoda.review.app import review_routes
from tabsoda.review.reviewer import login_name
from tabsoda.review.session import ReviewSession
from tabsoda.schema.schema import Schema

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

# Where the button "Finish" leads.
_BACK = {"finished": True, "next": "../#routing"}


class ReviewPage:
    """The review page as an application; a new session begins when the columns change.

    Approving an edit changes ``survey.toml`` but no column, so the session and its undo remain.

    Parameters
    ----------
    project : Project
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._lock = threading.Lock()
        self._key: tuple[Any, ...] | None = None
        self._columns: Schema | None = None
        self._app: Starlette | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the current session."""
        try:
            app = await run_in_threadpool(self._current)
        except TabSODAError as error:
            await PlainTextResponse(f"{error}\n", status_code=422)(scope, receive, send)
            return
        await app(scope, receive, send)

    def _current(self) -> Starlette:
        project = self.project
        if not project.rules.is_file():
            raise InputError("There are no rules to review yet", next_step="Mine them first")
        settings = project.content["settings"]
        by = settings["reviewer"] or login_name()
        survey = project.survey()
        key = (project.hash_of(project.require_data()), settings["unlisted"], by)
        columns = Schema(tuple(survey.schema))
        with self._lock:
            if self._app is None or (key, columns) != (self._key, self._columns):
                session = ReviewSession(
                    project.rules, survey, by, project.suppress_below, project.description
                )
                self._app = Starlette(routes=review_routes(session, lambda: _BACK))
                self._key, self._columns = key, columns
            return self._app
