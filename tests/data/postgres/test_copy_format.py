"""PostgreSQL's binary rows, made here byte by byte from the documentation of its types."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.data.postgres.copy_format import (
    HEADER,
    ID_KINDS,
    TRAILER,
    VECTOR_KINDS,
    RowFormat,
    without_header,
)
from isoscope.errors import DataError


def field(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def row(*values: bytes | None) -> bytes:
    return struct.pack(">h", len(values)) + b"".join(map(field, values))


def vector(kind: str, numbers: list[float]) -> bytes:
    """Return one vector as its type sends it."""
    sign = {"vector": "f", "halfvec": "e", "_float4": "f", "_float8": "d"}[kind]
    if not kind.startswith("_"):
        return struct.pack(f">hh{len(numbers)}{sign}", len(numbers), 0, *numbers)
    head = struct.pack(">iiIii", 1, 0, {"f": 700, "d": 701}[sign], len(numbers), 1)
    return head + b"".join(field(struct.pack(f">{sign}", number)) for number in numbers)


NUMBERS = [[1.5, -2.0, 0.25], [0.0, 3.0, -0.5], [7.0, 8.0, 9.0]]


@pytest.mark.parametrize("kind", VECTOR_KINDS)
@pytest.mark.parametrize("end", [b"", TRAILER])
def test_vectors_of_every_type(kind: str, end: bytes) -> None:
    form = RowFormat(VECTOR_KINDS[kind], 3)
    data = b"".join(row(vector(kind, numbers)) for numbers in NUMBERS) + end
    ids, vectors = form.decode(data, 0, "t")
    assert ids is None
    assert vectors.dtype.name == VECTOR_KINDS[kind].stored
    assert vectors.tolist() == NUMBERS


@pytest.mark.parametrize("kind", VECTOR_KINDS)
@pytest.mark.parametrize("key", ["int8", "text"])
def test_null_vectors_are_nan(kind: str, key: str) -> None:
    form = RowFormat(VECTOR_KINDS[kind], 3, ID_KINDS[key])
    names = [struct.pack(">q", k) if key == "int8" else b"n" * k for k in range(4)]
    values = [vector(kind, NUMBERS[0]), None, vector(kind, NUMBERS[1]), None]
    data = b"".join(map(row, names, values))
    ids, vectors = form.decode(data, 0, "t")
    expected = [NUMBERS[0], [np.nan] * 3, NUMBERS[1], [np.nan] * 3]
    np.testing.assert_array_equal(vectors, expected)
    assert ids is not None
    assert len(ID_KINDS[key].labels(ids)) == 4


@given(
    kind=st.sampled_from(list(VECTOR_KINDS)),
    key=st.sampled_from(list(ID_KINDS)),
    rows=st.integers(1, 5),
    width=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_what_is_encoded_is_decoded(kind: str, key: str, rows: int, width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    form = RowFormat(VECTOR_KINDS[kind], width, ID_KINDS[key])
    vectors = random.standard_normal((rows, width)).astype(VECTOR_KINDS[kind].stored)
    ids: Any = random.integers(-9, 9, rows)
    if key == "uuid":
        ids = np.array(
            [f"{k:032x}"[:8] + "-0000-4000-8000-00000000000b" for k in range(rows)], object
        )
    elif key in ("text", "varchar"):
        ids = np.array(["ü" * k + "\udcff" for k in range(rows)], object)
    data = form.encode(ids, vectors)
    raw, found = form.decode(data + TRAILER, 0, "t")
    np.testing.assert_array_equal(found, vectors)
    assert raw is not None
    assert ID_KINDS[key].labels(raw).tolist() == ids.tolist()


def test_encoded_rows_are_those_of_the_documentation() -> None:
    form = RowFormat(VECTOR_KINDS["_float8"], 3, ID_KINDS["int4"])
    data = form.encode(np.array([5, -6]), np.array(NUMBERS[:2]))
    expected = [row(struct.pack(">i", k), vector("_float8", n)) for k, n in zip((5, -6), NUMBERS)]  # noqa: B905
    assert data == b"".join(expected)


def test_ids_may_be_null() -> None:
    form = RowFormat(VECTOR_KINDS["vector"], 3, ID_KINDS["int8"])
    data = row(None, vector("vector", NUMBERS[0])) + row(bytes(8), vector("vector", NUMBERS[1]))
    ids, vectors = form.decode(data, 0, "t")
    assert vectors.tolist() == NUMBERS[:2]
    assert ids is not None
    assert ID_KINDS["int8"].labels(ids).tolist() == [None, 0]


@pytest.mark.parametrize("cut", [1, 5, 11, 20, 29])
def test_rows_that_end_early(cut: int) -> None:
    form = RowFormat(VECTOR_KINDS["vector"], 3, ID_KINDS["text"])
    data = row(b"name", vector("vector", NUMBERS[0]))
    assert len(form.decode(data, 0, "t").vectors) == 1
    with pytest.raises(DataError, match="end in the middle"):
        form.decode(data + data[:-cut], 0, "t")


def test_the_header() -> None:
    assert without_header(HEADER + b"rest", "t") == b"rest"
    extended = HEADER[:-4] + struct.pack(">i", 3) + b"abcrest"
    assert without_header(extended, "t") == b"rest"
    with pytest.raises(DataError, match="does not send PostgreSQL's binary format"):
        without_header(b"1\t[1,2,3]\n" * 3, "t")
