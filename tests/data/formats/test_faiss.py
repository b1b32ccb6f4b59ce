"""FAISS index files, written by faiss itself."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import isoscope
from isoscope.data import Change, rewrite_files
from isoscope.data.base import Cloud
from isoscope.errors import DataError, UsageError

faiss = pytest.importorskip("faiss", reason="faiss is not installed")

VECTORS = np.random.default_rng(0).standard_normal((5_000, 8)).astype(np.float32)
IDS = np.random.default_rng(1).permutation(20_000)[:5_000].astype(np.int64)


def saved(index: Any, path: Path) -> Path:
    faiss.write_index(index, str(path))
    return path


def built(description: str, ids: np.ndarray | None = None) -> Any:
    index = faiss.index_factory(8, description)
    index.train(VECTORS)
    if ids is None:
        index.add(VECTORS)
    else:
        index.add_with_ids(VECTORS, ids)
    return index


def opened(path: Path) -> Cloud:
    cloud = isoscope.open_cloud(path)
    assert isinstance(cloud, Cloud)
    return cloud


def read(cloud: Cloud) -> tuple[np.ndarray, np.ndarray | None]:
    batches = list(cloud.read())
    assert len(batches) > 1
    vectors = np.concatenate([batch.vectors for batch in batches])
    ids = [batch.labels["id"] for batch in batches if "id" in batch.labels]
    return vectors, np.concatenate(ids) if ids else None


@pytest.mark.parametrize(
    "description",
    [
        "Flat",
        "IVF16,Flat",
        "HNSW8,Flat",
        "SQ8,RFlat",
        "IVF16,SQ8,RFlat",
        "IMI2x2,Flat",
    ],
)
@pytest.mark.parametrize("ending", [".faiss", ".index"])
def test_flat_indexes_give_the_vectors_as_they_were(
    tmp_path: Path, description: str, ending: str
) -> None:
    cloud = opened(saved(built(description), tmp_path / f"docs{ending}"))
    vectors, ids = read(cloud)
    np.testing.assert_array_equal(vectors, VECTORS)
    assert ids is None
    assert (cloud.name, cloud.rows, cloud.width, cloud.dtype) == ("docs", 5_000, 8, "float32")
    assert cloud.caveat == ""
    some = np.array([0, 7, 4_999])
    np.testing.assert_array_equal(cloud.read_rows(some), VECTORS[some])
    assert len(cloud.read_rows(some[:0])) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("below", ["Flat", "IVF16,Flat", "HNSW8,Flat"])
@pytest.mark.parametrize("kind", ["IDMap", "IDMap2"])
def test_ids_of_a_map_are_labels(tmp_path: Path, kind: str, below: str) -> None:
    index = built(f"{kind},{below}", IDS)
    vectors, ids = read(opened(saved(index, tmp_path / "x.faiss")))
    np.testing.assert_array_equal(vectors, VECTORS)
    np.testing.assert_array_equal(ids, IDS)


def test_ids_of_inverted_lists_settle_the_order(tmp_path: Path) -> None:
    cloud = opened(saved(built("IVF16,Flat", IDS), tmp_path / "x.faiss"))
    vectors, ids = read(cloud)
    order = np.argsort(IDS)
    np.testing.assert_array_equal(ids, IDS[order])
    np.testing.assert_array_equal(vectors, VECTORS[order])
    np.testing.assert_array_equal(cloud.read_rows(np.array([3, 9])), VECTORS[order[[3, 9]]])


def test_inverted_lists_out_of_which_vectors_were_taken(tmp_path: Path) -> None:
    index = built("IVF16,Flat")
    index.remove_ids(np.arange(100, 200))
    kept = np.delete(np.arange(5_000), np.arange(100, 200))
    vectors, ids = read(opened(saved(index, tmp_path / "x.faiss")))
    np.testing.assert_array_equal(ids, kept)
    np.testing.assert_array_equal(vectors, VECTORS[kept])


def test_an_id_that_is_there_twice(tmp_path: Path) -> None:
    index = built("IVF16,Flat", np.arange(5_000) // 2)
    with pytest.raises(DataError, match="several of its vectors share an id"):
        opened(saved(index, tmp_path / "x.faiss"))


@pytest.mark.parametrize(
    ("description", "named", "error"),
    [
        ("SQ8", "SQ8", 0.02),
        ("SQ4", "SQ4", 0.4),
        ("SQfp16", "SQfp16", 0.002),
        ("IVF16,SQ8", "SQ8", 0.05),
        ("HNSW8,SQ8", "SQ8", 0.02),
        ("PQ4x4", "PQ4x4", 6),
        ("IVF16,PQ4x4", "PQ4x4", 6),
        ("HNSW8_PQ4x4", "PQ4x4", 6),
        ("RR8,SQ8", "SQ8", 0.05),
        ("PCA4,Flat", "PCA", 5),
        ("PCA4,SQ8", "PCA, SQ8", 5),
        ("LSH", "LSH", 5),
        ("IDMap,SQ8", "SQ8", 0.02),
        ("PQ4x4fs", "PQ4x4", 6),
    ],
)
def test_lossy_codes_are_named(tmp_path: Path, description: str, named: str, error: float) -> None:
    ids = IDS if "IDMap" in description else None
    path = saved(built(description, ids), tmp_path / "x.faiss")
    vectors, _ = read(opened(path))
    assert 0 < np.abs(vectors - VECTORS).max() < error
    result = isoscope.measure(path, "mean_cosine", "none,center")
    assert all(row.protocol.endswith(f"; lossy codes: {named}") for row in result)
    assert f"lossy codes: {named}" in repr(result)
    sampled = isoscope.measure(path, "mean_cosine", "none", sample=50)
    assert f"lossy codes: {named}" in sampled.rows[0].protocol


def test_a_rotation_loses_nothing(tmp_path: Path) -> None:
    cloud = opened(saved(built("RR8,Flat"), tmp_path / "x.faiss"))
    np.testing.assert_allclose(read(cloud)[0], VECTORS, atol=1e-5)
    assert cloud.caveat == ""


def test_indexes_elsewhere(tmp_path: Path) -> None:
    content = saved(built("Flat"), tmp_path / "x.faiss").read_bytes()
    with fsspec.open("memory://stores/x.faiss", "wb") as file:
        file.write(content)
    cloud = isoscope.open_cloud("memory://stores/x.faiss")
    assert isinstance(cloud, Cloud)
    np.testing.assert_array_equal(read(cloud)[0], VECTORS)


def test_binary_indexes(tmp_path: Path) -> None:
    for name in ("BFlat", "BHNSW8", "BIVF4"):
        index = faiss.index_binary_factory(16, name)
        bits = np.random.default_rng(0).integers(0, 256, (200, 2)).astype(np.uint8)
        index.train(bits)
        index.add(bits)
        faiss.write_index_binary(index, str(tmp_path / "x.faiss"))
        with pytest.raises(DataError, match="is a binary index: it holds bits, no vectors"):
            opened(tmp_path / "x.faiss")


@pytest.mark.parametrize("content", [b"", b"I", b"hello world", b"IxF2" + b"\xff" * 40])
def test_files_that_are_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.faiss").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read: ") as caught:
        opened(tmp_path / "x.faiss")
    assert "Error in" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_truncated_files(tmp_path: Path) -> None:
    path = saved(built("Flat"), tmp_path / "x.faiss")
    content = path.read_bytes()
    for length in (10, 40, 1_000, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match="cannot be read"):
            opened(path)


@pytest.mark.skipif(
    not hasattr(faiss, "set_deserialization_vector_byte_limit"),
    reason="this release of faiss has no limit to set",
)
def test_lengths_beyond_the_file_take_no_memory(tmp_path: Path) -> None:
    path = saved(built("Flat"), tmp_path / "x.faiss")
    content = bytearray(path.read_bytes())
    at = content.index((8 * 5_000).to_bytes(8, "little"))  # numbers in all
    content[at : at + 8] = (1 << 36).to_bytes(8, "little")
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read: .*limit"):
        opened(path)


def test_indexes_that_hold_nothing_or_cannot_be_reconstructed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are no vectors in it"):
        opened(saved(faiss.IndexFlatL2(8), tmp_path / "x.faiss"))
    for description, words in {
        "IVF16,ITQ,SH": "not implemented",
        "IVF16,PQ4x4fs": "packed for fast scans",
    }.items():
        index = built(description)
        with pytest.raises(DataError, match=f"cannot be reconstructed: .*{words}"):
            opened(saved(index, tmp_path / "y.faiss"))


def forged(path: Path, at: int, number: int, size: int = 4) -> Path:
    content = bytearray(path.read_bytes())
    content[at : at + size] = number.to_bytes(size, "little")
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("description", "at", "number", "size"),
    [
        ("SQ8,RFlat", 4, 1, 4),  # dimensions of the outer index
        ("SQ8,RFlat", 8, 4_999, 8),  # vectors of the outer index
        ("IDMap,Flat", 4, 4, 4),
        ("IDMap2,Flat", 4, 9, 4),
        ("HNSW8,Flat", 4, 64, 4),
        ("IVF16,Flat", 4, 64, 4),
        ("PCA4,SQ8", 4, 16, 4),
        ("RR8,Flat", 4, 3, 4),
    ],
)
def test_indexes_whose_parts_do_not_agree(
    tmp_path: Path, description: str, at: int, number: int, size: int
) -> None:
    ids = IDS if "IDMap" in description else None
    path = forged(saved(built(description, ids), tmp_path / "x.faiss"), at, number, size)
    with pytest.raises(DataError, match="damaged or forged|cannot be read") as caught:
        opened(path)
    assert len(str(caught.value)) < 300


def test_a_file_that_holds_no_index(tmp_path: Path) -> None:
    (tmp_path / "x.faiss").write_bytes(b"null")
    with pytest.raises(DataError, match="it holds an empty index"):
        opened(tmp_path / "x.faiss")


def test_a_child_that_dies_is_an_error_of_its_file(tmp_path: Path) -> None:
    cloud = opened(saved(built("Flat"), tmp_path / "x.faiss"))
    cloud._reader._process.kill()  # type: ignore[attr-defined]
    with pytest.raises(DataError, match=r"faiss crashed \(SIGKILL\); the file is damaged"):
        list(cloud.read())


def test_an_answer_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(built("Flat"), tmp_path / "x.faiss")
    monkeypatch.setattr("isoscope.data.formats.faiss.cloud.PATIENCE", 0.0)
    monkeypatch.setattr("isoscope.data.formats.faiss.cloud.SLOWEST", 1e12)
    with pytest.raises(DataError, match="faiss took longer than 0 seconds"):
        opened(path)


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux only")
def test_the_child_may_take_what_an_index_needs_and_no_more(tmp_path: Path) -> None:
    path = saved(built("Flat"), tmp_path / "x.faiss")
    cloud = opened(path)
    limits = Path(f"/proc/{cloud._reader._process.pid}/limits").read_text()  # type: ignore[attr-defined]
    (line,) = (line for line in limits.splitlines() if line.startswith("Max address space"))
    assert int(line.split()[3]) < 16 << 30


def test_a_cloud_of_an_index_can_be_sent_to_another_process(tmp_path: Path) -> None:
    cloud = opened(saved(built("IDMap,Flat", IDS), tmp_path / "x.faiss"))
    vectors, ids = read(pickle.loads(pickle.dumps(cloud)))
    np.testing.assert_array_equal(vectors, VECTORS)
    np.testing.assert_array_equal(ids, IDS)


def test_columns_are_refused(tmp_path: Path) -> None:
    path = saved(built("Flat"), tmp_path / "x.faiss")
    with pytest.raises(UsageError, match="leave --column out"):
        isoscope.open_cloud(path, column="v")


def test_an_index_is_corrected_into_an_array(tmp_path: Path) -> None:
    path = saved(built("Flat"), tmp_path / "x.faiss")
    change = Change(lambda rows: rows - 1, 8, 8, "shift", "f")
    (written,) = rewrite_files(str(path), str(tmp_path / "x.npy"), change)
    np.testing.assert_array_equal(np.load(written.out), VECTORS - 1)
    with pytest.raises(UsageError, match=r"x.faiss is written as \.npy or"):
        rewrite_files(str(path), str(tmp_path / "y.faiss"), change)


def test_without_faiss(tmp_path: Path) -> None:
    path = saved(built("Flat"), tmp_path / "x.faiss")
    code = (
        "import sys; sys.modules['faiss'] = None; import isoscope; isoscope.open_cloud(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert "needs faiss, which is not installed; pip install 'isoscope[search]'" in done.stderr
