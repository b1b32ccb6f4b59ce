"""A proxy that cuts connections to PostgreSQL at the k-th message of the protocol.

It stands between libpq and the server, takes the stream apart into messages (a type of one byte,
then a length; the first message of a client has no type), and counts those of both directions over
all connections. At the chosen one it forwards half of the message and closes both sides.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

import isoscope
from isoscope.errors import IsoscopeError


@dataclass(frozen=True)
class Message:
    """One message that went through: who sent it, and its type."""

    sender: str
    kind: str


class Proxy:
    """Forwards connections to a server's socket.

    Parameters
    ----------
    server : str
        The Unix socket of the server.
    cut : int, optional
        Which message is cut; 0 cuts none.
    """

    def __init__(self, server: str, cut: int = 0) -> None:
        self._server, self._cut = server, cut
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._open = True
        self.messages: list[Message] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = False
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._close_all()
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while self._open:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._sockets += [client, server]
            self._start(partial(self._forward, "client", client, server, first=True))
            self._start(partial(self._forward, "server", server, client, first=False))

    def _forward(
        self, sender: str, source: socket.socket, target: socket.socket, *, first: bool
    ) -> None:
        """Forward messages until one side closes, or the chosen one comes."""
        with suppress(OSError, struct.error):
            while message := read_message(source, first=first):
                kind = "startup" if first else chr(message[0])
                first = False
                with self._lock:
                    self.messages.append(Message(sender, kind))
                    chosen = len(self.messages) == self._cut
                if chosen:
                    target.sendall(message[: len(message) // 2])
                    self._close_all()
                    return
                target.sendall(message)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _close_all(self) -> None:
        """Cut the connections that there are; new ones are let in."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._sockets = []


def read_message(source: socket.socket, *, first: bool) -> bytes:
    """Read one message; nothing where the stream ends."""
    head = read_exactly(source, 4 if first else 5)
    (length,) = struct.unpack(">i", head[-4:])
    return head + read_exactly(source, length - 4)


def read_exactly(source: socket.socket, size: int) -> bytes:
    """Read so many bytes, or raise ``OSError`` where the stream ends before."""
    found = b""
    while len(found) < size:
        piece = source.recv(size - len(found))
        if not piece:
            raise OSError("the stream ended")
        found += piece
    return found


VECTORS = (np.random.default_rng(0).standard_normal((6, 2)) + 0.5).astype(np.float32)


def through(proxy: Proxy, table: str, *parameters: str) -> str:
    """Return an address that leads through the proxy."""
    query = "&".join([f"table={table}", "sslmode=disable", "gssencmode=disable", *parameters])
    return f"postgresql://postgres@127.0.0.1:{proxy.port}/test?{query}"


def prepare(server: Any) -> None:
    """Make the table anew; ``server`` is the one of the tests."""
    server.run("DROP TABLE IF EXISTS corrected")
    server.table("cut", "id int PRIMARY KEY, v vector(2)")
    server.fill("cut", range(6), VECTORS)


def state(server: Any) -> dict[str, list[Any]]:
    """Return what the database holds: every column of the table, and of the new one."""
    names = server.run(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_name IN ('cut', 'corrected') ORDER BY 1, 2"
    )
    return {
        f"{table}.{column}": server.run(f'SELECT "{column}"::text FROM "{table}" ORDER BY id')
        for table, column in names
    }


def correction_in(folder: Path) -> str:
    """Return the file of a correction of these vectors."""
    path = folder / "center.safetensors"
    if not path.exists():
        np.save(folder / "x.npy", VECTORS)
        isoscope.fit_correction(str(folder / "x.npy"), "center", path)
    return str(path)


def measure(proxy: Proxy, folder: Path) -> Any:
    """Read the table."""
    del folder
    address = through(proxy, "cut")
    return isoscope.measure(address, "mean_cosine", "none", intervals=False).to_rows()


def new_column(proxy: Proxy, folder: Path) -> None:
    """Write corrected vectors into the table."""
    source, target = through(proxy, "cut", "column=v"), through(proxy, "cut", "column=new")
    isoscope.apply_correction(correction_in(folder), source, target)


def new_table(proxy: Proxy, folder: Path) -> None:
    """Write corrected vectors into another table."""
    source, target = through(proxy, "cut", "column=v"), through(proxy, "corrected", "column=new")
    isoscope.apply_correction(correction_in(folder), source, target)


OPERATIONS: dict[str, Callable[[Proxy, Path], Any]] = {
    "measure a table": measure, "correct into a column": new_column,
    "correct into a table": new_table,
}  # fmt: skip


def all_cuts(server: Any, name: str, folder: Path, every: int = 1) -> dict[str, Any]:
    """Run an operation once whole, and once with a cut in every message, or every few of them.

    After a cut there is one line or a right answer, and the database is as it was or as it was to
    be; where the line says that it is as it was, it is.
    """
    run = OPERATIONS[name]
    path = f"{server.socket}/.s.PGSQL.5432"
    prepare(server)
    before = state(server)
    with Proxy(path) as proxy:
        expected = run(proxy, folder)
        messages = len(proxy.messages)
    after = state(server)
    harm, refused, cuts = [], 0, 0
    for cut in range(1, messages + 1, every):
        prepare(server)
        said, answer = "", None
        with Proxy(path, cut) as proxy:
            try:
                answer = run(proxy, folder)
            except IsoscopeError as error:
                said = str(error)
                refused += 1
            except Exception as error:
                harm.append(f"message {cut}: {type(error).__name__}: {error}"[:200])
                continue
        found = state(server)
        cuts += 1
        wrong = (
            "the database is neither as it was nor as it was to be" if found not in (before, after)
            else "another answer" if not said and (answer != expected or found != after)
            else "it is not as it was" if "as it was" in said and found != before
            else "several lines" if "\n" in said
            else ""
        )  # fmt: skip
        if wrong:
            harm.append(f"message {cut}: {wrong}")
    return {"messages": messages, "cuts": cuts, "refused": refused, "harm": harm}
