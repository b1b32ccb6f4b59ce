"""Shards, read by themselves and one after the other, are the cloud."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow
import pytest
from clouds_for_tests import joined, labels
from formats_for_tests import FORMATS, write_parquet
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import isoscope
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import Batch, Cloud, CloudGroup, Shard, rows_per_batch, shards_of
from isoscope.data.combine import FileParts, JoinedCloud, LabelledCloud
from isoscope.data.formats.columns import together
from isoscope.data.formats.npy import open_npy
from isoscope.data.formats.packages import WordList, text_words
from isoscope.data.location import Location
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError

ROWS, STEP = 1_000, 128
VECTORS = np.random.default_rng(0).standard_normal((ROWS, 5))
WORDS = [f"w{k}" for k in range(ROWS)]
EVEN = (".npy", ".npz", ".safetensors", ".fvecs")
"""Formats that are cut anywhere between two batches."""

Read = tuple[str, int, list[Any], str, dict[str, list[Any]]]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.base.BATCH_ELEMENTS", 1)
    assert rows_per_batch(5) == STEP


def reads(name: str, batch: Batch, base: int = 0) -> Read:
    vectors = np.asarray(batch.vectors)
    found = {key: list(batch.labels[key]) for key in batch.labels}
    return name, base + batch.first_row, vectors.tolist(), str(vectors.dtype), found


def whole(group: CloudGroup) -> list[Read]:
    return [reads(name, batch) for found in group.batches() for name, batch in found.items()]


def in_shards(shards: list[Shard]) -> list[Read]:
    """Read shards as another process would, each numbered from 0 within itself."""
    found = []
    for shard in pickle.loads(pickle.dumps(shards)):
        position = dict.fromkeys(shard.group.names, 0)
        for batches in shard.group.batches():
            for name, batch in batches.items():
                assert batch.first_row == position[name]
                position[name] += len(batch.vectors)
                found.append(reads(name, batch, shard.base))
        if shard.group.rows is not None:
            assert sum(position.values()) == shard.group.rows
    return found


def variants() -> Iterator[Any]:
    for ending, kind in FORMATS.items():
        tried = {name: values for name, values in kind.options.items() if name != "codec"}
        if "stretch" in tried:
            tried["stretch"] = (100, 250, 5_000)
        for values in product(*tried.values()):
            options = dict(zip(tried, values, strict=True))
            yield pytest.param(ending, options, id=f"{ending} {options}")


def written(folder: Path, ending: str, options: Mapping[str, Any] | None = None) -> Cloud:
    kind = FORMATS[ending]
    path = folder / f"x{ending}"
    path.write_bytes(kind.write(WORDS, VECTORS.astype(kind.dtypes[-1]), options or {}))
    cloud = isoscope.open_cloud(path)
    assert isinstance(cloud, Cloud)
    return cloud


def shard_count(ending: str, options: Mapping[str, Any], rows: int) -> int:
    """Say into how many shards of so many rows a file falls."""
    if ending in EVEN:
        stays = options.get("order") == "F" or options.get("compressed")
        return 1 if stays else -(-ROWS // rows)
    if "stretch" in options:
        stretch = int(options["stretch"])
        return -(-ROWS // max(rows // stretch * stretch, stretch))
    return 1


@pytest.mark.parametrize(("ending", "options"), list(variants()))
def test_the_batches_of_the_shards_are_those_of_the_cloud(
    tmp_path: Path, ending: str, options: dict[str, Any]
) -> None:
    cloud = written(tmp_path, ending, options)
    expected = whole(cloud)
    for asked, rows in ((None, 64 * STEP), (1, STEP), (300, 2 * STEP), (512, 512), (9_999, 9_984)):
        shards = shards_of(cloud, asked)
        assert len(shards) == shard_count(ending, options, rows), asked
        assert in_shards(shards) == expected, asked
        assert len({shard.name for shard in shards}) == len(shards)


def test_arrays_with_labels(tmp_path: Path) -> None:
    cloud = ArrayCloud(VECTORS, "mine", labels={"word": np.array(WORDS, dtype=object)})
    shards = shards_of(cloud, 300)
    assert [shard.name for shard in shards] == [
        "mine, rows 0 to 255",
        "mine, rows 256 to 511",
        "mine, rows 512 to 767",
        "mine, rows 768 to 999",
    ]
    assert [shard.base for shard in shards] == [0, 256, 512, 768]
    assert in_shards(shards) == whole(cloud)
    bits = (VECTORS.astype(np.float32).view(np.uint32) >> 16).astype("<u2").view("V2")
    np.save(tmp_path / "x.npy", bits)
    for halves in (isoscope.open_cloud(bits), isoscope.open_cloud(tmp_path / "x.npy")):
        assert halves.dtypes == ("bfloat16",)
        assert in_shards(shards_of(halves, 300)) == whole(halves)


def test_a_shard_of_an_array_is_sent_without_the_rest() -> None:
    first, *_ = shards_of(isoscope.open_cloud(VECTORS), STEP)
    assert len(pickle.dumps(first)) < STEP * 5 * 8 + 2_000


def test_shards_of_the_usual_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.base.BATCH_ELEMENTS", 1_572_864)
    cloud = isoscope.open_cloud(np.broadcast_to(np.float32(1), (200_000, 768)))
    assert [shard.group.rows for shard in shards_of(cloud)] == [131_072, 68_928]
    assert shards_of(cloud)[1].name == "array, rows 131,072 to 199,999"


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 100))
def test_neighbours_together(counts: list[int], most: int) -> None:
    runs = together(counts, most)
    assert [k for run in runs for k in run] == list(range(len(counts)))
    sums = [sum(counts[k] for k in run) for run in runs]
    assert len(runs) == 1 or all(sums)
    for run, rows in zip(runs, sums, strict=True):
        assert rows <= most or sum(counts[k] > 0 for k in run) == 1
    for rows, after in zip(sums, runs[1:], strict=False):
        assert rows + counts[after.start] > most  # no run could be longer


def test_pieces_keep_what_is_known_of_the_cloud(tmp_path: Path) -> None:
    for ending in (*EVEN, ".parquet", ".feather"):
        cloud = written(tmp_path, ending)
        cloud.population, cloud.caveat, cloud.fault, cloud.invalid = True, "c", "f", "i"
        pieces = cloud.cut(256)
        assert len(pieces) > 1
        for piece in pieces:
            for what in (
                "name", "width", "dtype", "column", "population", "caveat", "fault", "invalid",
                "where", "location",
            ):  # fmt: skip
                assert getattr(piece, what) == getattr(cloud, what), (ending, what)
        place = pieces[1].place(cloud.name, 7)
        assert place == f"{cloud.where}: row {pieces[1].start + 7}"
        assert pieces[1].start in (200, 256)


def test_some_rows_of_a_piece_and_pieces_of_a_piece(tmp_path: Path) -> None:
    for ending in (*EVEN, ".parquet", ".feather"):
        cloud = written(tmp_path, ending)
        everything = joined(cloud)
        for piece in cloud.cut(512):
            of_piece = everything[piece.start : piece.start + (piece.rows or 0)]
            chosen = np.array([0, 3, 4, 205, len(of_piece) - 1])
            np.testing.assert_array_equal(piece.read_rows(chosen), of_piece[chosen], strict=True)
            smaller = piece.cut(256)
            assert len(smaller) > 1
            np.testing.assert_array_equal(np.concatenate([joined(p) for p in smaller]), of_piece)
            assert smaller[1].start - smaller[0].start == smaller[0].rows
    for piece in isoscope.open_cloud(VECTORS).cut(256):  # type: ignore[attr-defined]
        np.testing.assert_array_equal(piece.read_rows(np.array([9])), VECTORS[[piece.start + 9]])


def test_labels_that_a_file_is_opened_with_follow_its_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", VECTORS)
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    words = WordList(partial(text_words, tmp_path / "words.txt"))
    cloud = open_npy(Location(str(tmp_path / "x.npy")), None, "x", words.labels)
    shards = shards_of(cloud, 256)
    assert labels(shards[2].group, "word") == WORDS[512:768]
    assert in_shards(shards) == whole(cloud)


def test_labels_held_apart(tmp_path: Path) -> None:
    for k in range(2):
        np.save(tmp_path / f"{k}.npy", VECTORS[k * 500 : (k + 1) * 500])
    cloud = LabelledCloud(isoscope.open_cloud(str(tmp_path / "*.npy")), "document", np.arange(ROWS))
    shards = shards_of(cloud, 256)
    assert in_shards(shards) == whole(cloud)
    assert [shard.group.rows for shard in shards] == [256, 244, 256, 244]
    assert shards[3].name == f"{tmp_path}/1.npy, rows 256 to 499"
    assert shards[3].group.place("", 1) == f"{tmp_path}/1.npy: row 257"  # type: ignore[attr-defined]
    uncounted = LabelledCloud(written(tmp_path, ".jsonl"), "document", np.arange(ROWS))
    assert [shard.group for shard in shards_of(uncounted, 256)] == [uncounted]


def test_several_files_as_one(tmp_path: Path) -> None:
    """Rows are numbered through as long as they are counted; the first uncounted file ends that."""
    np.save(tmp_path / "a.npy", VECTORS[:300])
    np.save(tmp_path / "c.npy", VECTORS[500:])
    kind = FORMATS[".jsonl"]
    (tmp_path / "b.jsonl").write_bytes(kind.write(WORDS[:200], VECTORS[300:500], {}))
    cloud = isoscope.open_cloud(str(tmp_path / "*"))
    shards = shards_of(cloud, 256)
    assert [shard.name for shard in shards] == [
        f"{tmp_path}/a.npy, rows 0 to 255",
        f"{tmp_path}/a.npy, rows 256 to 299",
        f"{tmp_path}/b.jsonl",
        f"{tmp_path}/c.npy, rows 0 to 255",
        f"{tmp_path}/c.npy, rows 256 to 499",
    ]
    assert [shard.base for shard in shards] == [0, 256, 300, 3 << 40, 4 << 40]
    assert [read[2:] for read in in_shards(shards)] == [read[2:] for read in whole(cloud)]
    for shard in shards:
        assert shard.group.names == cloud.names
    last = shards[-1].group
    assert isinstance(last, Cloud)
    assert last.place(last.name, 3) == f"{tmp_path}/c.npy: row 259"


def test_counted_files_as_one(tmp_path: Path) -> None:
    for k in range(4):
        part = slice(k * 250, (k + 1) * 250)
        content = write_parquet(WORDS[part], VECTORS[part], {"stretch": 100})
        (tmp_path / f"{k}.parquet").write_bytes(content)
    cloud = isoscope.open_cloud(str(tmp_path / "*.parquet"))
    assert in_shards(shards_of(cloud)) == whole(cloud)
    assert [shard.base for shard in shards_of(cloud)] == [0, 250, 500, 750]
    assert in_shards(shards_of(cloud, 128)) == whole(cloud)
    assert [shard.base for shard in shards_of(cloud, 128)][:5] == [0, 100, 200, 250, 350]


def test_clouds_of_two_kinds_are_one_cloud() -> None:
    one, other = ArrayCloud(VECTORS, "one"), isoscope.open_cloud([VECTORS, VECTORS])
    assert isinstance(other, Cloud)
    one.population, one.caveat = True, "lossy"
    both = JoinedCloud([one, other], "both")
    for shard in shards_of(both):
        assert isinstance(shard.group, Cloud)
        assert (shard.group.name, shard.group.population) == ("both", False)
        assert shard.group.caveat == "lossy"
    assert (one.name, one.population) == ("one", True)
    assert (other.name, other.caveat) == ("batches", "")


def test_parts(tmp_path: Path) -> None:
    np.save(tmp_path / "layer_0.npy", VECTORS)
    np.save(tmp_path / "layer_1.npy", np.concatenate((VECTORS, VECTORS), axis=1))
    group = isoscope.open_cloud(str(tmp_path / "layer_{layer}.npy"))
    assert isinstance(group, FileParts)
    group.clouds["layer 0"].population = True
    shards = shards_of(group, 512)
    assert [shard.group.names for shard in shards] == [("layer 0",)] * 2 + [("layer 1",)] * 2
    assert [shard.base for shard in shards] == [0, 512, 0, 512]
    assert in_shards(shards) == whole(group)
    assert shards[3].group.widths == (10,)
    for shard in shards:
        assert isinstance(shard.group, FileParts)
        assert not shard.group.population
    place = shards[3].group.place("layer 1", 5)  # type: ignore[attr-defined]
    assert place == f"{tmp_path}/layer_1.npy, layer 1: row 517"
    assert group.names == ("layer 0", "layer 1")


def test_rows_that_are_not_finite_are_named_as_in_the_file(tmp_path: Path) -> None:
    vectors = VECTORS.copy()
    vectors[[300, 301, 700]] = np.nan
    np.save(tmp_path / "x.npy", vectors)
    stopping = shards_of(RowSelection(isoscope.open_cloud(tmp_path / "x.npy")), 256)
    for _ in stopping[0].group.batches():
        pass
    with pytest.raises(DataError, match=r"x.npy: row 300 holds NaN"):
        list(stopping[1].group.batches())
    dropping = RowSelection(isoscope.open_cloud(tmp_path / "x.npy"), drop_invalid=True)
    shards = pickle.loads(pickle.dumps(shards_of(dropping, 256)))
    found = [joined(shard.group) for shard in shards]  # which are numbered from 0 in each
    assert [len(rows) for rows in found] == [256, 254, 255, 232]
    assert [shard.group.left_out for shard in shards] == [
        {}, {"not finite": 2}, {"not finite": 1}, {}
    ]  # fmt: skip
    assert [shard.base for shard in shards] == [0, 256, 512, 768]
    np.testing.assert_array_equal(np.concatenate(found), joined(dropping))


def test_bad_rows_of_pieces_are_named_as_in_the_file(tmp_path: Path) -> None:
    rows: list[Any] = VECTORS.tolist()
    rows[430], rows[440] = rows[430][:2], None
    table = pyarrow.table({"v": pyarrow.array(rows, pyarrow.list_(pyarrow.float64()))})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=100)
    cloud = isoscope.open_cloud(tmp_path / "x.parquet")
    assert isinstance(cloud, Cloud)
    piece = cloud.cut(256)[2]
    assert piece.start == 400
    for reading in (joined, lambda one: one.read_rows(np.array([30]))):
        with pytest.raises(DataError, match="row 430 has 2 numbers"):
            reading(piece)
    rows[430] = rows[0]
    table = pyarrow.table({"v": pyarrow.array(rows, pyarrow.list_(pyarrow.float64()))})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=100)
    with pytest.raises(DataError, match="row 440 has no vector"):
        joined(RowSelection(piece))
    fvecs = written(tmp_path, ".fvecs")
    path = tmp_path / "x.fvecs"
    content = bytearray(path.read_bytes())
    content[430 * 24 : 430 * 24 + 4] = (9).to_bytes(4, "little")
    path.write_bytes(content)
    piece = fvecs.cut(256)[1]
    for reading in (joined, lambda one: one.read_rows(np.array([174]))):
        with pytest.raises(DataError, match="row 430 says it has 9 numbers"):
            reading(piece)


@pytest.mark.parametrize("ending", [*EVEN, ".parquet", ".feather"])
def test_a_file_that_changed_since_it_was_cut(tmp_path: Path, ending: str) -> None:
    """The last shard misses rows; nobody takes what is left for all there is."""
    cloud = written(tmp_path, ending, {"stretch": 100})
    last = cloud.cut(256)[-1]
    path = tmp_path / f"x{ending}"
    path.write_bytes(path.read_bytes()[:-5_000])
    with pytest.raises(DataError, match=f"x{ending}"):
        joined(last)


def test_row_groups_of_another_length_than_before(tmp_path: Path) -> None:
    cloud = written(tmp_path, ".parquet", {"stretch": 100})
    piece = cloud.cut(256)[1]
    written(tmp_path, ".parquet", {"stretch": 110})
    with pytest.raises(DataError, match="promises 200 rows from row 200 on, but has 220"):
        joined(piece)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_row_groups_that_came_later(tmp_path: Path, ending: str) -> None:
    kind = FORMATS[ending]
    path = tmp_path / f"x{ending}"
    path.write_bytes(kind.write(WORDS[:200], VECTORS[:200], {"stretch": 100}))
    cloud = isoscope.open_cloud(path)
    path.write_bytes(kind.write(WORDS[:300], VECTORS[:300], {"stretch": 100}))
    with pytest.raises(DataError, match="promises 200 rows, but has 300"):
        joined(cloud)


def test_an_archive_that_does_not_hold_its_array_stays_whole(tmp_path: Path) -> None:
    """Only the archive knows where a member ends: the next one would be taken for rows."""
    path = tmp_path / "x.npz"
    content = FORMATS[".npy"].write(WORDS, VECTORS, {})
    for wrong in (content[:-40], content + bytes(40)):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("v.npy", wrong)
            archive.writestr("w.npy", FORMATS[".npy"].write(WORDS, VECTORS[0], {}))
        cloud = isoscope.open_cloud(path)
        assert isinstance(cloud, Cloud)
        assert [shard.group for shard in shards_of(cloud, 256)] == [cloud]
        assert cloud.read_rows(np.array([0])) is None
        with pytest.raises(DataError, match="ends early|more bytes"):
            joined(cloud)


def test_behind_an_address() -> None:
    filesystem = fsspec.filesystem("memory")
    for ending in (".npy", ".npz", ".fvecs", ".parquet", ".feather"):
        kind = FORMATS[ending]
        content = kind.write(WORDS, VECTORS.astype(kind.dtypes[-1]), {})
        filesystem.pipe(f"/shards/x{ending}", content)
        cloud = isoscope.open_cloud(f"memory://shards/x{ending}")
        shards = shards_of(cloud, 256)
        assert len(shards) > 1
        assert shards[0].name.startswith(f"memory://shards/x{ending}, rows 0 to ")
        assert in_shards(shards) == whole(cloud)
    filesystem.store.clear()


def test_indexes(tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss", reason="faiss is not installed")
    for k, kind in enumerate(("Flat", "IDMap,Flat", "IVF1,Flat")):
        index = faiss.index_factory(5, kind)
        index.train(VECTORS.astype(np.float32))
        index.add_with_ids(VECTORS, np.arange(ROWS) * 3) if k else index.add(VECTORS)
        faiss.write_index(index, str(tmp_path / f"{k}.faiss"))
        cloud = isoscope.open_cloud(tmp_path / f"{k}.faiss")
        assert [shard.name for shard in shards_of(cloud, 256)] == [f"{tmp_path}/{k}.faiss"]
        assert in_shards(shards_of(cloud, 256)) == whole(cloud)
    all_three = isoscope.open_cloud(str(tmp_path / "*.faiss"))
    assert [shard.base for shard in shards_of(all_three, 256)] == [0, 1_000, 2_000]
    assert in_shards(shards_of(all_three, 256)) == whole(all_three)


class TwoLayers:
    """Clouds that are read together."""

    names = ("layer 0", "layer 1")
    widths = (5, 5)
    dtypes = ("float64", "float64")
    rows = ROWS

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        for batch in ArrayCloud(VECTORS).read():
            yield dict.fromkeys(self.names, batch)


def test_all_else_is_one_shard() -> None:
    torch = pytest.importorskip("torch")
    sources = {
        "tensor": isoscope.open_cloud(torch.from_numpy(VECTORS)),
        "batches": isoscope.open_cloud([VECTORS, VECTORS]),
        "layer 0 to layer 1": TwoLayers(),
    }
    for name, group in sources.items():
        assert shards_of(group, 128) == [Shard(name, 0, group)]
        (chosen,) = shards_of(RowSelection(group), 128)
        assert isinstance(chosen.group, RowSelection)
        assert chosen.group.group is group


@given(rows=st.integers(2, 700), asked=st.integers(1, 900))
def test_any_number_of_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: int, asked: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.npy"
    np.save(path, VECTORS[:rows])
    for cloud in (isoscope.open_cloud(path), isoscope.open_cloud(VECTORS[:rows])):
        shards = shards_of(cloud, asked)
        most = max(asked // STEP, 1) * STEP
        assert [shard.group.rows for shard in shards] == [
            min(most, rows - first) for first in range(0, rows, most)
        ]
        assert in_shards(shards) == whole(cloud)
