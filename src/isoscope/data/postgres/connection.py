"""Where a table is, how to get there, and what the database says of it.

An address names the table and the column. What goes wrong with a connection is one line without
credentials. A snapshot is the state of the database that all reads of a cloud see; its catalogue
tells the columns of the table, its key and the order of its rows.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import Connection, Cursor, IsolationLevel, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import Composable, Composed

from isoscope.data.formats.registry import choose
from isoscope.data.location import OWN_PARAMETERS, redacted
from isoscope.data.postgres.copy_format import ID_KINDS, VECTOR_KINDS
from isoscope.errors import DataError, IsoscopeError, UsageError, unknown_name

Query = Callable[..., list[tuple[Any, ...]]]


EXAMPLE = "postgresql://host:5432/database?table=documents&column=embedding"


@dataclass(frozen=True)
class PostgresAddress:
    """A column of vectors in a table, and how to get there."""

    connection: str = field(repr=False)
    """What libpq connects to; it may hold a password."""
    shown: str
    """The address as messages and results show it."""
    table: str
    """Name, or schema and name with a dot between them."""
    column: str | None
    id: str | None


def parse_address(text: str, column: str | None = None) -> PostgresAddress:
    """Take isoscope's own parameters out of an address; the rest is libpq's.

    Parameters
    ----------
    text : str
        ``postgresql://user:password@host:port/database?table=…&column=…&id=…``.
    column : str, optional
        The column, where it is named beside the address.
    """
    shown = redacted(text)
    head, _, query = text.partition("?")
    own: dict[str, str] = {}
    others: list[str] = []
    for part in filter(None, query.split("&")):
        key, _, value = part.partition("=")
        if key not in OWN_PARAMETERS:
            others.append(part)
        elif key in own:
            raise UsageError(f"{shown} names {key} twice")
        else:
            own[key] = unquote(value)
    if not own.get("table"):
        raise UsageError(f"{shown} names no table; write {EXAMPLE}, in quotes because of the &")
    named = own.get("column") or None
    if column is not None and named not in (None, column):
        raise UsageError(f"{shown} names the column {named!r}, and --column names {column!r}")
    return PostgresAddress(
        connection=head + ("?" + "&".join(others) if others else ""),
        shown=shown,
        table=own["table"],
        column=named or column,
        id=own.get("id") or None,
    )


# Seconds until a server that does not answer counts as unreachable, unless libpq is told.
CONNECT_TIMEOUT = 10

# What a server says when it ends a connection; where the network does, nobody says anything.
CUT = ("57P01", "57P02", "57P03", "57P05", "25P03")

# Patterns of a server's refusal, and how it is said here: its own words name the user.
REFUSALS = {
    "no password supplied": "requires a password; give it in the address, PGPASSWORD or .pgpass",
    "password authentication failed": "rejects this user and password",
    "no pg_hba.conf entry": "does not allow this user to connect from here (pg_hba.conf)",
    r'role ".*" does not exist': "has no such user",
    r'database ".*" does not exist': "has no such database",
    "too many (clients|connections)": "has no connection left",
    "is (starting up|shutting down)": "is starting up or shutting down; try again",
}

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


def connect(address: PostgresAddress) -> Connection:
    """Connect as libpq does, with passwords from the address, PGPASSWORD or ``.pgpass``."""
    try:
        given = conninfo_to_dict(address.connection)
    except psycopg.Error:
        # Not "from error": libpq repeats the address with all that is in it.
        raise UsageError(
            f"{address.shown}: libpq does not understand this address; an unknown parameter, or "
            "a character in the password that must be percent-encoded (@ is %40, / is %2F, : is "
            "%3A)"
        ) from None
    options: dict[str, Any] = {"client_encoding": "UTF8", "fallback_application_name": "isoscope"}
    if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
        options["connect_timeout"] = CONNECT_TIMEOUT
    try:
        return psycopg.connect(address.connection, **options)
    except psycopg.Error as error:
        raise UsageError(refusal(str(error), address.shown)) from None


def refusal(message: str, shown: str) -> str:
    """Say why there is no connection, without the names that libpq's message holds."""
    if "FATAL" not in message and any(sign in message for sign in UNREACHABLE):
        return f"{shown}: no PostgreSQL server answers there; look at host and port"
    for pattern, said in REFUSALS.items():
        if re.search(pattern, message):
            return f"{shown}: the server {said}"
    return f"{shown}: the server refuses the connection; psql with the same address says why"


@contextmanager
def postgres_errors(shown: str, after: str = "") -> Iterator[None]:
    """Turn what psycopg raises into one clear line; ``after`` says what became of the table."""
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
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    connection.read_only = True


