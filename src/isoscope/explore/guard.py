"""Who may ask: the browser of this person on this machine, and only to look."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""On every answer. The page loads nothing from elsewhere and nobody else may load it."""


class Guard:
    """Refuses requests that another page, another machine or another user could have sent.

    A page of the web can make a browser send requests to this machine, under a name of its own
    that it lets point here: so the name must be this machine's, and the path must begin with a
    token that only the person who started the server knows.

    Parameters
    ----------
    app : ASGI application
        What is guarded; it sees the path with the token.
    token : str
        First part of every path.
    port : int
        Where the server listens.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = [f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(key.lower().encode(), value.encode()) for key, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        if scope["type"] != "http":
            return
        refused = self.refusal(scope)
        if refused is None:
            await self._app(scope, receive, send_with_headers)
            return
        from starlette.responses import JSONResponse

        status, words = refused
        await JSONResponse({"error": words}, status)(scope, receive, send_with_headers)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason where a request is refused."""
        hosts = [value for key, value in scope["headers"] if key == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "this server answers under 127.0.0.1 and localhost only"
        given = scope["path"].encode().split(b"/")[1:2]
        if not given or not secrets.compare_digest(given[0], self._token):
            return 403, "the address lacks its token; open the one that isoscope printed"
        if scope["method"] != "GET":
            return 405, "this server can only be read from"
        return None
