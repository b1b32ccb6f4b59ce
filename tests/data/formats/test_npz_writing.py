from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from changes_for_tests import change, rewritten

from isoscope.data import rewrite_files
from isoscope.errors import DataError

VECTORS = np.random.default_rng(0).standard_normal((3_000, 5)).astype(np.float32)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("new_width", [None, 2])
def test_other_arrays_are_kept(tmp_path: Path, save: object, order: str, new_width: int) -> None:
    source, out = tmp_path / "v.npz", tmp_path / "w.npz"
    others = {"ids": np.arange(3_000), "names": np.array(["a", "ö"]), "w": VECTORS[:, 0]}
    save(source, vectors=np.asarray(VECTORS, order=order), **others)  # type: ignore[operator]
    rewritten(source, out, new_width)
    with np.load(source) as before, np.load(out) as after:
        assert before.files == after.files
        for name, array in others.items():
            np.testing.assert_array_equal(after[name], array)
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(out) as after:
        for one, other in zip(before.infolist(), after.infolist(), strict=True):
            assert one.compress_type == other.compress_type
            assert one.date_time == other.date_time


def test_one_array_of_several(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", a=VECTORS, b=VECTORS + 1)
    rewritten(tmp_path / "v.npz", tmp_path / "w.npz", column="b")
    np.testing.assert_array_equal(np.load(tmp_path / "w.npz")["a"], VECTORS)


def test_a_damaged_member_is_not_copied(tmp_path: Path) -> None:
    source = tmp_path / "v.npz"
    np.savez(source, other=np.arange(1_000), vectors=VECTORS)
    content = bytearray(source.read_bytes())
    content[600] ^= 255  # inside the first member, whose sum is then wrong
    source.write_bytes(content)
    with pytest.raises(DataError, match="v.npz cannot be copied: Bad CRC-32"):
        rewrite_files(str(source), str(tmp_path / "w.npz"), change(5))
    assert list(tmp_path.iterdir()) == [source]
