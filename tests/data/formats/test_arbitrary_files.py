"""Files that nobody meant as clouds: a clean error, or the answer of another reader.

Pure noise, noise behind or inside a real file, and files that are well formed but strange (headers
of any shape, any JSON, tables of any type). What isoscope reads must equal what the format's own
library, or a plain reader of a few lines, reads: so nothing is cut off or shifted silently.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from formats_for_tests import FORMATS, PLAIN, compress
from fuzz_cases import DRAWN
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import isoscope
from isoscope.data import Batch
from isoscope.errors import IsoscopeError

pytestmark = pytest.mark.fuzz
VECTORS = np.random.default_rng(0).standard_normal((5, 3))
WORDS = ["a", "b", "ü", "d", "e"]
LENIENT = (".safetensors",)
"""Their own library refuses files, such as those with gaps, out of which a tensor can be read."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arbitrary")


def real_file(ending: str) -> bytes:
    kind = PLAIN[ending]
    return kind.write(WORDS, VECTORS.astype(kind.dtypes[-1]), {})


def noisy(ending: str) -> st.SearchStrategy[bytes]:
    """Noise, and noise in place of some stretch of a real file."""
    real = real_file(ending)
    place = st.integers(0, len(real))
    spliced = st.tuples(place, place, st.binary(max_size=60)).map(
        lambda cut: real[: min(cut[:2])] + cut[2] + real[max(cut[:2]) :]
    )
    return st.one_of(st.binary(max_size=300), spliced)


COUNTS = st.one_of(st.integers(-2, 6), st.sampled_from([2**31, 2**63, 2**64, 10**30]))


@st.composite
def npy_files(draw: st.DrawFn) -> bytes:
    header = {
        "descr": draw(st.sampled_from(["<f4", ">f8", "<f2", "|V2", "<i4", "|O", "<U3", "x", 4])),
        "fortran_order": draw(st.sampled_from([False, True, 0, "no"])),
        "shape": draw(st.one_of(st.lists(COUNTS, max_size=3).map(tuple), COUNTS)),
    }
    text = draw(st.sampled_from([repr(header), repr(header) + "\n", str(header)[:-1], "()"]))
    magic = b"\x93NUMPY" + bytes([draw(st.integers(0, 4)), 0])
    return magic + struct.pack("<H", len(text)) + text.encode() + draw(st.binary(max_size=100))


@st.composite
def npz_files(draw: st.DrawFn) -> bytes:
    file = io.BytesIO()
    kinds = st.sampled_from(["float32", "float16", "int8", "U2", "bool"])
    shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
    members = st.dictionaries(st.text("abé/.", min_size=1, max_size=4), st.tuples(kinds, shapes))
    np.savez(file, **{name: np.zeros(shape, kind) for name, (kind, shape) in draw(members).items()})
    return file.getvalue()


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=6,
)
ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.one_of(st.sampled_from(["F32", "F16", "BF16", "F64", "I64"]), JSON),
        "shape": st.one_of(st.lists(COUNTS, max_size=3), JSON),
        "data_offsets": st.one_of(st.lists(COUNTS, max_size=3), JSON),
    }
)


@st.composite
def safetensors_files(draw: st.DrawFn) -> bytes:
    entries = st.dictionaries(st.text(max_size=3), st.one_of(ENTRY, JSON), max_size=3)
    header = json.dumps(draw(st.one_of(entries, JSON))).encode()
    length = draw(st.sampled_from([len(header), len(header), len(header) + 1, 2**40]))
    return struct.pack("<Q", length) + header + draw(st.binary(max_size=100))


