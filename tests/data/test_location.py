"""The same file from a path, compressed, and from an address."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pyarrow
import pytest
import safetensors.numpy
from clouds_for_tests import joined
from pyarrow import parquet

import isoscope
from isoscope.errors import DataError, UsageError

VECTORS = np.random.default_rng(0).standard_normal((400, 3)).astype(np.float32)


def contents() -> dict[str, bytes]:
    """Return the vectors in every format, by file name."""
    npy, npz, table = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, VECTORS)
    np.savez_compressed(npz, v=VECTORS)
    column = pyarrow.array(list(VECTORS), pyarrow.list_(pyarrow.float32()))
    parquet.write_table(pyarrow.table({"v": column}), table)
    lines = [" ".join(map(repr, map(float, row))) for row in VECTORS]
    return {
        "v.npy": npy.getvalue(),
        "v.npz": npz.getvalue(),
        "v.safetensors": safetensors.numpy.save({"v": VECTORS}),
        "v.parquet": table.getvalue(),
        "v.txt": "".join(f"w{k} {line}\n" for k, line in enumerate(lines)).encode(),
        "v.jsonl": "".join(f'{{"v": [{line.replace(" ", ", ")}]}}\n' for line in lines).encode(),
        "v.fvecs": b"".join((3).to_bytes(4, "little") + row.tobytes() for row in VECTORS),
    }


STREAMED = ("v.txt", "v.jsonl", "v.fvecs")


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.store.clear()


@pytest.mark.parametrize("name", contents())
def test_behind_an_address(name: str, memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe(f"/folder/{name}", contents()[name])
    cloud = isoscope.open_cloud(f"memory://folder/{name}")
    for _ in range(2):
        np.testing.assert_array_equal(joined(cloud), VECTORS)


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("compression", [".gz", ".zst"])
def test_compressed(tmp_path: Path, name: str, compression: str) -> None:
    content = contents()[name]
    if compression == ".gz":
        packed = gzip.compress(content)
    else:
        packed = pyarrow.Codec("zstd").compress(content, asbytes=True)
    (tmp_path / (name + compression)).write_bytes(packed)
    cloud = isoscope.open_cloud(tmp_path / (name + compression))
    for _ in range(2):
        np.testing.assert_array_equal(joined(cloud), VECTORS)
    (tmp_path / (name + compression)).write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="cannot be read|middle of a vector|not JSON|numbers"):
        joined(isoscope.open_cloud(tmp_path / (name + compression)))


def test_what_cannot_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "v.npy.gz").write_bytes(gzip.compress(contents()["v.npy"]))
    with pytest.raises(UsageError, match="decompress it first"):
        isoscope.open_cloud(tmp_path / "v.npy.gz")


def test_addresses_that_lead_nowhere(memory: fsspec.AbstractFileSystem) -> None:
    del memory
    with pytest.raises(UsageError, match="there is no file memory://absent.npy"):
        isoscope.open_cloud("memory://absent.npy")
    with pytest.raises(UsageError, match="Protocol not known"):
        isoscope.open_cloud("nonsense://x.npy")
    with pytest.raises(UsageError, match="no file matches"):
        isoscope.open_cloud("memory://*.npy")


def test_a_pattern_of_addresses(memory: fsspec.AbstractFileSystem) -> None:
    for k in range(2):
        memory.pipe(f"/many/{k}.npy", contents()["v.npy"])
    cloud = isoscope.open_cloud("memory://many/*.npy")
    np.testing.assert_array_equal(joined(cloud), np.concatenate((VECTORS, VECTORS)))


def test_names_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="nobody-of-that-name"):
        isoscope.open_cloud("~nobody-of-that-name/x.npy")
    with pytest.raises(DataError, match="cannot be read"):
        isoscope.open_cloud("x" * 5_000 + ".npy")
