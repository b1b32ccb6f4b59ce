from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from changes_for_tests import change, rewritten
from clouds_for_tests import labels

import isoscope
from isoscope.data import rewrite_files
from isoscope.errors import DataError

WORDS = [b"the", b'"', b"New York", "größer".encode(), b"\xff\xfe", b"a,b", b"", b"\xc2\xa0"]
VECTORS = np.random.default_rng(0).standard_normal((len(WORDS), 4)).astype(np.float32)


def lines(separator: bytes = b" ") -> bytes:
    rows = [separator.join(str(x).encode() for x in row.tolist()) for row in VECTORS]
    return b"".join(word + separator + row + b"\n" for word, row in zip(WORDS, rows, strict=True))


@pytest.mark.parametrize("separator", [b" ", b"\t"])
@pytest.mark.parametrize("header", [b"", b"8 4\n"])
@pytest.mark.parametrize("new_width", [None, 3])
def test_words_are_kept_byte_for_byte(
    tmp_path: Path, separator: bytes, header: bytes, new_width: int | None
) -> None:
    source, out = tmp_path / "v.txt", tmp_path / "w.vec"
    source.write_bytes(header + lines(separator))
    rewritten(source, out, new_width)
    found = out.read_bytes().splitlines()
    if header:
        assert found.pop(0) == f"8 {new_width or 4}".encode()
    assert [line.rsplit(separator, new_width or 4)[0] for line in found] == WORDS


@pytest.mark.parametrize("ending", [".txt.gz", ".vec.zst", ".txt"])
def test_compression_is_that_of_the_new_name(tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "v.txt.gz", tmp_path / f"w{ending}"
    source.write_bytes(gzip.compress(lines()))
    rewritten(source, out)
    cloud = isoscope.open_cloud(source)
    assert labels(isoscope.open_cloud(out), "word") == labels(cloud, "word")


def test_numbers_come_back_the_same(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = random.integers(0, 2**32, (4_000, 5), dtype=np.uint32).view(np.float32)
    rows = rows[np.isfinite(rows).all(axis=1)]
    text = "".join(f"w{k} {' '.join(map(str, row))}\n" for k, row in enumerate(rows.tolist()))
    (tmp_path / "v.txt").write_text(text)
    rewritten(tmp_path / "v.txt", tmp_path / "w.txt")


def test_a_header_that_promises_more(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"9 4\n" + lines())
    with pytest.raises(DataError, match="promises 9 vectors, 8 follow"):
        rewrite_files(str(tmp_path / "v.txt"), str(tmp_path / "w.txt"), change(4))
    assert not (tmp_path / "w.txt").exists()
