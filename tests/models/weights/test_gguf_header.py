"""Headers of GGUF files that promise more than the file holds are refused before they are read."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import DataError
from isoscope.models.weights import gguf_header
from isoscope.models.weights.gguf_header import ARRAY, TEXT, check_header
from isoscope.models.weights.weight_files import open_gguf


def text(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def header(*fields: bytes, tensors: int = 0, count: int | None = None) -> bytes:
    number = len(fields) if count is None else count
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, number) + b"".join(fields)


def array(kind: int, count: int, content: bytes = b"") -> bytes:
    return text(b"k") + struct.pack("<IIQ", ARRAY, kind, count) + content


NESTED = array(ARRAY, 1, struct.pack("<IQ", ARRAY, 1) * 10 + struct.pack("<IQ", 0, 0))
TENSOR = text(b"t") + struct.pack("<I", 9) + bytes(8 * 9 + 12)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"GGML" + bytes(40), "does not begin with GGUF"),
        (b"GGUF\3", "it is cut off"),
        (header(count=2**60), "it promises 1,152,921,504,606,846,976 fields"),
        (header(tensors=2**60), "1,152,921,504,606,846,976 tensors"),
        (header(array(0, 10**9)), "1,000,000,000 values of an array"),
        (header(array(TEXT, 10**9)), "1,000,000,000 values of an array"),
        (header(array(99, 1, bytes(8))), "has the type 99, which is none"),
        (header(NESTED), "nested too deeply"),
        (header(text(b"k") + struct.pack("<I", 77)), "has the type 77, which is none"),
        (header(struct.pack("<Q", 2**63) + b"k"), "9,223,372,036,854,775,808 bytes"),
        (header(TENSOR, tensors=1, count=0), "a tensor has 9 dimensions"),
    ],
)
def test_forged_headers(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        check_header(path)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "x.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.add_array("tokenizer.ggml.scores", [1.0, 2.0])
    writer.add_tensor("token_embd.weight", np.ones((6, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_whole_files_pass_and_cut_ones_are_refused(whole: Path) -> None:
    check_header(whole)
    assert len(open_gguf(whole).tensors) == 1
    content = whole.read_bytes()
    described = content.rindex(b"token_embd.weight") + len("token_embd.weight") + 4 + 2 * 8 + 12
    for length in range(described):
        whole.write_bytes(content[:length])
        with pytest.raises(DataError):
            check_header(whole)


def test_too_many_values(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_header, "MOST_VALUES", 3)
    with pytest.raises(DataError, match="arrays have more than 3 values"):
        open_gguf(whole)
