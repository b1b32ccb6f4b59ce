"""Writing to PostgreSQL: a new column of the table that is read, or a new table; all or nothing.

No column that is there is written to. A cut connection leaves the database as it was, since
everything happens in one transaction. A new column costs PostgreSQL a new version of every row, and
fires the table's own triggers, whatever these do; a new table costs neither.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from psycopg import sql
from psycopg.errors import UniqueViolation

from isoscope.data.formats.registry import KEY
from isoscope.data.location import Location, is_postgres, redacted
from isoscope.data.postgres.cloud import PostgresCloud
from isoscope.data.postgres.connection import connect, find_table, parse_address, postgres_errors
from isoscope.data.postgres.copy_format import HEADER, ID_KINDS, TRAILER, RowFormat
from isoscope.data.rewrite import Change, Rewrite, already_corrected, marked, read_marks
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg import Connection
    from psycopg.sql import Composable

    from isoscope.data.postgres.connection import Column, PostgresAddress, PostgresTable

    Report = Callable[[int, int | None], None]

AS_IT_WAS = "; the database is as it was"
IN_DOUBT = "; either all of the new vectors were written or none: please check"

# What the comment of a column begins with that says which corrections it has been through.
PREFIX = f"{KEY}: "

# How long to wait for others who work with a table, unless the server sets a limit itself.
LOCK_TIMEOUT = "60s"

WAITING = "SELECT set_config('lock_timeout', %s, true) WHERE current_setting('lock_timeout') = '0'"
FIND_TYPE = """
SELECT n.nspname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typname = %s AND t.typtype = 'b'
"""


def comment_mark(column: Column) -> str | None:
    """Return what a column's comment says of its corrections; other comments say nothing."""
    comment = column.comment or ""
    return comment.removeprefix(PREFIX) if comment.startswith(PREFIX) else None


