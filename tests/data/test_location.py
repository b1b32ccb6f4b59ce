"""The same file from a path, compressed, and from an address."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


class Offline(Exception):  # noqa: N818  named as in a package
    """What a network raises that is no OSError."""


class Broken(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """A file system that fails at one of its methods."""

    protocol = "broken"
    cachable = False
    at = ""
    error: type[Exception] = Offline

    def fail(self, method: str) -> None:
        if self.at == method:
            raise self.error("the network\nis down, user u, password pw")

    def exists(self, path: str, **_: object) -> bool:
        self.fail("exists")
        return "*" not in path and not path.endswith("new.npy")

    def glob(self, path: str, **_: object) -> list[str]:
        self.fail("glob")
        return [path.replace("*", "a")]

    def size(self, path: str) -> int:  # noqa: ARG002
        return len(contents()["v.npy"])

    def info(self, path: str, **_: object) -> dict[str, object]:
        return {"name": path, "size": self.size(path), "type": "file"}

    def open(self, _: str, mode: str = "rb", **__: object) -> io.BytesIO:
        self.fail("open" if mode == "rb" else "create")
        system = self

        class File(io.BytesIO):
            def readinto(self, buffer: Any) -> int:
                if self.tell() >= 128:  # behind the header
                    system.fail("read")
                return super().readinto(buffer)

            def close(self) -> None:
                if mode == "wb":
                    system.fail("close")
                super().close()

        return File(contents()["v.npy"] if mode == "rb" else b"")

    def mv(self, *_: object, **__: object) -> None:
        self.fail("mv")

    def rm(self, *_: object, **__: object) -> None:
        self.fail("rm")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> type[Broken]:
    fsspec.register_implementation("broken", Broken, clobber=True)
    monkeypatch.setattr(Broken, "at", "")
    monkeypatch.setattr(Broken, "error", Offline)
    return Broken


@pytest.mark.parametrize("address", ["broken://x/v.npy", "broken://u:pw@x/v.npy"])
@pytest.mark.parametrize("at", ["exists", "glob", "open", "read"])
@pytest.mark.parametrize("package", ["httpx2", "somewhere", "builtins"])
def test_a_file_system_that_fails_is_one_line(
    broken: type[Broken], monkeypatch: pytest.MonkeyPatch, address: str, at: str, package: str
) -> None:
    monkeypatch.setattr(Offline, "__module__", package)
    monkeypatch.setattr(broken, "error", OSError if package == "builtins" else Offline)
    name = address.replace("v.npy", "*.npy") if at == "glob" else address
    joined(isoscope.open_cloud(name))
    monkeypatch.setattr(broken, "at", at)
    if at == "read" and package == "somewhere":
        return  # nobody can know that this is no mistake of ours
    with pytest.raises((DataError, UsageError), match=r"^broken://x/") as raised:
        joined(isoscope.open_cloud(name))
    message = str(raised.value)
    assert "pw" not in message
    assert ("the network" in message) is ("@" not in address)


@pytest.mark.parametrize("at", ["create", "close", "mv", "rm"])
def test_what_cannot_be_written_behind_an_address(
    broken: type[Broken], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: str
) -> None:
    np.save(tmp_path / "v.npy", VECTORS)
    fitted = isoscope.make_correction("center").fit(VECTORS)
    monkeypatch.setattr(broken, "at", at)

    def write() -> None:
        isoscope.apply_correction(fitted, str(tmp_path / "v.npy"), "broken://u:pw@x/new.npy")

    if at == "rm":  # which is called after an error only
        write()
        return
    with pytest.raises((DataError, UsageError), match=r"broken://x/new\.npy") as raised:
        write()
    assert "pw" not in str(raised.value)
