from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from clouds_for_tests import joined, labels
from pyarrow import feather, parquet

import isoscope
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
    column = pyarrow.array(list(VECTORS.astype(dtype)), KINDS[kind](TYPES[dtype]))
    return pyarrow.table({"id": [f"d{k}" for k in range(500)], "vector": column})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow"])
def test_every_kind_of_list(tmp_path: Path, kind: str, dtype: str, ending: str) -> None:
    path = tmp_path / f"v{ending}"
    if ending == ".parquet":
        parquet.write_table(table(kind, dtype), path, row_group_size=120)
    else:
        feather.write_feather(table(kind, dtype), path, chunksize=120)
    cloud = isoscope.open_cloud(path)
    assert (cloud.names, cloud.rows, cloud.dtypes) == (("v:vector",), 500, (dtype,))
    np.testing.assert_array_equal(joined(cloud), VECTORS.astype(dtype))
    assert labels(cloud, "id") == [f"d{k}" for k in range(500)]


def test_several_files(tmp_path: Path) -> None:
    for k in range(3):
        parquet.write_table(table().slice(k * 100, 100), tmp_path / f"part-{k}.parquet")
    cloud = isoscope.open_cloud(str(tmp_path / "part-*.parquet"))
    assert cloud.rows == 300
    np.testing.assert_array_equal(joined(cloud), VECTORS[:300].astype(np.float32))
    assert labels(cloud, "id")[250] == "d250"


def test_which_column(tmp_path: Path) -> None:
    both = table().append_column("other", table().column("vector"))
    parquet.write_table(both, tmp_path / "v.parquet")
    with pytest.raises(UsageError, match="--column"):
        isoscope.open_cloud(tmp_path / "v.parquet")
    with pytest.raises(UsageError, match="did you mean vector"):
        isoscope.open_cloud(tmp_path / "v.parquet", column="vectors")
    with pytest.raises(DataError, match="column id holds string"):
        isoscope.open_cloud(tmp_path / "v.parquet", column="id")
    assert isoscope.open_cloud(tmp_path / "v.parquet", column="other").rows == 500


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, 2.0], None, [3.0, 4.0]], r"row 1 has no vector \(null\)"),
        ([[1.0, 2.0], [3.0], [3.0, 4.0]], "row 1 has 1 numbers, the first has 2"),
        ([[1.0, 2.0], [3.0, None], [3.0, 4.0]], "row 1 holds a null number"),
        ([], "has no rows"),
        ([[1.0, 2.0]], "at least two"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: list[object], message: str) -> None:
    column = pyarrow.array(rows, pyarrow.list_(pyarrow.float32()))
    parquet.write_table(pyarrow.table({"v": column}), tmp_path / "v.parquet")
    with pytest.raises(DataError, match=message):
        joined(isoscope.open_cloud(tmp_path / "v.parquet"))


def test_mixed_widths_over_files(tmp_path: Path) -> None:
    for name, row in (("a", [1.0, 2.0]), ("b", [1.0, 2.0, 3.0])):
        column = pyarrow.array([row, row], pyarrow.list_(pyarrow.float32()))
        parquet.write_table(pyarrow.table({"v": column}), tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match="b.parquet:v has 3 dimensions, .*a.parquet:v has 2"):
        isoscope.open_cloud(str(tmp_path / "*.parquet"))


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_damaged_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"v{ending}"
    write = parquet.write_table if ending == ".parquet" else feather.write_feather
    write(table(), path)
    content = path.read_bytes()
    for damaged in (b"", content[:100], content[:-10], b"hello" + content):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="cannot be read"):
            joined(isoscope.open_cloud(path))


def test_a_large_row_group_is_not_held_as_a_whole(tmp_path: Path) -> None:
    """40 MB in one row group: Arrow's own memory stays at a few batches of 1.5 MB."""
    vectors = np.random.default_rng(0).standard_normal((100_000, 100), dtype=np.float32)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.reshape(-1)), 100)
    parquet.write_table(pyarrow.table({"v": lists}), tmp_path / "v.parquet", row_group_size=100_000)
    del lists
    before, most, rows = pyarrow.total_allocated_bytes(), 0, 0
    for batches in isoscope.open_cloud(tmp_path / "v.parquet").batches():
        rows += sum(len(batch.vectors) for batch in batches.values())
        most = max(most, pyarrow.total_allocated_bytes() - before)
    assert rows == 100_000
    assert most < 15_000_000
