from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import joined

import isoscope
from isoscope.errors import DataError, UsageError

CONTENT = np.random.default_rng(0).standard_normal((500, 6)).astype(np.float32)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_only_matrix_is_found(tmp_path: Path, save: object, order: str) -> None:
    ids = np.arange(500)
    save(tmp_path / "a.npz", ids=ids, vectors=np.asarray(CONTENT, order=order))  # type: ignore[operator]
    cloud = isoscope.open_cloud(tmp_path / "a.npz")
    assert cloud.names == ("a:vectors",)
    for _ in range(2):
        np.testing.assert_array_equal(joined(cloud), CONTENT)


def test_several_matrices_need_a_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", queries=CONTENT[:9], documents=CONTENT)
    with pytest.raises(UsageError, match=r"--column.*queries.*documents"):
        isoscope.open_cloud(tmp_path / "a.npz")
    assert isoscope.open_cloud(tmp_path / "a.npz", column="queries").rows == 9


def test_a_wrong_name_gets_near_ones(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", queries=CONTENT[:9], documents=CONTENT)
    with pytest.raises(UsageError, match="did you mean documents"):
        isoscope.open_cloud(tmp_path / "a.npz", column="document")


def test_a_strange_neighbour_does_not_matter(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", CONTENT)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("vectors.npy", (tmp_path / "v.npy").read_bytes())
        archive.writestr("broken.npy", b"no array")
    assert isoscope.open_cloud(tmp_path / "a.npz").rows == 500
    np.savez(tmp_path / "b.npz", v=CONTENT, empty=np.zeros((0, 3)), named=np.zeros((3, 3), "f4,f4"))
    assert isoscope.open_cloud(tmp_path / "b.npz").rows == 500


@pytest.mark.parametrize("order", ["C", "F"])
def test_more_bytes_than_promised(tmp_path: Path, order: str) -> None:
    np.save(tmp_path / "v.npy", np.asarray(CONTENT, order=order))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("vectors.npy", (tmp_path / "v.npy").read_bytes() + b"more")
    with pytest.raises(DataError, match="more bytes"):
        joined(isoscope.open_cloud(tmp_path / "a.npz"))


def test_no_matrix_at_all(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", ids=np.arange(5))
    with pytest.raises(DataError, match=r"no two-dimensional float array; it holds ids: int64"):
        isoscope.open_cloud(tmp_path / "a.npz")


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", vectors=np.array([[1, None], [2, 3]], dtype=object))
    with pytest.raises(DataError, match="never unpickled"):
        isoscope.open_cloud(tmp_path / "a.npz", column="vectors")


def test_damaged_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, vectors=CONTENT)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="not a whole .npz file"):
        isoscope.open_cloud(path)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + b"\xff" * 64 + whole[middle + 64 :])
    with pytest.raises(DataError, match="cannot be decompressed|not a whole"):
        joined(isoscope.open_cloud(path))


def test_a_member_that_ends_early(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", CONTENT)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("vectors.npy", (tmp_path / "v.npy").read_bytes()[:-40])
    with pytest.raises(DataError, match="ends early"):
        joined(isoscope.open_cloud(tmp_path / "a.npz"))


def test_an_array_that_does_not_fit_on_the_disk_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "x.npz", np.asfortranarray(np.ones((50, 4))))
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(DataError, match=r"unpacks to 1,600 bytes, and .* has 1,000 left; name"):
        list(isoscope.open_cloud(tmp_path / "x.npz").batches())


def test_an_archive_with_more_than_its_header_says_is_not_unpacked_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as file,
    ):
        np.lib.format.write_array(file, np.asfortranarray(np.ones((50, 4))))
        file.write(bytes(20 << 20))
    pieces: list[int] = []
    read = zipfile.ZipExtFile.read

    def counted(self: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        found = read(self, n)
        pieces.append(len(found))
        return found

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    with pytest.raises(DataError):
        list(isoscope.open_cloud(tmp_path / "x.npz").batches())
    assert sum(pieces) < 3 << 20
