"""What a database says of a table: its columns, its key, the order of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.clouds.candidates import choose
from isoscope.clouds.postgres_rows import ID_KINDS, VECTOR_KINDS
from isoscope.errors import DataError, UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg.sql import Composed

    from isoscope.clouds.postgres_address import PostgresAddress

    Query = Callable[..., list[tuple[Any, ...]]]

STORED_ROWS = ("r", "m", "p")
"""Kinds of relations whose rows lie somewhere: tables, materialized views, partitioned tables."""

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
        from psycopg import sql

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
                f"{where}: the column {chosen.name} is {chosen.described}, no vector; vectors are "
                "vector and halfvec (CREATE EXTENSION vector), real[] and double precision[]"
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
                "tells them apart: &id=…"
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
