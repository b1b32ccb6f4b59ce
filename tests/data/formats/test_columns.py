from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from clouds_for_tests import joined, labels
from pyarrow import feather, parquet

import isoscope
from isoscope.corrections import Center
from isoscope.data.selection import RowSelection
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
        joined(RowSelection(isoscope.open_cloud(tmp_path / "v.parquet")))


NULLABLE = {
    "list": pyarrow.list_(pyarrow.float32()),
    "large": pyarrow.large_list(pyarrow.float64()),
    "fixed": pyarrow.list_(pyarrow.float32(), 2),
    "half": pyarrow.list_(pyarrow.float16(), 2),
}
HOLES = [None, [1.0, 2.0], [3.0, None], [3.0, 4.0], None, [5.0, 7.0], [float("nan"), 0.0]]


@pytest.mark.parametrize("kind", NULLABLE)
@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_null_rows_are_left_out_and_counted(tmp_path: Path, ending: str, kind: str) -> None:
    halves = [None if row is None else list(map(half, row)) for row in HOLES]
    column = pyarrow.array(halves if kind == "half" else HOLES, NULLABLE[kind])
    write = parquet.write_table if ending == ".parquet" else feather.write_feather
    write(pyarrow.table({"v": column}), str(tmp_path / f"v{ending}"))
    cloud = isoscope.open_cloud(tmp_path / f"v{ending}")
    selection = RowSelection(cloud, drop_invalid=True)
    np.testing.assert_array_equal(joined(selection), [[1, 2], [3, 4], [5, 7]])
    assert selection.left_out == {"null": 3, "not finite": 1}
    some = cloud.read_rows(np.array([0, 1, 5]))
    np.testing.assert_array_equal(some, [[np.nan, np.nan], [1, 2], [5, 7]])
    with pytest.raises(DataError, match=r"row 0 has no vector \(null\); --drop-invalid .* leaves"):
        joined(RowSelection(cloud))


def half(number: float | None) -> np.float16 | None:
    return None if number is None else np.float16(number)


def test_measures_and_fits_without_null_rows(tmp_path: Path) -> None:
    path, vectors = tmp_path / "v.parquet", np.random.default_rng(0).standard_normal((40, 3))
    rows = [None if k % 4 == 2 else list(vector) for k, vector in enumerate(vectors)]
    column = pyarrow.array(rows, pyarrow.list_(pyarrow.float64()))
    parquet.write_table(pyarrow.table({"v": column}), path, row_group_size=7)
    kept = vectors[np.arange(40) % 4 != 2]
    result = isoscope.measure(str(path), "mean_cosine", drop_invalid=True)
    assert result.left_out == {"null": 10}
    assert result.value("mean_cosine") == pytest.approx(
        isoscope.measure(kept, "mean_cosine").value("mean_cosine"), rel=1e-12
    )
    out = tmp_path / "c.safetensors"
    fitted = isoscope.fit_correction(str(path), "center", out, drop_invalid=True)
    assert fitted.facts["left_out"] == {"null": 10}
    np.testing.assert_allclose(fitted.correction.mean_, kept.mean(axis=0), atol=1e-15)
    for source in (str(path), str(tmp_path / "*.parquet")):
        with pytest.raises(DataError, match="is null or holds NaN"):
            isoscope.measure(source, "mean_cosine", sample=30)


@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_null_rows_stay_null_when_vectors_are_corrected(
    tmp_path: Path, ending: str, kind: str
) -> None:
    rows = [[1.0, 2.0], None, [3.0, 4.0], [0.0, 0.0], None]
    column = pyarrow.array(rows, NULLABLE[kind])
    table = pyarrow.table({"id": list("abcde"), "v": column})
    write = parquet.write_table if ending == ".parquet" else feather.write_feather
    write(table, str(tmp_path / f"v{ending}"))
    correction = Center().fit(np.array([[1.0, 2.0], [3.0, 4.0]]))
    source, out = str(tmp_path / f"v{ending}"), str(tmp_path / f"w{ending}")
    (written,) = isoscope.apply_correction(correction, source, out).written
    assert (written.rows, written.without, written.zero_vectors) == (5, 2, 1)
    read = parquet.read_table if ending == ".parquet" else feather.read_table
    found = read(out)
    assert found["id"].to_pylist() == list("abcde")
    assert found["v"].type == NULLABLE[kind]
    assert found["v"].to_pylist() == [[-1.0, -1.0], None, [1.0, 1.0], [0.0, 0.0], None]


def test_a_null_number_cannot_be_corrected(tmp_path: Path) -> None:
    column = pyarrow.array([[1.0, 2.0], None, [None, 4.0]], NULLABLE["list"])
    parquet.write_table(pyarrow.table({"v": column}), tmp_path / "v.parquet")
    correction = Center().fit(np.array([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(DataError, match="row 2 holds a null number, which cannot be corrected"):
        isoscope.apply_correction(
            correction, str(tmp_path / "v.parquet"), str(tmp_path / "w.parquet")
        )


def test_a_column_of_nulls(tmp_path: Path) -> None:
    column = pyarrow.array([None, None], NULLABLE["list"])
    parquet.write_table(pyarrow.table({"v": column}), tmp_path / "v.parquet")
    with pytest.raises(DataError, match="v.parquet:v: all 2 rows are null"):
        isoscope.open_cloud(tmp_path / "v.parquet")


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


def test_a_page_that_promises_more_than_the_file_takes_no_memory() -> None:
    """A page says that it has 1.7 GB: Arrow took them before it looked whether they are there."""
    forged = Path(__file__).parents[2] / "fuzz/found/texts-.parquet/page-beyond-the-file/x.parquet"
    program = (
        "import sys, pyarrow; from isoscope.data.texts.open import open_texts\n"
        "from isoscope.errors import DataError\n"
        "try: list(open_texts(sys.argv[1]).texts())\n"
        "except DataError: print(pyarrow.default_memory_pool().max_memory())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, forged], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 1_000_000