class TableWriter:
    """One connection, and so one transaction, that writes corrected vectors.

    ``rewrite`` says what became of the vectors once they are written.

    Parameters
    ----------
    connection : Connection
        Where to write.
    target : PostgresAddress
        The table and column that are to be made.
    origin : PostgresAddress
        The table and column that are read.
    change : Change
        What is done to every vector.
    report : callable
        Called with the rows that are done, and rows in all.
    """

    rewrite: Rewrite

    def __init__(
        self,
        connection: Connection,
        target: PostgresAddress,
        origin: PostgresAddress,
        change: Change,
        report: Report,
    ) -> None:
        self._connection, self._target, self._origin = connection, target, origin
        self._change, self._report = change, report
        self.missing = 0
        """Rows that have no vector."""

    def write(self) -> int:
        """Make the column or the table, and return how many vectors it holds."""
        self._rows(WAITING, LOCK_TIMEOUT)
        table = find_table(self._rows, self._target)
        return self._new_table() if table is None else self._new_column(table)

    def _new_table(self) -> int:
        """Write ids and vectors into a table that was not there."""
        schema, _, name = self._target.table.rpartition(".")
        table = sql.Identifier(*filter(None, (schema, name)))
        with closing(self._opened()) as cloud:
            column = sql.Identifier(self._target.column or cloud.column)
            self._make(sql.SQL("TABLE {}").format(table), cloud, column)
            rows = self._copy(cloud, table)
            self._note(table, column)
        return rows

    def _new_column(self, table: PostgresTable) -> int:
        """Add a column to the table that is read."""
        name, shown = self._target.column, self._target.shown
        if name is None:
            raise UsageError(f"--out {shown} names no new column: &column=…")
        if name in table.columns:
            raise UsageError(f"--out {shown}: the table has a column {name}; name a new one")
        if table.kind not in ("r", "p"):
            raise UsageError(f"--out {shown}: {table.name} is not a table; name a new one")
        # Others may read, but not change what is being read here.
        lock = sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(table.identifier)
        self._connection.execute(lock)
        passage, column = sql.Identifier("pg_temp", "isoscope_rows"), sql.Identifier(name)
        with closing(self._opened()) as cloud:
            info = self._connection.info
            same = cloud.snapshot.server == (info.host, info.port, info.dbname)
            if not same or cloud.table.oid != table.oid:
                raise UsageError(f"--out {shown}: there is a table {table.name}; name a new one")
            self._make(sql.SQL("TEMPORARY TABLE isoscope_rows"), cloud, column)
            rows = self._copy(cloud, passage)
            kind = self._vector_type(cloud)
            key = sql.Identifier(self._ids.name)
        # The cloud is closed by now: its lock would be in the way of ours.
        add = sql.SQL("ALTER TABLE {} ADD COLUMN {} {}")
        self._connection.execute(add.format(table.identifier, column, kind))
        update = sql.SQL("UPDATE {table} AS old SET {column} = new.{column} FROM {passage} AS new "
                         "WHERE old.{key} = new.{key}")  # fmt: skip
        done = self._connection.execute(
            update.format(table=table.identifier, column=column, passage=passage, key=key)
        )
        if done.rowcount != rows:
            raise DataError(
                f"{shown}: {rows:,} vectors belong to {done.rowcount:,} rows{AS_IT_WAS}"
            )
        self._connection.execute(sql.SQL("DROP TABLE {}").format(passage))
        self._note(table.identifier, column)
        return rows

    def _opened(self) -> PostgresCloud:
        """Open what is read, and refuse what does not fit."""
        cloud = PostgresCloud(self._origin, only_present=True)
        try:
            self._change.check_width(cloud.width, cloud.where)
            self._mark = marked(comment_mark(cloud.vectors), self._change, None, cloud.where)
            if cloud.ids is None:
                raise UsageError(
                    f"{cloud.where}: there is no primary key; name a column that identifies the "
                    "rows: &id=…"
                )
        except BaseException:
            cloud.close()
            raise
        self.missing, self._ids = cloud.missing, cloud.ids
        return cloud

    def _make(self, what: Composable, cloud: PostgresCloud, column: Composable) -> None:
        """Make a table of ids and vectors."""
        key = sql.Identifier(self._ids.name), sql.Identifier("pg_catalog", self._ids.type)
        statement = sql.SQL("CREATE {} ({} {} PRIMARY KEY, {} {})")
        kind = self._vector_type(cloud)
        self._connection.execute(statement.format(what, *key, column, kind))

    def _vector_type(self, cloud: PostgresCloud) -> Composable:
        """Return the type of the new vectors: the old one with the new width."""
        name = cloud.vectors.type
        if cloud.vector_kind.array:
            return sql.SQL("{}[]").format(sql.Identifier("pg_catalog", name.removeprefix("_")))
        found = self._rows(FIND_TYPE, name)
        if not found:
            raise UsageError(
                f"--out {self._target.shown}: this database does not know the type {name}; "
                "run CREATE EXTENSION vector in it"
            )
        kind = sql.Identifier(found[0][0], name)
        return sql.SQL("{}({})").format(kind, sql.Literal(self._change.new_width))

    def _copy(self, cloud: PostgresCloud, into: Composable) -> int:
        """Send the changed vectors, batch by batch, while they are read."""
        key = self._ids.name
        form = RowFormat(cloud.vector_kind, self._change.new_width, ID_KINDS[self._ids.type])
        rewrite = Rewrite(
            cloud, Location(cloud.where), self._change, self._mark,
            report=lambda done: self._report(done, cloud.rows),
        )  # fmt: skip
        statement = sql.SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(into)
        try:
            with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                copy.write(HEADER)
                for batch in rewrite.batches():
                    ids = batch.labels[key]
                    if ids.dtype == object and None in ids.tolist():
                        raise DataError(f"{cloud.where}: a row has no {key} (NULL){AS_IT_WAS}")
                    copy.write(form.encode(ids, batch.vectors))
                copy.write(TRAILER)
        except UniqueViolation as error:
            raise DataError(
                f"{cloud.where}: two rows have the same {key}; name a column that identifies the "
                f"rows{AS_IT_WAS}"
            ) from error
        self.rewrite = rewrite
        return rewrite.done

    def _note(self, table: Composable, column: Composable) -> None:
        """Write down which corrections the new column carries."""
        text = sql.Literal(PREFIX + self._mark)
        self._connection.execute(
            sql.SQL("COMMENT ON COLUMN {}.{} IS {}").format(table, column, text)
        )

    def _rows(self, query: Any, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values or None).fetchall()


def write_table(
    source: str, out: str, change: Change, column: str | None, report: Report
) -> tuple[Rewrite, int]:
    """Correct the vectors of a table, in a new column of it or in a new table.

    Returns
    -------
    (Rewrite, int)
        What was done to the vectors, and how many rows have none.
    """
    if not is_postgres(source):
        raise UsageError(
            f"--out {redacted(out)}: only the vectors of a table are written to a table; "
            f"{source} is not one"
        )
    origin, target = parse_address(source, column), parse_address(out)
    with postgres_errors(target.shown, AS_IT_WAS), closing(connect(target)) as connection:
        writer = TableWriter(connection, target, origin, change, report)
        writer.write()
        with postgres_errors(target.shown, IN_DOUBT):
            connection.commit()
    return writer.rewrite, writer.missing


def refuse_corrected_table(source: str, column: str | None) -> None:
    """Refuse a column whose comment says that its vectors have been through a correction."""
    with closing(PostgresCloud(parse_address(source, column))) as cloud:
        for mark in read_marks(comment_mark(cloud.vectors), cloud.where):
            raise already_corrected(mark, cloud.where)
