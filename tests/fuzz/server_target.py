"""Target: the requests that a browser, or somebody else, sends to the explore server."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutations import NUMBERS, TEXTS, Files
from fuzz.target import Target

PORT, TOKEN = 8765, "a-token-of-this-test"
NAMES = ("about", "points", "neighbours", "measures", "", "explore.js", "no")
KEYS = ("layer", "correction", "colour", "k", "row", "word", "occurrence", "token", "x")
VALUES = ("first", "last", "none", "whiten", "center", "all-but-the-top", "length", "order", "10",
          "word7", "twice", "Twice", "word", "nothing", *NUMBERS, *TEXTS)  # fmt: skip


@cache
def application() -> tuple[Any, asyncio.AbstractEventLoop]:
    from explored_for_tests import small

    from isoscope.verbs.explore.server import make_app
    from isoscope.verbs.explore.session import Spaces

    app = make_app(Spaces(small(rows=60, width=4), 20, seed=1), TOKEN, PORT)
    return app, asyncio.new_event_loop()


def request_seeds() -> list[Files]:
    """Requests: the path, the query, and the headers, a line each."""
    lines = ("/api/about", "/api/points?layer=first&correction=whiten&colour=length",
             "/api/neighbours?word=twice&occurrence=1&k=3",
             "/api/neighbours?row=5&correction=center",
             "/api/measures?layer=last&correction=all-but-the-top", "/", "/explore.js")  # fmt: skip
    return [
        {"request.http": f"GET /{TOKEN}{line}\nhost: 127.0.0.1:{PORT}\naccept: */*".encode()}
        for line in lines
    ]


def changed_request(content: bytes, random: Random) -> bytes:
    """Put together another request, or change this one."""
    from urllib.parse import quote

    if random.random() < 0.2:
        from fuzz.mutations import changed_tokens

        return changed_tokens(content, random)
    pairs = []
    for _ in range(random.choice((0, 1, 2, 3, 4))):
        value = random.choice(VALUES)
        value = quote(value) if random.random() < 0.8 else value.replace("\n", "%0a")
        pairs.append(f"{random.choice(KEYS)}={value}")
    token = random.choice((TOKEN,) * 30 + ("", "x", TOKEN[:-1]))
    method = random.choice(("GET",) * 20 + ("POST", "HEAD", "OPTIONS", "get", ""))
    host = random.choice((f"127.0.0.1:{PORT}",) * 20 + ("evil.example", "", "localhost"))
    path = f"/{token}/api/{random.choice(NAMES)}"
    text = f"{method} {path}?{random.choice('&;').join(pairs)}\nhost: {host}"
    return text.encode("utf-8", "surrogatepass")


async def answer(app: Any, scope: dict[str, Any]) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def read_request(folder: Path) -> object:
    """Send a request as uvicorn does, and check the answer."""
    from urllib.parse import unquote

    lines = (folder / "request.http").read_bytes().split(b"\n")
    method, _, target = lines[0].partition(b" ")
    path, _, query = target.partition(b"?")
    headers = [tuple(part.strip() for part in line.partition(b":")[::2]) for line in lines[1:]]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1",
        "method": method.decode("latin-1"), "path": unquote(path.decode("latin-1")),
        "raw_path": path, "query_string": query, "root_path": "", "scheme": "http",
        "headers": [(name.lower(), value) for name, value in headers],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT),
    }  # fmt: skip
    app, loop = application()
    begin, *rest = loop.run_until_complete(answer(app, scope))
    status = begin["status"]
    assert status in (200, 307, 400, 403, 404, 405, 421, 422), status
    names = {name for name, _ in begin["headers"]}
    assert {b"content-security-policy", b"x-frame-options", b"cache-control"} <= names
    kind = dict(begin["headers"]).get(b"content-type", b"")
    if kind == b"application/json":
        said = json.loads(b"".join(part.get("body", b"") for part in rest))
        if status != 200:
            assert len(said["error"]) <= 300, f"{len(said['error'])} characters"
            assert "\n" not in said["error"]
    return status


TARGETS = [
    Target("explore server", request_seeds, read_request, {".http": changed_request},
           ("starlette", "uvicorn"), 100),
]  # fmt: skip
