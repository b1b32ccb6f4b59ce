"""A server on this machine for one person, until Ctrl-C."""

from __future__ import annotations

import importlib.util
import secrets
import socket
import webbrowser
from typing import TYPE_CHECKING

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvicorn import Server

    from isoscope.explore.spaces import Spaces

HERE = "127.0.0.1"
"""The only address that is listened on: other machines cannot reach it."""


def check_installed() -> None:
    """Say in one line what is missing, before anything long is done."""
    for name in ("starlette", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise UsageError("explore needs starlette and uvicorn; pip install 'isoscope[report]'")


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
            f"port {port} cannot be had ({error.strerror}); leave --port out for a free one"
        ) from error
    return taken


def make_server(spaces: Spaces, port: int, token: str) -> Server:
    """Return a server that runs when it gets a socket.

    Nothing is logged but errors: an address holds the token.
    """
    from uvicorn import Config, Server

    from isoscope.explore.server import make_app

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
