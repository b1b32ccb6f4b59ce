"""A server on this machine for one person, until Ctrl-C.

It serves a page and what the page asks for. A guard lets in only the browser of this person on this
machine, and only to look.
"""

from __future__ import annotations

import secrets
import socket
import webbrowser
from importlib import resources
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from uvicorn import Config, Server

from isoscope.errors import IsoscopeError, UsageError
from isoscope.verbs.explore.answers import Answers
from isoscope.verbs.explore.word_rows import UnknownWordError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from isoscope.verbs.explore.session import Spaces


# On every answer. The page loads nothing from elsewhere and nobody else may load it.
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
        if not scope["query_string"].isascii():
            return 400, "the address holds characters that are not percent-encoded"
        return None


# What is served as it is: path, file, type. Nothing is filled in, so no word can become markup.
FILES = {
    "": ("explore.html", "text/html"),
    "explore.css": ("explore.css", "text/css"),
    "explore.js": ("explore.js", "text/javascript"),
    "scatter.js": ("scatter.js", "text/javascript"),
}


def make_app(spaces: Spaces, token: str, port: int) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    spaces : Spaces
        What is explored.
    token : str
        First part of every path.
    port : int
        Where the server listens.
    """
    answers = Answers(spaces)
    routes = [Route(f"/{path}", file_route(*file)) for path, file in FILES.items()]
    routes += [
        Route(f"/api/{answer.__name__}", answer_route(answer))
        for answer in (answers.about, answers.points, answers.neighbours, answers.measures)
    ]
    app = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers={404: nowhere})
    return Guard(app, token, port)


def file_route(name: str, kind: str) -> Callable[[Request], Response]:
    """Return a function that answers with a file."""
    content = resources.files(__package__).joinpath("templates", name).read_bytes()

    def answer(request: Request) -> Response:
        del request
        return Response(content, media_type=kind)

    return answer


def answer_route(make: Callable[..., dict[str, Any]]) -> Callable[[Request], Response]:
    """Return a function that answers with JSON, run on a thread of its own.

    A name that does not exist is 404; data that do not allow what was asked are 422.
    """

    def answer(request: Request) -> Response:
        try:
            return JSONResponse(make(request.query_params))
        except UnknownWordError as error:
            return JSONResponse({"error": str(error), "near": error.near}, 404)
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 404)
        except IsoscopeError as error:
            return JSONResponse({"error": str(error)}, 422)

    return answer


def nowhere(request: Request, error: Exception) -> Response:
    """Answer where there is nothing."""
    del request, error
    return JSONResponse({"error": "there is no such page"}, 404)


# The only address that is listened on: other machines cannot reach it.
HERE = "127.0.0.1"


def listen(port: int = 0) -> socket.socket:
    """Take a port of this machine; 0 is any free one.

    It listens at once, so that nobody else can take it too: whoever asks waits for the server.
    """
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A port of a server that just ended may still be closing.
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((HERE, port))
        taken.listen()
    except OSError as error:
        taken.close()
        raise UsageError(
            f"port {port} cannot be used ({error.strerror}); leave --port out to use a free one"
        ) from error
    return taken


def make_server(spaces: Spaces, port: int, token: str) -> Server:
    """Return a server that runs when it gets a socket.

    Nothing is logged but errors: an address holds the token.
    """
    return Server(
        Config(
            make_app(spaces, token, port),
            log_level="error",
            # uvicorn's own configuration closes the handlers of every other library.
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )


def serve(
    spaces: Spaces,
    sock: socket.socket,
    *,
    browser: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    spaces : Spaces
        What is explored.
    sock : socket
        What `listen` returned.
    browser : bool
        Whether to open the page in a browser.
    tell : callable
        Gets the address, with a token that is new every time.
    """
    token = secrets.token_urlsafe(24)
    port = int(sock.getsockname()[1])
    server = make_server(spaces, port, token)
    address = f"http://{HERE}:{port}/{token}/"
    tell(address)
    if browser:
        webbrowser.open(address)
    try:
        server.run(sockets=[sock])
    except KeyboardInterrupt:
        return  # the usual way to end it
    finally:
        sock.close()
