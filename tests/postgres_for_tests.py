"""A real PostgreSQL server with pgvector, and a short way to its tables, for tests."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psycopg
from psycopg import sql

USER = "reader"
PASSWORD = "ge%40h/e:i&m?"
"""Of that role: in it are all signs that mean something in an address."""
IN_ADDRESS = "ge%2540h%2Fe%3Ai%26m%3F"

DATABASE = "test"
WITHOUT_EXTENSION = "bare"


class Server:
    """A running server."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    def address(
        self, table: str, *parameters: str, user: str = "postgres", db: str = DATABASE
    ) -> str:
        """Return the address of a table over the server's socket."""
        query = "&".join([f"host={self.socket}", f"table={table}", *parameters])
        return f"postgresql://{user}@/{db}?{query}"

    def connect(self, db: str = DATABASE) -> psycopg.Connection[Any]:
        return psycopg.connect(host=self.socket, user="postgres", dbname=db, autocommit=True)

    def run(self, statement: Any, *values: Any, db: str = DATABASE) -> list[Any]:
        """Run a statement, and return its rows, if it has any."""
        with self.connect(db) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def table(self, name: str, columns: str) -> None:
        """Make a table anew; ``columns`` as in CREATE TABLE."""
        identifier = sql.Identifier(name)
        self.run(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(identifier))
        made = sql.SQL("CREATE TABLE {} (" + columns + ")")  # type: ignore[arg-type]
        self.run(made.format(identifier))

    def fill(self, name: str, ids: Iterable[Any], vectors: Iterable[Any]) -> None:
        """Write ids and vectors as text, which takes no knowledge of binary formats."""
        statement = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
        with self.connect() as connection, connection.cursor().copy(statement) as copy:
            for one, vector in zip(ids, vectors, strict=True):
                copy.write_row((one, None if vector is None else as_text(vector)))


def as_text(vector: np.ndarray, brackets: str = "[]") -> str:
    """Return a vector as pgvector reads it; nine digits give a float32 back exactly."""
    return brackets[0] + ",".join(f"{number:.9g}" for number in vector) + brackets[1]


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server in a folder of its own, and stop it at the end.

    It has a database with pgvector, one without, and a role that needs a password.
    """
    # Not in pytest's folder: a server that root starts runs as somebody else, and every run of
    # pytest takes others' right to its folder away.
    folder = Path(tempfile.mkdtemp(prefix="isoscope-pg-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs misses a folder that nothing here needs
        import pgserver

        process = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        (socket,) = parse_qs(urlsplit(process.get_uri()).query)["host"]
        server = Server(socket)
        server.run(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'", db="postgres")
        for name in (DATABASE, WITHOUT_EXTENSION):
            server.run(f"CREATE DATABASE {name}", db="postgres")
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            server.run(f"ALTER SYSTEM SET {setting} = off")  # nothing here outlives the machine
        server.run("CREATE EXTENSION vector")
        # What waits for a lock waits for a cloud that a failed test left open.
        server.run("ALTER ROLE postgres SET lock_timeout = 10000")
        rules = folder / "pg_hba.conf"
        rules.write_text(f"local all {USER} scram-sha-256\n" + rules.read_text())
        server.run("SELECT pg_reload_conf()")
        yield server
    finally:
        process.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
