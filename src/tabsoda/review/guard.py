"""Access control of the local pages: only a browser on this machine with the token."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A form or an image on another site cannot set a custom header.
WRITE_HEADER = "x-tabsoda-review"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A route may answer with a policy of its own, such as the hashes of an inline script.
_DEFAULTS = {"content-security-policy": POLICY, "x-frame-options": "DENY"}
_SECURITY = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Rejects requests without the token, and requests from another site.

    Parameters
    ----------
    app : ASGI application
    token : str
        The first part of every path.
    port : int
        The port of the page; other host names for this machine are rejected, too.
    command : str, default "review"
        The command that serves the page, for messages.
    """

    def __init__(self, app: ASGIApp, token: str, port: int, command: str = "review") -> None:
        self.app = app
        self.token = token
        self.command = command
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_SECURITY)
                for name, value in _DEFAULTS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal:
            await PlainTextResponse(refusal + "\n", status_code=403)(scope, receive, send_safely)
        else:
            await self.app(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        # Another host name may point at this machine ("DNS rebinding").
        if host not in self.hosts:
            return f"This is not the address of the {self.command} page."
        # The path of "OPTIONS *" has no slash.
        given = "".join(scope["path"].split("/")[1:2])
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return (
                "The address is incomplete or old. Open the one that"
                f" tabsoda {self.command} printed."
            )
        if scope["method"] in ("GET", "HEAD"):
            return ""
        if headers.get("origin") != f"http://{host}" or headers.get(WRITE_HEADER) != "1":
            return f"Changes can only be made from the {self.command} page."
        return ""
