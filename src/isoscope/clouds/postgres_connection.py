"""Connections to PostgreSQL, and what goes wrong with them in one line without credentials."""

from __future__ import annotations

import logging
import os
import re
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError, IsoscopeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from psycopg import Connection, Cursor
    from psycopg.sql import Composable

    from isoscope.clouds.postgres_address import PostgresAddress

CONNECT_TIMEOUT = 10
"""Seconds until a server that does not answer counts as unreachable, unless libpq is told."""

CUT = ("57P01", "57P02", "57P03", "57P05", "25P03")
"""What a server says when it ends a connection; where the network does, nobody says anything."""

REFUSALS = {
    "no password supplied": "wants a password; write it into the address, PGPASSWORD or .pgpass",
    "password authentication failed": "does not take this user and password",
    "no pg_hba.conf entry": "lets nobody in from here as this user (pg_hba.conf)",
    r'role ".*" does not exist': "knows no such user",
    r'database ".*" does not exist': "has no such database",
    "too many (clients|connections)": "has no connection left",
    "is (starting up|shutting down)": "is starting up or shutting down; try again",
}
"""Patterns of a server's refusal, and how it is said here: its own words name the user."""

UNREACHABLE = (
    "refused",
    "No such file or directory",
    "translate host name",
    "resolve",
    "not known",
    "timeout",
    "timed out",
    "unreachable",
    "No route",
)


def driver() -> ModuleType:
    """Import psycopg, or say how to install it."""
    try:
        import psycopg
    except ImportError as error:
        raise UsageError(
            "PostgreSQL needs psycopg, which is not installed; pip install 'isoscope[search]'"
        ) from error
    # It logs what it cannot do on a connection that is cut, with the user's name in it.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    return psycopg


def connect(address: PostgresAddress) -> Connection:
    """Connect as libpq does, with passwords from the address, PGPASSWORD or ``.pgpass``."""
    psycopg = driver()
    from psycopg.conninfo import conninfo_to_dict

    try:
        given = conninfo_to_dict(address.connection)
    except psycopg.Error:
        # Not "from error": libpq repeats the address with all that is in it.
        raise UsageError(
            f"{address.shown}: libpq does not understand this address; an unknown parameter, or a "
            "sign in the password that must be percent-encoded (@ is %40, / is %2F, : is %3A)"
        ) from None
    options: dict[str, Any] = {"client_encoding": "UTF8", "fallback_application_name": "isoscope"}
    if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
        options["connect_timeout"] = CONNECT_TIMEOUT
    try:
        connection: Connection = psycopg.connect(address.connection, **options)
    except psycopg.Error as error:
        raise UsageError(refusal(str(error), address.shown)) from None
    return connection


def refusal(message: str, shown: str) -> str:
    """Say why there is no connection, without the names that libpq's message holds."""
    if "FATAL" not in message and any(sign in message for sign in UNREACHABLE):
        return f"{shown}: no PostgreSQL server answers there; look at host and port"
    for pattern, said in REFUSALS.items():
        if re.search(pattern, message):
            return f"{shown}: the server {said}"
    return f"{shown}: the server does not let isoscope in; psql with the same address says why"


@contextmanager
def postgres_errors(shown: str, after: str = "") -> Iterator[None]:
    """Turn what psycopg raises into one clear line; ``after`` says what became of the table."""
    psycopg = driver()
    try:
        yield
    except IsoscopeError:
        raise
    except psycopg.Error as error:
        raise DataError(sentence(error, shown) + after) from error


def sentence(error: Any, shown: str) -> str:
    """Say what went wrong on a connection that had been made."""
    if error.sqlstate in CUT or not (error.sqlstate or error.diag.message_primary):
        return f"{shown}: the connection was cut"
    return f"{shown}: PostgreSQL says: {error.diag.message_primary}"


class Snapshot:
    """The state of a database at one moment, which any number of reads see.

    A cloud is read more than once, and people go on working with its table. An idle connection
    holds the state; every read has a connection of its own, in a read-only transaction.
    """

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._anchor = connect(address)
        self._closed = weakref.finalize(self, self._anchor.close)
        try:
            with postgres_errors(address.shown):
                begin_reading(self._anchor)
                # It will be idle while another connection reads: that is its job.
                self._anchor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                ((self._name,),) = self.rows("SELECT pg_export_snapshot()")
        except BaseException:
            self.close()
            raise

    @property
    def server(self) -> tuple[str, int, str]:
        """Host, port and database."""
        info = self._anchor.info
        return info.host, info.port, info.dbname

    def rows(self, query: str | Composable, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query that gives few."""
        with postgres_errors(self._address.shown):
            return self._anchor.execute(query, values or None).fetchall()  # type: ignore[arg-type]

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Give out a cursor that sees the same state; it ends with its connection."""
        from psycopg import sql

        connection = connect(self._address)
        try:
            with postgres_errors(self._address.shown):
                begin_reading(connection)
                name = sql.Literal(self._name)
                connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(name))
                with connection.cursor() as cursor:
                    yield cursor
        finally:
            connection.close()

    def close(self) -> None:
        """Let go of the state, and of the locks that come with it."""
        self._closed()


def begin_reading(connection: Connection) -> None:
    """Let the next statement begin a transaction that sees one state and cannot write."""
    from psycopg import IsolationLevel

    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    connection.read_only = True
