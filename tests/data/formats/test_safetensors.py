from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from clouds_for_tests import joined

import isoscope
from isoscope.errors import DataError, UsageError


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_every_type_is_read_exactly(tmp_path: Path, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch has bfloat16")
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    content = torch.randn(700, 12, generator=generator, dtype=torch.float64)
    tensor = content.to(getattr(torch, dtype))
    tensors = {"norm": torch.ones(12), "ids": torch.arange(700), "embed.weight": tensor}
    save_file(tensors, tmp_path / "m.safetensors")
    cloud = isoscope.open_cloud(tmp_path / "m.safetensors")
    assert cloud.names == ("m:embed.weight",)
    assert cloud.dtypes == (dtype,)
    np.testing.assert_array_equal(joined(cloud).astype(np.float64), tensor.double().numpy())


def test_candidates_are_listed(tmp_path: Path) -> None:
    arrays = {"wte": np.ones((4, 3), np.float32), "wpe": np.ones((2, 3), np.float32)}
    safetensors.numpy.save_file(arrays, tmp_path / "m.safetensors")
    with pytest.raises(UsageError, match=r"wte F32 \(4, 3\)"):
        isoscope.open_cloud(tmp_path / "m.safetensors")
    with pytest.raises(UsageError, match="did you mean wte"):
        isoscope.open_cloud(tmp_path / "m.safetensors", column="wt")
    assert isoscope.open_cloud(tmp_path / "m.safetensors", column="wte").rows == 4


def write(path: Path, header: object, payload: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + payload)
    return path


def entry(shape: list[int], end: int, dtype: str = "F32", begin: int = 0) -> dict[str, object]:
    return {"v": {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}}


@pytest.mark.parametrize(
    ("header", "payload", "message"),
    [
        (entry([4, 3], 48), bytes(40), "truncated"),
        (entry([4, 3], 40), bytes(48), "sets 40 bytes aside"),
        (entry([4, 3], 32, begin=-16), bytes(48), "malformed"),
        (entry([10**9, 10**9], 48), bytes(48), "promises"),
        (entry([12], 48), bytes(48), "no two-dimensional float array"),
        (entry([4, 3], 48, dtype="I32"), bytes(48), "no two-dimensional float array"),
        ({"v": {"dtype": "F32", "shape": [4, 3]}}, bytes(48), "malformed"),
        ({"v": {"dtype": [], "shape": [4, 3], "data_offsets": [0, 48]}}, bytes(48), "it holds v"),
        ({"v": {"dtype": "F32", "shape": 5, "data_offsets": [0, 48]}}, bytes(48), "malformed"),
        (
            {"v": {"dtype": "F32", "shape": [4.0, 3], "data_offsets": [0, 48]}},
            bytes(48),
            "it holds",
        ),
        ({"v": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0.5, 48.5]}}, b"", "malformed"),
        ({"v": 5}, bytes(48), "malformed"),
        ([1, 2], b"", "not a JSON object"),
    ],
)
def test_headers_that_lie(tmp_path: Path, header: object, payload: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        isoscope.open_cloud(write(tmp_path / "m.safetensors", header, payload))


@pytest.mark.parametrize(
    "content", [b"", b"abc", b"\xff" * 8, (5).to_bytes(8, "little") + b"{bad}"]
)
def test_what_is_not_safetensors(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.safetensors").write_bytes(content)
    with pytest.raises(DataError, match="not a"):
        isoscope.open_cloud(tmp_path / "m.safetensors")


def test_a_chosen_tensor_must_be_a_cloud(tmp_path: Path) -> None:
    arrays = {"a": np.ones(4, np.float32), "b": np.ones((4, 4), np.int32)}
    safetensors.numpy.save_file(arrays, tmp_path / "m.safetensors")
    with pytest.raises(DataError, match="is 1-dimensional"):
        isoscope.open_cloud(tmp_path / "m.safetensors", column="a")
    with pytest.raises(DataError, match="I32"):
        isoscope.open_cloud(tmp_path / "m.safetensors", column="b")
