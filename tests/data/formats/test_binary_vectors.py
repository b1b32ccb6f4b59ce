from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import joined, labels

import isoscope
from isoscope.errors import DataError

VECTORS = np.random.default_rng(0).standard_normal((300, 5)).astype("<f4")
WORDS = [f"wörd{k}" for k in range(300)]


def word2vec(end: bytes = b"") -> bytes:
    rows = (w.encode() + b" " + v.tobytes() + end for w, v in zip(WORDS, VECTORS, strict=True))
    return b"300 5\n" + b"".join(rows)


def fvecs() -> bytes:
    return b"".join((5).to_bytes(4, "little") + row.tobytes() for row in VECTORS)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_word2vec(tmp_path: Path, end: bytes) -> None:
    (tmp_path / "w.bin").write_bytes(word2vec(end))
    cloud = isoscope.open_cloud(tmp_path / "w.bin")
    np.testing.assert_array_equal(joined(cloud), VECTORS)
    assert labels(cloud, "word") == WORDS


def test_fvecs(tmp_path: Path) -> None:
    (tmp_path / "v.fvecs").write_bytes(fvecs())
    cloud = isoscope.open_cloud(tmp_path / "v.fvecs")
    assert cloud.rows == 300
    np.testing.assert_array_equal(joined(cloud), VECTORS)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.bin", word2vec()[:-7], "ends early"),
        ("w.bin", word2vec() + b"more", "more than the 300 vectors"),
        ("w.bin", b"hello", "not in word2vec's binary form"),
        ("w.bin", b"", "not in word2vec's binary form"),
        ("w.bin", b"3 0\n", "promises 3 vectors of 0 numbers"),
        ("w.bin", b"2 1\n" + bytes(30_000), "no word"),
        ("v.fvecs", fvecs()[:-3], "middle of row 299"),
        ("v.fvecs", b"", "first vector has 0"),
        ("v.fvecs", fvecs()[:24], "single vector"),
        ("v.fvecs", fvecs()[:48] + (9).to_bytes(4, "little") + bytes(20), "row 2 says it has 9"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        joined(isoscope.open_cloud(tmp_path / name))
