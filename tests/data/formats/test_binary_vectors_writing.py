from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from changes_for_tests import change, moved, rewritten

from isoscope.data import rewrite_files
from isoscope.errors import DataError

VECTORS = np.random.default_rng(0).standard_normal((300, 5)).astype(np.float32)
WORDS = [f"w{k}".encode() for k in range(298)] + [b"\xff", "ö".encode()]


def word2vec(rows: np.ndarray, between: bytes) -> bytes:
    body = b"".join(w + b" " + row.tobytes() + between for w, row in zip(WORDS, rows, strict=True))
    return f"{len(rows)} {rows.shape[1]}\n".encode() + body


@pytest.mark.parametrize("between", [b"", b"\n"])
@pytest.mark.parametrize("new_width", [None, 3])
def test_word2vec_binary(tmp_path: Path, between: bytes, new_width: int | None) -> None:
    source, out = tmp_path / "v.bin", tmp_path / "w.bin"
    source.write_bytes(word2vec(VECTORS, between))
    rewritten(source, out, new_width)
    # Line feeds between vectors are a habit of some writers, and every reader does without.
    assert out.read_bytes() == word2vec(moved(VECTORS)[:, :new_width], b"")


def test_more_than_the_header_says(tmp_path: Path) -> None:
    (tmp_path / "v.bin").write_bytes(word2vec(VECTORS, b"") + b"more")
    with pytest.raises(DataError, match="more than the 300 vectors"):
        rewrite_files(str(tmp_path / "v.bin"), str(tmp_path / "w.bin"), change(5))
    assert not (tmp_path / "w.bin").exists()


@pytest.mark.parametrize("ending", [".fvecs", ".fvecs.gz"])
@pytest.mark.parametrize("new_width", [None, 3])
def test_fvecs(tmp_path: Path, ending: str, new_width: int | None) -> None:
    source, out = tmp_path / "v.fvecs", tmp_path / f"w{ending}"
    source.write_bytes(b"".join(np.int32(5).tobytes() + row.tobytes() for row in VECTORS))
    rewritten(source, out, new_width)
    width = new_width or 5
    expected = b"".join(
        np.int32(width).tobytes() + row.tobytes() for row in moved(VECTORS)[:, :width]
    )
    content = out.read_bytes()
    assert (gzip.decompress(content) if ending.endswith(".gz") else content) == expected
