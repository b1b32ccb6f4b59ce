from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from changes_for_tests import change, rewritten

from isoscope.data import rewrite_files
from isoscope.errors import DataError, UsageError

library = pytest.importorskip("safetensors", reason="the format's own library checks the files")
torch = pytest.importorskip("torch", reason="torch has bfloat16")

VECTORS = torch.from_numpy(np.random.default_rng(0).standard_normal((2_000, 6)))


def save(path: Path, **tensors: object) -> None:
    from safetensors.torch import save_file

    save_file(tensors, str(path), metadata={"format": "pt", "note": "ö"})


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("new_width", [None, 4])
def test_other_tensors_and_metadata_are_kept(
    tmp_path: Path, dtype: str, new_width: int | None
) -> None:
    source, out = tmp_path / "v.safetensors", tmp_path / "w.safetensors"
    others = {"ids": torch.arange(2_000), "bias": torch.ones(7, dtype=torch.bfloat16)}
    save(source, vectors=VECTORS.to(getattr(torch, dtype)), **others)
    written = rewritten(source, out, new_width)
    assert written.marked
    with library.safe_open(out, "pt") as file:
        metadata = file.metadata()
        assert (metadata["format"], metadata["note"]) == ("pt", "ö")
        assert json.loads(metadata["isoscope.corrections"]) == [
            {"column": "vectors", "correction": "moved", "fingerprint": "abc"}
        ]
        assert file.get_tensor("vectors").dtype == getattr(torch, dtype)
        for name, tensor in others.items():
            assert torch.equal(file.get_tensor(name), tensor)


def test_each_tensor_is_corrected_once(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{k}.safetensors" for k in range(3))
    save(first, a=VECTORS, b=VECTORS.float())
    rewritten(first, second, column="a")
    rewritten(second, third, column="b")
    for column in ("a", "b"):
        with pytest.raises(UsageError, match="already carries this correction"):
            rewrite_files(str(third), str(tmp_path / "x.safetensors"), change(6), column=column)
    rewrite_files(
        str(third), str(tmp_path / "x.safetensors"), change(6, fingerprint="other"), column="a"
    )


def test_damaged_entries(tmp_path: Path) -> None:
    source = tmp_path / "v.safetensors"
    entry = {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}
    for other, words in (
        ({"dtype": "F32", "shape": [1], "data_offsets": [9, 3]}, "malformed"),
        ("nothing", "malformed"),
        ({"dtype": "I64", "shape": [1], "data_offsets": [24, 32]}, "ends early"),
    ):
        header = json.dumps({"v": entry, "other": other}).encode()
        source.write_bytes(len(header).to_bytes(8, "little") + header + bytes(24))
        with pytest.raises(DataError, match=words):
            rewrite_files(str(source), str(tmp_path / "w.safetensors"), change(2))
        assert list(tmp_path.iterdir()) == [source]
