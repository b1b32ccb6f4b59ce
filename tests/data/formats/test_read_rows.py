"""Some rows, read without the rest, are the rows that a read of everything gives."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any, BinaryIO
from unittest import mock

import numpy as np
import pytest
from clouds_for_tests import joined
from formats_for_tests import FORMATS, PLAIN
from hypothesis import given
from hypothesis import strategies as st

import isoscope
from isoscope.data.base import Cloud
from isoscope.data.combine import clouds_of
from isoscope.data.formats.arrow import ArrowColumns
from isoscope.data.formats.matrix import near_runs
from isoscope.data.formats.parquet import ParquetColumns
from isoscope.data.location import Location
from isoscope.errors import DataError, UsageError

VECTORS = np.random.default_rng(0).standard_normal((3_000, 7))
WORDS = [f"w{k}" for k in range(3_000)]
SEEKABLE = (".npy", ".npz", ".safetensors", ".parquet", ".feather", ".fvecs")
CHOICES: dict[str, list[int]] = {
    "none": [],
    "first and last": [0, 2_999],
    "neighbours": list(range(700, 750)),
    "scattered": sorted(np.random.default_rng(1).permutation(3_000)[:40].tolist()),
    "all": list(range(3_000)),
}


def written(folder: Path, ending: str, options: dict[str, Any]) -> Cloud:
    kind = PLAIN[ending]
    path = folder / f"x{ending}"
    path.write_bytes(kind.write(WORDS, VECTORS.astype(kind.dtypes[-1]), options))
    cloud = isoscope.open_cloud(path)
    assert isinstance(cloud, Cloud)
    return cloud


def variants(ending: str) -> Iterator[dict[str, Any]]:
    options = PLAIN[ending].options
    for values in product(*options.values()):
        chosen = dict(zip(options, values, strict=True))
        kept = {"compressed": False, "stretch": 100, "codec": "none", "dictionary": False}
        if all(kept.get(name, value) == value for name, value in chosen.items()):
            yield chosen


@pytest.mark.parametrize("ending", SEEKABLE)
def test_the_same_rows_as_a_read_of_everything(tmp_path: Path, ending: str) -> None:
    for options in variants(ending):
        cloud = written(tmp_path, ending, options)
        everything = joined(cloud)
        for name, indices in CHOICES.items():
            rows = cloud.read_rows(np.array(indices, np.int64))
            assert rows is not None, (ending, options, name)
            np.testing.assert_array_equal(rows, everything[indices], strict=True)


def test_bfloat16(tmp_path: Path) -> None:
    bits = (VECTORS.astype(np.float32).view(np.uint32) >> 16).astype("<u2")
    np.save(tmp_path / "x.npy", bits.view("V2"))
    cloud = isoscope.open_cloud(tmp_path / "x.npy")
    array = isoscope.open_cloud(bits.view("V2"))
    assert isinstance(cloud, Cloud)
    assert isinstance(array, Cloud)
    for one in (cloud, array):
        rows = one.read_rows(np.array([3, 4, 2_000]))
        np.testing.assert_array_equal(rows, joined(cloud)[[3, 4, 2_000]], strict=True)


def test_arrays_and_tensors() -> None:
    torch = pytest.importorskip("torch")
    for source in (VECTORS, torch.from_numpy(VECTORS)):
        cloud = isoscope.open_cloud(source)
        assert isinstance(cloud, Cloud)
        rows = cloud.read_rows(np.array([1, 5, 2_999]))
        np.testing.assert_array_equal(np.asarray(rows), VECTORS[[1, 5, 2_999]])


def test_several_files(tmp_path: Path) -> None:
    for k in range(3):
        np.save(tmp_path / f"{k}.npy", VECTORS[k * 1_000 : (k + 1) * 1_000])
    cloud = isoscope.open_cloud(str(tmp_path / "*.npy"))
    assert isinstance(cloud, Cloud)
    for indices in CHOICES.values():
        rows = cloud.read_rows(np.array(indices, np.int64))
        np.testing.assert_array_equal(rows, VECTORS[indices])
    parts = clouds_of(isoscope.open_cloud(str(tmp_path / "{part}.npy")))
    assert parts is not None
    assert list(parts) == ["part 0", "part 1", "part 2"]
    np.testing.assert_array_equal(parts["part 2"].read_rows(np.array([7])), VECTORS[[2_007]])


@pytest.mark.parametrize("ending", [name for name in FORMATS if name not in SEEKABLE])
def test_formats_that_are_read_from_the_front(tmp_path: Path, ending: str) -> None:
    kind = FORMATS[ending]
    path = tmp_path / f"x{ending}"
    path.write_bytes(kind.write(WORDS[:9], VECTORS[:9].astype(kind.dtypes[-1]), {}))
    cloud = isoscope.open_cloud(path)
    assert isinstance(cloud, Cloud)
    assert cloud.read_rows(np.array([1])) is None
    both = isoscope.open_cloud([VECTORS, VECTORS])
    assert isinstance(both, Cloud)
    assert both.read_rows(np.array([1])) is None


def test_a_compressed_archive(tmp_path: Path) -> None:
    cloud = written(tmp_path, ".npz", {"compressed": True})
    assert cloud.read_rows(np.array([1])) is None


class Counted(io.FileIO):
    """A file that counts what is read of it."""

    read_bytes = 0

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        Counted.read_bytes += count
        return count


@pytest.mark.parametrize(("order", "most"), [("C", 2_000), ("F", 2_000)])
def test_only_what_is_needed_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, most: int
) -> None:
    monkeypatch.setattr("isoscope.data.formats.matrix.GAP", 100)
    cloud = written(tmp_path, ".npy", {"order": order})

    def opened(location: Location) -> BinaryIO:
        return Counted(location.path)  # type: ignore[return-value]

    Counted.read_bytes = 0
    with mock.patch.object(Location, "open", opened):
        cloud.read_rows(np.array([0, 1, 500, 2_999]))
    assert 0 < Counted.read_bytes < most  # of 168,000


@pytest.mark.parametrize(
    ("ending", "kind"), [(".parquet", ParquetColumns), (".feather", ArrowColumns)]
)
def test_only_stretches_that_hold_a_row_are_read(tmp_path: Path, ending: str, kind: Any) -> None:
    cloud = written(tmp_path, ending, {"stretch": 100})
    read = kind.read
    seen: list[int] = []

    def noted(self: Any, stretch: int, column: str, step: int) -> Iterator[Any]:
        seen.append(stretch)
        return read(self, stretch, column, step)

    with mock.patch.object(kind, "read", noted):
        cloud.read_rows(np.array([0, 99, 100, 2_950]))
    assert seen == [0, 1, 29]


@pytest.mark.parametrize("indices", [[-1], [3_000], [2, 1], [1, 1]])
@pytest.mark.parametrize("ending", SEEKABLE)
def test_rows_that_are_not_there(tmp_path: Path, ending: str, indices: list[int]) -> None:
    cloud = written(tmp_path, ending, {})
    with pytest.raises(UsageError, match="sorted, distinct"):
        cloud.read_rows(np.array(indices))


@pytest.mark.parametrize("ending", SEEKABLE)
def test_a_file_that_was_cut(tmp_path: Path, ending: str) -> None:
    cloud = written(tmp_path, ending, {})
    path = tmp_path / f"x{ending}"
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(DataError, match=f"x{ending}"):
        cloud.read_rows(np.array([0, 2_999]))


@given(st.sets(st.integers(0, 200)), st.integers(0, 20), st.integers(1, 50))
def test_runs(chosen: set[int], gap: int, longest: int) -> None:
    indices = np.array(sorted(chosen), np.int64)
    runs = near_runs(indices, gap, longest)
    assert [int(k) for run in runs for k in run] == sorted(chosen)
    for run in runs:
        assert run[-1] - run[0] < longest
        assert (np.diff(run) <= gap + 1).all()
    for before, after in pairwise(runs):
        assert after[0] - before[-1] > gap + 1 or after[0] // longest > before[-1] // longest