NUMBERS = st.one_of(st.floats(width=32), st.none())
COLUMNS = st.sampled_from(
    [
        (pyarrow.list_(pyarrow.float32()), st.one_of(st.none(), st.lists(NUMBERS, max_size=3))),
        (pyarrow.list_(pyarrow.float64()), st.lists(st.floats(), min_size=2, max_size=2)),
        (pyarrow.large_list(pyarrow.float16()), st.just([np.float16(1), np.float16(2)])),
        (pyarrow.list_(pyarrow.float32(), 2), st.one_of(st.none(), st.just([1.0, 2.0]))),
        (pyarrow.list_(pyarrow.float32(), 0), st.just([])),
        (pyarrow.list_(pyarrow.list_(pyarrow.float32())), st.just([[1.0]])),
        (pyarrow.list_(pyarrow.int64()), st.just([1, 2])),
        (pyarrow.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=3)),
        (pyarrow.float32(), st.floats(width=32)),
        (pyarrow.struct([("x", pyarrow.float32())]), st.just({"x": 1.0})),
        (pyarrow.null(), st.none()),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> pyarrow.Table:
    rows = draw(st.integers(0, 6))
    columns, names = [], []
    for kind, values in draw(st.lists(COLUMNS, max_size=3)):
        columns.append(pyarrow.array([draw(values) for _ in range(rows)], kind))
        names.append(draw(st.sampled_from(["v", "word", "", "é", "v.list"])))
    return pyarrow.Table.from_arrays(columns, names)


def parquet_file(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=2)
    return file.getvalue()


def feather_file(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return file.getvalue()


TOKENS = st.sampled_from(
    [
        *(b"a", "ü".encode(), b'"', b"\x00", b"\xff", b"\xef\xbb\xbf", b"9" * 5_000),
        *(b"1", b"2", b"-1.5", b"1e3", b"nan", b"inf", b"1_0", b"0x1", b"+1", b"1e400"),
        *(b"", b" ", b"  ", b"\t", b"\r", b"\n", b"\n\n", b"2 3\n", b" 1.0", b" 2.0"),
        *(b" 1.0 2.0\n", b"a 1.0 2.0\n", b"b 3.0 4.0\r\n", b"c 3.0 4.0 \n", b"d\t1\t2\n"),
    ]
)
TEXTS = st.lists(TOKENS, max_size=14).map(b"".join)
WORD2VEC = st.tuples(
    st.sampled_from([b"2 1\n", b"3 2\n", b"2 1 1\n", b"-2 1\n", b"99999999999 1000000\n", b"2 1"]),
    st.lists(
        st.sampled_from([b"a ", b"\nb ", b"  ", b"1234", b"\x00\x00\x80?", b"\xff ", b"\n"]),
        max_size=12,
    ).map(b"".join),
).map(b"".join)
FVECS = st.lists(
    st.one_of(st.sampled_from([2, 2, 2, 1, 0, -1, 2**31 - 1]), st.integers(-9, 9)), max_size=12
).map(lambda numbers: struct.pack(f"<{len(numbers)}i", *numbers))
HUGE = st.sampled_from(["9" * 400, "9" * 5_000, "1e999", "-1E-999", "NaN", "-Infinity", "true"])
LINES = st.one_of(
    JSON.map(json.dumps),
    st.dictionaries(st.sampled_from(["v", "w", "id"]), JSON).map(json.dumps),
    st.lists(st.floats(), min_size=2, max_size=2).map(lambda v: json.dumps({"v": v})),
    HUGE.map(lambda number: f'{{"v": [1, {number}]}}'),
    st.just('{"v": [1, 2], "id": "x"}'),
    st.text(max_size=5),
)
JSON_LINES = st.lists(LINES, max_size=4).map(
    lambda lines: "\n".join(lines).encode("utf-8", "ignore")
)

STRANGE: dict[str, st.SearchStrategy[bytes]] = {
    ".npy": npy_files(),
    ".npz": npz_files(),
    ".safetensors": safetensors_files(),
    ".parquet": tables().map(parquet_file),
    ".feather": tables().map(feather_file),
    ".txt": TEXTS,
    ".vec": TEXTS.map(lambda text: b"2 2\n" + text),
    ".bin": WORD2VEC,
    ".fvecs": FVECS,
    ".jsonl": JSON_LINES,
}


def reference(read: Callable[[bytes], Any], content: bytes) -> np.ndarray | None:
    """Return what another reader makes of a file; None for nothing."""
    try:
        return np.asarray(read(content))
    except Exception:
        return None


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional")
@pytest.mark.parametrize("ending", FORMATS)
def test_a_clean_error_or_a_right_answer(folder: Path, ending: str) -> None:
    kind = FORMATS[ending]
    plain = ending.removesuffix(kind.compression)
    path = folder / f"x{ending}"
    inner = st.one_of(noisy(plain), STRANGE[plain])
    files = inner.map(lambda content: compress(content, kind.compression))
    if kind.compression:
        files = st.one_of(files, st.tuples(files, st.integers(0, 300)).map(lambda f: f[0][: f[1]]))

    @settings(max_examples=DRAWN)
    @given(files)
    def check(content: bytes) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        message, vectors = "", np.empty((0, 0))
        try:
            cloud = isoscope.open_cloud(path)
            vectors = np.concatenate([vectors_of(batches) for batches in cloud.batches()])
        except IsoscopeError as error:
            message = str(error)
        if message:
            assert "\n" not in message
            assert f"x{ending}" in message
            return
        assert cloud.rows in (None, len(vectors))
        expected = reference(kind.read, content)
        if expected is None:
            assert ending in LENIENT
            return
        if expected.dtype.kind == "V":  # bfloat16, as numpy stores it
            expected = (expected.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(vectors, expected)

    check()


def vectors_of(batches: Mapping[str, Batch]) -> np.ndarray:
    (batch,) = batches.values()
    return np.asarray(batch.vectors)
