"""Serve a page on this machine until its user is done."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from tabsoda.errors import InputError
from tabsoda.review.app import make_app
from tabsoda.review.session import ReviewSession

if TYPE_CHECKING:
    from starlette.types import ASGIApp

# make_app(token, port, stop)
MakeApp = Callable[[str, int, Callable[[], None]], "ASGIApp"]


class LocalServer:
    """A page, bound to 127.0.0.1, at an address with a secret token.

    Parameters
    ----------
    make_app : callable
        Called with the token, the port and what stops the server; returns the application.
    port : int, default 0
        0 chooses a free port.

    Attributes
    ----------
    address : str
        The address of the page, including the token.
    """

    def __init__(self, make_app: MakeApp, port: int = 0) -> None:
        try:
            self._socket = socket.create_server(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise InputError(
                f"The port {port} cannot be used",
                found=getattr(error, "strerror", None) or str(error),
                next_step="Choose another --port, or omit it to use a free one",
            ) from error
        port = self._socket.getsockname()[1]
        token = secrets.token_urlsafe(24)
        self.address = f"http://127.0.0.1:{port}/{token}/"
        # No access log: it would contain the token.
        config = uvicorn.Config(
            make_app(token, port, self.stop),
            access_log=False,
            log_level="warning",
            lifespan="off",
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)

    def stop(self) -> None:
        """End :meth:`run` after the current requests."""
        self._server.should_exit = True

    def run(self, ready: Callable[[str], None] | None = None, *, browse: bool = False) -> None:
        """Serve until :meth:`stop`, or until the user interrupts."""
        if ready is not None:
            ready(self.address)
        if browse:
            webbrowser.open(self.address)
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            # The usual way to stop a server; every change is already saved.
            pass
        finally:
            self._socket.close()


class ReviewServer(LocalServer):
    """The review page of one session.

    Parameters
    ----------
    session : ReviewSession
    port : int, default 0
        0 chooses a free port.
    """

    def __init__(self, session: ReviewSession, port: int = 0) -> None:
        super().__init__(partial(make_app, session), port)
