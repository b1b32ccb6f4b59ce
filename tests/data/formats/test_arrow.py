from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from changes_for_tests import change, rewritten
from pyarrow import feather, ipc

from isoscope.data import rewrite_files
from isoscope.data.formats.arrow import body_compression
from isoscope.errors import UsageError

VECTORS = np.random.default_rng(0).standard_normal((500, 6)).astype(np.float32)


def table(kind: pyarrow.DataType) -> pyarrow.Table:
    columns = {
        "id": pyarrow.array([f"d{k}" for k in range(500)]),
        "vector": pyarrow.array(list(VECTORS), kind),
        "kind": pyarrow.array(["x", "y", None, "x"] * 125).dictionary_encode(),
    }
    return pyarrow.table(columns).replace_schema_metadata({"owner": "somebody"})


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("size", [None, 6])
@pytest.mark.parametrize("new_width", [None, 4])
def test_columns_batches_and_compression_are_kept(
    tmp_path: Path, compression: str, size: int | None, new_width: int | None
) -> None:
    source, out = tmp_path / "v.feather", tmp_path / "w.arrow"
    kind = pyarrow.list_(pyarrow.float32(), *([size] if size else []))
    feather.write_feather(table(kind), source, compression, chunksize=120)
    rewritten(source, out, new_width)
    before, after = feather.read_table(source), feather.read_table(out)
    assert before.drop(["vector"]).equals(after.drop(["vector"]))
    assert after.schema.metadata.keys() == {b"owner", b"isoscope.corrections"}
    assert ipc.open_file(out).num_record_batches == 5
    with out.open("rb") as file:
        expected = None if compression == "uncompressed" else compression
        assert body_compression(file) == expected


def test_a_correction_goes_on_once(tmp_path: Path) -> None:
    feather.write_feather(table(pyarrow.list_(pyarrow.float32())), tmp_path / "v.arrow")
    rewritten(tmp_path / "v.arrow", tmp_path / "w.arrow")
    with pytest.raises(UsageError, match="already carries"):
        rewrite_files(str(tmp_path / "w.arrow"), str(tmp_path / "x.arrow"), change(6))
    other = change(6, fingerprint="def")
    rewrite_files(str(tmp_path / "w.arrow"), str(tmp_path / "x.arrow"), other)
    note = ipc.open_file(tmp_path / "x.arrow").schema.metadata[b"isoscope.corrections"]
    assert [mark["fingerprint"] for mark in json.loads(note)] == ["abc", "def"]