# Kinds of relations whose rows lie somewhere: tables, materialized views, partitioned tables.
STORED_ROWS = ("r", "m", "p")

FIND_TABLE = """
SELECT c.oid, c.relkind::text, n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm', 'p', 'v', 'f')
  AND ((n.nspname = %s AND c.relname = %s) OR (c.relname = %s AND pg_table_is_visible(c.oid)))
ORDER BY c.relname
"""

LIST_COLUMNS = """
SELECT a.attname, t.typname, format_type(a.atttypid, a.atttypmod), a.atttypmod,
       col_description(a.attrelid, a.attnum)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

LIST_KEY = """
SELECT a.attname
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %s AND i.indisprimary AND k.place <= i.indnkeyatts
ORDER BY k.place
"""

LIST_VECTOR_TABLES = """
SELECT DISTINCT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname
                     ELSE n.nspname || '.' || c.relname END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'm', 'p', 'v', 'f') AND t.typname IN ('vector', 'halfvec')
"""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    type: str
    """PostgreSQL's own name of the type, such as ``int8``."""
    described: str
    """The type as people write it, such as ``bigint``."""
    width: int | None
    """The n of ``vector(n)``."""
    comment: str | None


@dataclass(frozen=True)
class PostgresTable:
    """A table, a view or anything else with rows."""

    oid: int
    kind: str
    schema: str
    name: str
    columns: dict[str, Column]
    key: tuple[str, ...]

    @property
    def identifier(self) -> Composed:
        """The name as it stands in a statement."""
        return sql.Composed([sql.Identifier(self.schema, self.name)])

    def vector_column(self, named: str | None, where: str) -> Column:
        """Return the column of vectors, named or the only one."""
        candidates = [one.name for one in self.columns.values() if one.type in VECTOR_KINDS]
        everything = {one.name: one.described for one in self.columns.values()}
        if named is not None and named not in everything:
            raise unknown_name(f"column of {self.name}", named, candidates or everything)
        if named is None and not candidates:
            held = ", ".join(f"{name} {kind}" for name, kind in everything.items())
            raise DataError(f"{where}: no column of {self.name} holds vectors; it has {held}")
        chosen = self.columns[choose(named, candidates, everything, where)]
        if chosen.type not in VECTOR_KINDS:
            raise DataError(
                f"{where}: the column {chosen.name} is {chosen.described}, not a vector; vectors "
                "are vector and halfvec (CREATE EXTENSION vector), real[] and double precision[]"
            )
        return chosen

    def id_column(self, named: str | None, where: str) -> Column | None:
        """Return the column that tells rows apart, named or the primary key."""
        if named is not None:
            if named not in self.columns:
                raise unknown_name(f"column of {self.name}", named, self.columns)
            chosen = self.columns[named]
            if chosen.type not in ID_KINDS:
                raise DataError(
                    f"{where}: the column {named} is {chosen.described}; ids are smallint, "
                    "integer, bigint, uuid, text or varchar"
                )
            return chosen
        only = self.columns[self.key[0]] if len(self.key) == 1 else None
        return only if only is not None and only.type in ID_KINDS else None

    def order(self, id_column: str | None, where: str) -> tuple[str, ...]:
        """Return the columns that settle the order of rows.

        Where there is no primary key it is where the rows lie, ``ctid``, which is the same for
        every read of one state of the database.
        """
        named = () if id_column is None else (id_column,)
        if self.key:
            return tuple(dict.fromkeys((*named, *self.key)))
        if self.kind in STORED_ROWS:
            return (*named, *(("tableoid",) if self.kind == "p" else ()), "ctid")
        if not named:
            raise UsageError(
                f"{where}: {self.name} is a view, whose rows have no order; name a column that "
                "identifies them: &id=…"
            )
        return named


def find_table(query: Query, address: PostgresAddress) -> PostgresTable | None:
    """Look a table up, by schema and name or along the search path; None where there is none."""
    schema, _, name = address.table.partition(".")
    found = query(FIND_TABLE, schema, name, address.table)
    if not found:
        return None
    oid, kind, schema, name = found[0]
    columns = {
        column: Column(column, of, described, modifier if modifier > 0 else None, comment)
        for column, of, described, modifier, comment in query(LIST_COLUMNS, oid)
    }
    key = tuple(column for (column,) in query(LIST_KEY, oid))
    return PostgresTable(oid, kind, schema, name, columns, key)


def existing_table(query: Query, address: PostgresAddress) -> PostgresTable:
    """Look a table up that must be there."""
    table = find_table(query, address)
    if table is None:
        others = [name for (name,) in query(LIST_VECTOR_TABLES)]
        raise unknown_name(f"table in {address.shown}", address.table, others)
    return table
