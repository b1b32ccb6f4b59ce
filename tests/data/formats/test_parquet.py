from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from changes_for_tests import change, rewritten
from pyarrow import parquet

import isoscope
from isoscope.data import rewrite_files
from isoscope.data.formats import parquet as module
from isoscope.errors import DataError, UsageError

VECTORS = np.random.default_rng(0).standard_normal((500, 6))
KINDS = {
    "list": pyarrow.list_,
    "large list": pyarrow.large_list,
    "fixed list": lambda value: pyarrow.list_(value, 6),
}
TYPES = {
    "float16": pyarrow.float16(),
    "float32": pyarrow.float32(),
    "float64": pyarrow.float64(),
}


def table(kind: str = "list", dtype: str = "float32") -> pyarrow.Table:
    vectors = pyarrow.array(list(VECTORS.astype(dtype)), KINDS[kind](TYPES[dtype]))
    columns = {
        "id": pyarrow.array([f"d{k}" for k in range(500)]),
        "vector": vectors,
        "tags": pyarrow.array([None if k % 7 == 0 else [k, None] for k in range(500)]),
        "day": pyarrow.array(range(500), pyarrow.timestamp("us", "UTC")),
        "kind": pyarrow.array(["x", "y", None, "x"] * 125).dictionary_encode(),
    }
    return pyarrow.table(columns).replace_schema_metadata({"owner": "somebody"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("new_width", [None, 4])
def test_every_kind_of_list(tmp_path: Path, kind: str, dtype: str, new_width: int | None) -> None:
    source, out = tmp_path / "v.parquet", tmp_path / "w.parquet"
    parquet.write_table(table(kind, dtype), source, row_group_size=120)
    rewritten(source, out, new_width)
    before, after = parquet.read_table(source), parquet.read_table(out)
    assert before.drop(["vector"]).equals(after.drop(["vector"]))
    assert before.column_names == after.column_names
    if new_width is None:
        assert after.schema.equals(before.schema)
    else:
        kept = after.schema.field("vector").type
        assert type(kept) is type(before.schema.field("vector").type)
        assert kept.value_type == TYPES[dtype]
    assert after.schema.metadata.keys() == {b"owner", b"isoscope.corrections"}
    groups = [parquet.ParquetFile(path).metadata for path in (source, out)]
    assert [[one.row_group(k).num_rows for k in range(5)] for one in groups] == [
        [120, 120, 120, 120, 20]
    ] * 2


def test_how_it_was_written_is_kept(tmp_path: Path) -> None:
    source, out = tmp_path / "v.parquet", tmp_path / "w.parquet"
    parquet.write_table(
        table(),
        source,
        compression={"id": "zstd", "vector.list.item": "none", "day": "gzip", "kind": "snappy"},
        use_dictionary=["id"],
        use_byte_stream_split=["vector.list.item"],
        use_compliant_nested_type=False,
        version="2.4",
    )
    rewritten(source, out)
    chunks = []
    for path in (source, out):
        meta = parquet.ParquetFile(path).metadata
        group = meta.row_group(0)
        columns = [group.column(k) for k in range(meta.num_columns)]
        chunks.append(
            [(c.path_in_schema, c.compression, c.has_dictionary_page, c.encodings) for c in columns]
            + [meta.format_version]
        )
    assert chunks[0] == chunks[1]


def test_large_row_groups_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_ROW_GROUP", 4_000)
    monkeypatch.setattr(module, "rows_per_batch", lambda _: 64)
    parquet.write_table(table(), tmp_path / "v.parquet")
    rewritten(tmp_path / "v.parquet", tmp_path / "w.parquet")
    assert parquet.ParquetFile(tmp_path / "w.parquet").num_row_groups > 2


def test_a_correction_goes_on_once_and_chains_are_noted(tmp_path: Path) -> None:
    one, two, three = (str(tmp_path / f"{k}.parquet") for k in range(3))
    parquet.write_table(table(), one)
    rewrite_files(one, two, change(6))
    with pytest.raises(UsageError, match="1.parquet already carries this correction .moved"):
        rewrite_files(two, three, change(6))
    rewrite_files(two, three, change(6, fingerprint="def"))
    marks = json.loads(parquet.read_schema(three).metadata[b"isoscope.corrections"])
    assert [mark["fingerprint"] for mark in marks] == ["abc", "def"]


def test_rows_without_a_vector(tmp_path: Path) -> None:
    broken = pyarrow.table({"v": [[1.0, 2.0], [3.0, 4.0], None]})
    parquet.write_table(broken, tmp_path / "v.parquet")
    (written,) = rewrite_files(str(tmp_path / "v.parquet"), str(tmp_path / "w.parquet"), change(2))
    assert (written.rows, written.without) == (3, 1)
    assert parquet.read_table(tmp_path / "w.parquet")["v"].is_null().to_pylist() == [0, 0, 1]


def test_a_note_that_is_none_of_ours(tmp_path: Path) -> None:
    for note in ("nonsense", '{"a": 1}', "[1]"):
        damaged = table().replace_schema_metadata({"isoscope.corrections": note})
        parquet.write_table(damaged, tmp_path / "v.parquet")
        with pytest.raises(DataError, match="not a JSON list"):
            rewrite_files(str(tmp_path / "v.parquet"), str(tmp_path / "w.parquet"), change(6))


def test_a_forged_description_of_a_column_is_one_line(tmp_path: Path) -> None:
    """Arrow would end the process if it were asked for the codec of that column."""
    found = Path(__file__).parents[2] / "fuzz" / "found" / "vectors-.parquet"
    forged = found / "histogram-of-another-size" / "x.parquet"
    center = isoscope.make_correction("center").fit(np.eye(9, 4) + 1)
    with pytest.raises(DataError, match="histogram size mismatch"):
        isoscope.apply_correction(center, str(forged), tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())
