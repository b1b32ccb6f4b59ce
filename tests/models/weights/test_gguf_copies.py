"""Whether a GGUF file holds one matrix twice, against matrices that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.models.weights.gguf_copies import rounding_of, stores_one_matrix_twice

gguf = pytest.importorskip("gguf")

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(300, 64)).astype(np.float32)


def written(path: Path, **tensors: tuple[np.ndarray, str]) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    for name, (values, kind) in tensors.items():
        wanted = gguf.GGMLQuantizationType[kind]
        stored = gguf.quants.quantize(values, wanted)
        writer.add_tensor(f"{name}.weight", stored, raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kinds", [("Q5_0", "Q8_0"), ("Q4_0", "F16"), ("Q8_0", "Q8_0")])
def test_copies_of_one_matrix_are_one(kinds: tuple[str, str], tmp_path: Path) -> None:
    first, second = kinds
    file = tmp_path / "model.gguf"
    written(file, token_embd=(MATRIX, first), output=(MATRIX, second))
    assert stores_one_matrix_twice(file)


@pytest.mark.parametrize(
    "other",
    [
        RNG.normal(size=MATRIX.shape),
        1.3 * MATRIX,
        MATRIX + 0.2 * RNG.normal(size=MATRIX.shape),
        MATRIX[::-1],
    ],
    ids=["another", "scaled", "trained on", "other order"],
)
def test_matrices_that_were_trained_apart_are_two(other: np.ndarray, tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    values = np.ascontiguousarray(other, np.float32)
    written(file, token_embd=(MATRIX, "Q5_0"), output=(values, "Q8_0"))
    assert not stores_one_matrix_twice(file)


def test_a_file_without_a_second_matrix_has_one(tmp_path: Path) -> None:
    assert not stores_one_matrix_twice(written(tmp_path / "a.gguf", token_embd=(MATRIX, "Q8_0")))
    other = written(tmp_path / "b.gguf", token_embd=(MATRIX, "Q8_0"), output=(MATRIX[:200], "Q8_0"))
    assert not stores_one_matrix_twice(other)


@pytest.mark.parametrize("kind", ["Q8_0", "Q5_0", "Q4_0", "F16"])
def test_rounding_is_that_of_the_library(kind: str) -> None:
    wanted = gguf.GGMLQuantizationType[kind]
    there = gguf.quants.dequantize(gguf.quants.quantize(MATRIX, wanted), wanted)
    lost = np.linalg.norm(there - MATRIX) / np.linalg.norm(MATRIX)
    assert 0.3 * rounding_of(kind) < lost < 1.5 * rounding_of(kind)
