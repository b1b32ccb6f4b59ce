"""The server as it runs."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from typing import Any

import pytest
from explored_for_tests import small_spaces

from isoscope.errors import UsageError
from isoscope.verbs.explore import server as running
from isoscope.verbs.explore.api import load_server

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A running server; the page's address."""
    servers: list[Any] = []
    make = running.make_server

    def remember(*arguments: Any) -> Any:
        servers.append(make(*arguments))
        return servers[-1]

    monkeypatch.setattr(running, "make_server", remember)
    told: list[str] = []
    ready = threading.Event()

    def tell(words: str) -> None:
        told.append(words)
        ready.set()

    sock = running.listen()
    thread = threading.Thread(
        target=running.serve, args=(small_spaces(), sock), kwargs={"tell": tell}
    )
    thread.start()
    assert ready.wait(10)
    yield told[0]
    servers[0].should_exit = True
    thread.join(10)
    assert not thread.is_alive()
    assert sock.fileno() == -1


def status_of(address: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_page_is_served_to_those_who_know_the_address(address: str) -> None:
    host, token = address.removeprefix("http://").rstrip("/").split("/")
    assert host.startswith("127.0.0.1:")
    assert len(token) >= 32
    assert status_of(address) == 200
    with urllib.request.urlopen(f"{address}api/about") as answer:
        assert json.load(answer)["name"] == "small"
        assert "server" not in {name.lower() for name in answer.headers}
    assert status_of(f"http://{host}/") == 403
    assert status_of(address, Host="evil.example") == 421


def test_nothing_is_said_of_requests(capfd: pytest.CaptureFixture[str], address: str) -> None:
    status_of(address)
    status_of(address + "nowhere")
    assert capfd.readouterr() == ("", "")


def test_handlers_of_other_libraries_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    handler = logging.NullHandler()
    monkeypatch.setattr(handler, "close", lambda: closed.append(True))
    with running.listen() as sock:
        running.make_server(small_spaces(), sock.getsockname()[1], "token")
    assert not closed


def test_it_listens_on_this_machine_alone() -> None:
    with running.listen() as sock:
        assert sock.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken() -> None:
    with running.listen() as sock:
        port = sock.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} cannot be used .*leave --port out"):
            running.listen(port)
    with running.listen(port) as again:
        assert again.getsockname()[1] == port


class Stopped:
    """Stands for a server that is stopped by Ctrl-C at once."""

    def run(self, sockets: list[socket.socket]) -> None:
        assert len(sockets) == 1
        raise KeyboardInterrupt


@pytest.mark.parametrize("wanted", [True, False])
def test_a_browser_opens_only_when_asked_to(monkeypatch: pytest.MonkeyPatch, wanted: bool) -> None:
    opened: list[str] = []
    told: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(running, "make_server", lambda *_: Stopped())
    running.serve(small_spaces(), running.listen(), browser=wanted, tell=told.append)
    assert len(told) == 1
    assert opened == (told if wanted else [])


def test_every_run_has_a_token_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(running, "make_server", lambda *_: Stopped())
    for _ in range(3):
        running.serve(small_spaces(), running.listen(), tell=told.append)
    assert len({one.split("/")[3] for one in told}) == 3


def test_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_server() is running
    for package in ("starlette", "uvicorn"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)  # importing it fails
            with pytest.raises(UsageError, match=r"pip install 'isoscope\[report\]'"):
                load_server()


def test_the_call_is_there_without_what_serves_the_page() -> None:
    code = (
        "import sys; sys.modules['starlette'] = None\n"
        "import isoscope\n"
        "try: isoscope.explore([[1.0, 2.0]])\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("explore needs starlette and uvicorn; pip install")
