"""Vectors in a column of a PostgreSQL table, read by binary COPY."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from psycopg import Cursor, sql
from psycopg.sql import Composed

from isoscope.data.base import (
    NO_LABELS,
    Batch,
    Cloud,
    Labels,
    LazyLabels,
    checked_shape,
    rows_per_batch,
)
from isoscope.data.postgres.connection import (
    Column,
    PostgresAddress,
    PostgresTable,
    Snapshot,
    existing_table,
    parse_address,
)
from isoscope.data.postgres.copy_format import (
    ID_KINDS,
    VECTOR_KINDS,
    Decoded,
    RowFormat,
    VectorKind,
    without_header,
)
from isoscope.errors import DataError

UNORDERED = "no primary key: rows in the order in which the table holds them"


class PostgresCloud(Cloud):
    """A column of vectors; ids, where there are any, are labels.

    All reads see the table as it was when the cloud was opened, in read-only transactions.

    Parameters
    ----------
    address : PostgresAddress
        The table and the column.
    only_present : bool
        Leave out rows whose vector is NULL, instead of giving NaN for them.
    """

    column: str
    portable = False  # seen through a connection that no other process has
    vector_kind: VectorKind
    """How the vectors are sent."""

    def __init__(self, address: PostgresAddress, *, only_present: bool = False) -> None:
        self._address = address
        self.snapshot = Snapshot(address)
        try:
            self._describe(only_present)
        except BaseException:
            self.close()
            raise

    def _describe(self, only_present: bool) -> None:
        """Find out what the database says of the column."""
        shown = self._address.shown
        self.table = existing_table(self.snapshot.rows, self._address)
        self.vectors = self.table.vector_column(self._address.column, shown)
        self.ids = self.table.id_column(self._address.id, shown)
        self.column = self.vectors.name
        self.vector_kind = VECTOR_KINDS[self.vectors.type]
        id_name = None if self.ids is None else self.ids.name
        order = self.table.order(id_name, shown)
        if order[-1] == "ctid" and id_name is None:
            self.caveat = UNORDERED
        self._query = selecting(self.table, self.vectors, self.ids, order, only_present)
        count = sql.SQL("SELECT count(*), count({}) FROM {}")
        named = sql.Identifier(self.column), self.table.identifier
        ((rows, present),) = self.snapshot.rows(count.format(*named))
        self.missing = rows - present
        """Rows whose vector is NULL."""
        if rows and not present:
            raise DataError(f"{shown}: all {rows:,} rows of {self.column} are NULL")
        if self.missing:
            self.fault = f"has no vector (NULL), as {self.missing:,} of {rows:,} rows"
            self.invalid = "no vector (NULL)"
        shape = (present if only_present else rows, self.vectors.width or self._first_width(rows))
        name = f"{self.table.name}:{self.column}"
        super().__init__(name, *checked_shape(shape, shown), self.vector_kind.stored)
        self._format = RowFormat(
            self.vector_kind, self.width, None if self.ids is None else ID_KINDS[self.ids.type]
        )

    @property
    def where(self) -> str:
        """The address, without credentials."""
        return self._address.shown

    def read(self) -> Iterator[Batch]:
        """Yield the rows in their order, with their ids as labels."""
        step, first = rows_per_batch(self.width), 0
        with self.snapshot.reading() as cursor:
            for data in stretches(cursor, self._query, step, self.where):
                decoded = self._format.decode(data, first, self.where)
                if len(decoded.vectors):
                    yield Batch(decoded.vectors, first, self._labels(decoded))
                first += len(decoded.vectors)
        if first != self.rows:
            raise DataError(f"{self.where}: {self.rows:,} rows were counted, {first:,} came")

    def close(self) -> None:
        """Let go of the state of the table; the cloud cannot be read any more."""
        self.snapshot.close()

    def _labels(self, decoded: Decoded) -> Labels:
        if self.ids is None or decoded.ids is None:
            return NO_LABELS
        return LazyLabels({self.ids.name: partial(ID_KINDS[self.ids.type].labels, decoded.ids)})

    def _first_width(self, rows: int) -> int:
        """Return the width of the first vector, for a column that does not declare one."""
        if not rows:
            return 1  # of no row at all
        query = selecting(self.table, self.vectors, None, (), only_present=True, limit=1)
        with self.snapshot.reading() as cursor:
            (data,) = stretches(cursor, query, 10, self.where)
        return self.vector_kind.width_of(data[6:])


def selecting(
    table: PostgresTable,
    vectors: Column,
    ids: Column | None,
    order: tuple[str, ...],
    only_present: bool,
    limit: int | None = None,
) -> Composed:
    """Return the statement that reads a table; every name in it is quoted."""
    column = sql.Identifier(vectors.name)
    chosen = [column] if ids is None else [sql.Identifier(ids.name), column]
    columns = sql.SQL(", ").join(chosen)
    parts: list[sql.Composable] = [
        sql.SQL("COPY (SELECT {} FROM {}").format(columns, table.identifier)
    ]
    if only_present:
        parts.append(sql.SQL("WHERE {} IS NOT NULL").format(column))
    if order:
        parts.append(sql.SQL("ORDER BY {}").format(sql.SQL(", ").join(map(sql.Identifier, order))))
    if limit is not None:
        parts.append(sql.SQL("LIMIT {}").format(sql.Literal(limit)))
    parts.append(sql.SQL(") TO STDOUT (FORMAT BINARY)"))
    return sql.SQL(" ").join(parts)


def stretches(cursor: Cursor, query: Composed, step: int, where: str) -> Iterator[bytes]:
    """Yield what a COPY sends, about ``step`` whole rows at a time: a message is one row."""
    with cursor.copy(query) as copy:
        messages = iter(copy)
        strip = True
        while chunk := list(islice(messages, step)):
            data = b"".join(chunk)
            yield without_header(data, where) if strip else data
            strip = False


def open_postgres(text: str, column: str | None) -> PostgresCloud:
    """Open ``postgresql://…?table=…&column=…``."""
    return PostgresCloud(parse_address(text, column))
