"""Rows of PostgreSQL's binary COPY as arrays, and arrays as such rows.

A row is the number of its fields, then for each its length, −1 for NULL, and its bytes; numbers
are big-endian. Rows of integers and vectors of one width all have the same length, so that a
whole batch is one structured array; where lengths differ, the rows are walked through one by one,
and only then copied together.

The formats of single values are those of the types' ``send`` functions: ``vector_send`` and
``halfvec_send`` of pgvector, ``array_send`` and others of PostgreSQL.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from isoscope.errors import DataError, cut

SIGNATURE = b"PGCOPY\n\xff\r\n\0"

# What a stream begins with: no flags, no extension.
HEADER = SIGNATURE + bytes(8)

# What it ends with: a row of −1 fields.
TRAILER = b"\xff\xff"

NULL = -1


@dataclass(frozen=True)
class VectorKind:
    """A type of columns that hold vectors."""

    stored: str
    """Type of the numbers, a key of ``EPSILON``."""
    array: bool = False
    """Whether it is one of PostgreSQL's own arrays, with a length before every number."""
    oid: int = 0
    """What an array calls the type of its numbers."""

    @property
    def number(self) -> np.dtype[Any]:
        """One number as it is sent."""
        return np.dtype(self.stored).newbyteorder(">")

    def value(self, width: int) -> np.dtype[Any]:
        """Return the layout of one vector."""
        if not self.array:
            return np.dtype(
                [("width", ">i2"), ("unused", ">i2"), ("numbers", self.number, (width,))]
            )
        element = np.dtype([("size", ">i4"), ("number", self.number)])
        return np.dtype(
            [
                ("dimensions", ">i4"),
                ("nulls", ">i4"),
                ("oid", ">u4"),
                ("width", ">i4"),
                ("lower", ">i4"),
                ("elements", element, (width,)),
            ]
        )

    def fault(self, value: bytes, width: int) -> str:
        """Say what is wrong with a vector that is not as it was expected."""
        if self.array and struct.unpack_from(">i", value)[0] > 1:
            return "is an array of arrays"
        found = self.width_of(value)
        if found != width:
            return f"has {found} numbers, the first has {width}"
        return "holds a null number"

    def width_of(self, value: bytes) -> int:
        """Return how many numbers a vector has."""
        if not self.array:
            return int(struct.unpack_from(">h", value)[0])
        return int(struct.unpack_from(">i", value, 12)[0]) if len(value) > 12 else 0

    def numbers(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return vectors as a matrix in the byte order of this machine."""
        raw = values["elements"]["number"] if self.array else values["numbers"]
        return np.asarray(raw.astype(np.dtype(self.stored), order="C"))

    def fill(self, values: NDArray[Any], rows: NDArray[Any]) -> None:
        """Write a matrix down as vectors."""
        values["width"] = rows.shape[1]
        if not self.array:
            values["numbers"] = rows
            return
        values["dimensions"], values["lower"], values["oid"] = 1, 1, self.oid
        values["elements"]["size"] = self.number.itemsize
        values["elements"]["number"] = rows


# Types of vectors, by PostgreSQL's own names; _float4 is what people write as real[].
VECTOR_KINDS = {
    "vector": VectorKind("float32"),
    "halfvec": VectorKind("float16"),
    "_float4": VectorKind("float32", array=True, oid=700),
    "_float8": VectorKind("float64", array=True, oid=701),
}


@dataclass(frozen=True)
class IdKind:
    """A type of columns that tell rows apart."""

    raw: np.dtype[Any] | None = None
    """Layout of an id where all are of one length."""

    def labels(self, raw: NDArray[Any] | Sequence[bytes | None]) -> NDArray[Any]:
        """Return ids as integers or texts; None where a row has none."""
        whole = self.raw is not None and self.raw.kind == "i"
        if isinstance(raw, np.ndarray) and whole:
            return raw.astype(np.int64)
        labels = np.empty(len(raw), dtype=object)
        labels[:] = [None if one is None else self.label(bytes(one)) for one in raw]
        return labels if not whole or None in labels else labels.astype(np.int64)

    def label(self, raw: bytes) -> int | str:
        """Return one id."""
        if self.raw is None:
            return raw.decode("utf-8", "surrogateescape")
        return int.from_bytes(raw, signed=True) if self.raw.kind == "i" else str(UUID(bytes=raw))

    def encoded(self, labels: NDArray[Any]) -> NDArray[Any] | list[bytes]:
        """Return ids as they came: what ``labels`` made of them, turned round."""
        if self.raw is None:
            return [label.encode("utf-8", "surrogateescape") for label in labels]
        if self.raw.kind == "i":
            return labels.astype(self.raw)
        return np.array([UUID(label).bytes for label in labels], self.raw)


TEXT = IdKind()
ID_KINDS = {
    "int2": IdKind(np.dtype(">i2")),
    "int4": IdKind(np.dtype(">i4")),
    "int8": IdKind(np.dtype(">i8")),
    "uuid": IdKind(np.dtype("V16")),
    "text": TEXT,
    "varchar": TEXT,
}


class Decoded(NamedTuple):
    """Some rows."""

    ids: NDArray[Any] | list[bytes | None] | None
    vectors: NDArray[Any]


@dataclass(frozen=True)
class RowFormat:
    """Rows of an id, or none, and a vector."""

    vector: VectorKind
    width: int
    id: IdKind | None = None

    @property
    def fields(self) -> int:
        """Number of fields of a row."""
        return 1 if self.id is None else 2

    @cached_property
    def layout(self) -> np.dtype[Any] | None:
        """A whole row, where all are of one length."""
        first: list[tuple[str, Any]] = [("fields", ">i2")]
        if self.id is not None:
            if self.id.raw is None:
                return None
            first += [("id_length", ">i4"), ("id", self.id.raw)]
        return np.dtype([*first, ("length", ">i4"), ("value", self.vector.value(self.width))])

    def decode(self, data: bytes, first_row: int, where: str) -> Decoded:
        """Return the rows that some bytes hold; a vector that is NULL becomes NaN."""
        found = self._all_alike(data)
        return self._one_by_one(data, first_row, where) if found is None else found

    def _all_alike(self, data: bytes) -> Decoded | None:
        """Take rows of one length; None where one differs."""
        if self.layout is None:
            return None
        count, over = divmod(len(data), self.layout.itemsize)
        if over and data[-over:] != TRAILER:
            return None
        rows = np.frombuffer(data, self.layout, count)
        alike = [
            rows["fields"] == self.fields,
            rows["length"] == self.layout["value"].itemsize,
            rows["value"]["width"] == self.width,
        ]
        if self.id is not None:
            alike.append(rows["id_length"] == self.layout["id"].itemsize)
        if not all(same.all() for same in alike):
            return None
        ids = None if self.id is None else rows["id"].copy()
        return Decoded(ids, self.vector.numbers(rows["value"]))

    def _one_by_one(self, data: bytes, first_row: int, where: str) -> Decoded:
        """Take rows of different lengths."""
        try:
            ids, starts, lengths = self._walk(data)
        except struct.error as error:
            raise cut_off(where) from error
        self._check_ids(ids, first_row, where)
        value = self.vector.value(self.width)
        at, sizes = np.array(starts, np.int64), np.array(lengths, np.int64)
        present = sizes != NULL
        whole = sizes == value.itemsize
        vectors = np.full((len(at), self.width), np.nan, self.vector.stored)
        if whole.any():
            windows = np.lib.stride_tricks.sliding_window_view(
                np.frombuffer(data, np.uint8), value.itemsize
            )
            found = windows[at[whole]].view(value)[:, 0]
            whole[whole] = found["width"] == self.width
            if (whole == present).all():
                vectors[whole] = self.vector.numbers(found)
        for row in np.flatnonzero(present & ~whole)[:1]:
            try:
                fault = self.vector.fault(data[at[row] : at[row] + sizes[row]], self.width)
            except struct.error as error:  # too short even for the number of dimensions
                raise cut_off(where) from error
            raw = ids[row] if self.id is not None else None
            name = f" (id {cut(repr(self.id.label(raw)))})" if self.id is not None and raw else ""
            raise DataError(f"{where}: row {first_row + row}{name} {fault}")
        return Decoded(None if self.id is None else ids, vectors)

    def _check_ids(self, ids: Sequence[bytes | None], first_row: int, where: str) -> None:
        """Refuse an id that is longer or shorter than its type is."""
        if self.id is None or self.id.raw is None:
            return
        expected = self.id.raw.itemsize
        for row, raw in enumerate(ids):
            if raw is not None and len(raw) != expected:
                raise DataError(
                    f"{where}: row {first_row + row} has an id of {len(raw)} bytes, and its type "
                    f"has {expected}"
                )

    def _walk(self, data: bytes) -> tuple[list[bytes | None], list[int], list[int]]:
        """Return the ids, and where the vectors start and how long they are."""
        ids: list[bytes | None] = []
        starts: list[int] = []
        lengths: list[int] = []
        at, head = 0, struct.Struct(">hi")
        while at < len(data) and data[at : at + 2] != TRAILER:
            _, length = head.unpack_from(data, at)
            at += head.size
            if self.id is not None:
                ids.append(None if length == NULL else data[at : at + length])
                at += max(length, 0)
                (length,) = struct.unpack_from(">i", data, at)
                at += 4
            starts.append(at)
            lengths.append(length)
            at += max(length, 0)
        if at > len(data):
            raise struct.error
        return ids, starts, lengths

    def encode(self, ids: NDArray[Any], rows: NDArray[Any]) -> bytes:
        """Return rows as PostgreSQL takes them; all have an id."""
        if self.id is None:
            raise ValueError("rows without ids cannot be identified")
        raw = self.id.encoded(ids)
        if self.layout is not None:
            whole = np.zeros(len(rows), self.layout)
            whole["fields"], whole["length"] = self.fields, self.layout["value"].itemsize
            whole["id_length"], whole["id"] = self.layout["id"].itemsize, raw
            self.vector.fill(whole["value"], rows)
            return whole.tobytes()
        value = self.vector.value(self.width)
        parts = np.zeros(len(rows), np.dtype([("length", ">i4"), ("value", value)]))
        parts["length"] = value.itemsize
        self.vector.fill(parts["value"], rows)
        return b"".join(
            struct.pack(">hi", self.fields, len(one)) + one + part.tobytes()
            for one, part in zip(raw, parts, strict=True)
        )


def cut_off(where: str) -> DataError:
    """Say that a row is shorter than it has to be."""
    return DataError(f"{where}: the rows that came end in the middle of one")


def without_header(data: bytes, where: str) -> bytes:
    """Return what follows the header of a stream."""
    if len(data) < len(HEADER) or not data.startswith(SIGNATURE):
        raise DataError(f"{where}: the server does not send PostgreSQL's binary format")
    (extension,) = struct.unpack_from(">i", data, len(SIGNATURE) + 4)
    return data[len(HEADER) + extension :]
