"""Files that unpack to far more than their size are refused before anybody has to wait."""

from __future__ import annotations

import gzip
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import feather, parquet

import isoscope
from isoscope.data import unpacking
from isoscope.data.base import Cloud
from isoscope.data.texts import open_texts
from isoscope.errors import DataError, UsageError

ROWS = 20_000
LINES = b"".join(b"w 0 0 0 0 0 0 0 1\n" for _ in range(ROWS))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files of a test count as large."""
    monkeypatch.setattr(unpacking, "SMALL", 1 << 16)
    monkeypatch.delenv(unpacking.VARIABLE, raising=False)


def packed(path: Path) -> Path:
    """Write the same line many times, as the ending says."""
    if path.suffix == ".zst":
        path.write_bytes(pyarrow.Codec("zstd").compress(LINES, asbytes=True))
    else:
        path.write_bytes(gzip.compress(LINES))
    assert len(LINES) > unpacking.LARGEST_RATIO * path.stat().st_size
    return path


def rows_of(path: Path) -> int:
    """Read a file of vectors to its end."""
    cloud = isoscope.open_cloud(path)
    assert isinstance(cloud, Cloud)
    return sum(len(batch.vectors) for batch in cloud.read())


@pytest.mark.parametrize("name", ["v.txt.gz", "v.txt.zst"])
def test_streams(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / name)
    with pytest.raises(DataError, match=re.escape(f"{name} unpacks to more than 100 times")) as no:
        rows_of(path)
    assert "ISOSCOPE_MAX_RATIO" in str(no.value)
    with pytest.raises(DataError, match="unpacks to more than 100 times"):
        list(open_texts(path).rows())
    monkeypatch.setenv("ISOSCOPE_MAX_RATIO", "100000")
    assert rows_of(path) == ROWS


def test_a_small_file_may_unpack_to_anything(tmp_path: Path) -> None:
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(LINES[: 1 << 15].rpartition(b"\n")[0]))
    assert rows_of(path) > 1_000


@pytest.mark.parametrize("forged", [False, True])
def test_archives(forged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.npz"
    np.savez_compressed(path, v=np.zeros((ROWS, 20), np.float32))
    if forged:  # the compressed size that the directory of the archive tells
        content = bytearray(path.read_bytes())
        at = content.index(b"PK\x01\x02")
        content[at + 20 : at + 24] = struct.pack("<I", 1 << 30)
        path.write_bytes(content)
    with pytest.raises(DataError, match="v.npz:v unpacks to more than 100 times its size"):
        isoscope.open_cloud(path)
    if not forged:
        monkeypatch.setenv("ISOSCOPE_MAX_RATIO", "2000")
        assert rows_of(path) == ROWS


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_columns(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"v.{ending}"
    rows = 400_000
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.ones(rows * 20, "f4")), 20)
    table = pyarrow.table({"v": lists})
    if ending == "parquet":
        parquet.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, path, compression="zstd")
    assert rows * 80 > unpacking.COLUMN_RATIO * path.stat().st_size
    with pytest.raises(DataError, match=f"v.{ending}:v unpacks to more than 1,000 times its size"):
        rows_of(path)
    monkeypatch.setenv("ISOSCOPE_MAX_RATIO", "100000")
    assert rows_of(path) == rows


def test_rows_without_a_vector_do_not_count(tmp_path: Path) -> None:
    lists = pyarrow.array([[1.0, 2.0], *[None] * 200_000], pyarrow.list_(pyarrow.float32(), 2))
    path = tmp_path / "v.parquet"
    parquet.write_table(pyarrow.table({"v": lists}), path, compression="zstd")
    assert rows_of(path) == 200_001


def test_other_members_are_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    vectors = np.random.default_rng(0).standard_normal((50, 4))
    np.savez(path, v=vectors)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(1 << 20))
    isoscope.fit_correction(str(path), "center", tmp_path / "center.safetensors")
    with pytest.raises(DataError, match="v.npz:zeros unpacks to more than"):
        isoscope.apply_correction(tmp_path / "center.safetensors", str(path), tmp_path / "w.npz")
    assert not (tmp_path / "w.npz").exists()


@pytest.mark.parametrize("named", ["0", "many", "-1", "1" * 20])
def test_a_ratio_that_is_none(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "v.txt.gz")
    monkeypatch.setenv("ISOSCOPE_MAX_RATIO", named)
    with pytest.raises(UsageError, match="ISOSCOPE_MAX_RATIO must be a whole number of at least 1"):
        rows_of(path)
