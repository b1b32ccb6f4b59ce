from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import joined, labels

import isoscope
from isoscope.errors import DataError, UsageError

VECTORS = np.random.default_rng(0).standard_normal((300, 4))


def lines() -> str:
    rows = ({"id": k, "text": f"t{k}", "vector": list(row)} for k, row in enumerate(VECTORS))
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_vectors_and_labels_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.formats.jsonl.rows_per_batch", lambda _: 77)
    (tmp_path / "v.jsonl").write_text(lines().replace("\n", "\n\n", 3))
    cloud = isoscope.open_cloud(tmp_path / "v.jsonl")
    assert cloud.names == ("v:vector",)
    np.testing.assert_array_equal(joined(cloud), VECTORS)
    assert labels(cloud, "text") == [f"t{k}" for k in range(300)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no rows"),
        ("[1, 2]\n", "line 1 is not a JSON object"),
        ('{"v": [1, 2]}\n{"v": [1, 2]\n', "line 2 is not JSON"),
        ('{"v": [1, 2]}\n{"v": [1]}\n', "row 1 has 1 numbers, the first has 2"),
        ('{"v": [1, 2]}\n{"w": [1, 2]}\n', "row 1 has no list in the field 'v'"),
        ('{"v": [1, 2]}\n{"v": [1, null]}\n', "row 1 holds something that is not a number"),
        ('{"v": [1, 2]}\n{"v": [1, true]}\n', "row 1 holds something that is not a number"),
        ('{"v": [1, 2]}\n{"v": [1, %s]}\n' % ("9" * 400), "row 1 .* beyond float64"),
        ('{"v": [1, 2]}\n{"v": [1, %s]}\n' % ("9" * 5_000), "line 2 is not JSON"),
        ('{"v": "x"}\n', "no two-dimensional float array"),
    ],
)
def test_bad_files(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "v.jsonl").write_text(content)
    with pytest.raises(DataError, match=message):
        joined(isoscope.open_cloud(tmp_path / "v.jsonl"))


def test_several_fields(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"a": [1, 2], "b": [3, 4], "c": 1}\n' * 3)
    with pytest.raises(UsageError, match="--column"):
        isoscope.open_cloud(tmp_path / "v.jsonl")
    with pytest.raises(DataError, match="not a list of numbers"):
        isoscope.open_cloud(tmp_path / "v.jsonl", column="c")
    assert joined(isoscope.open_cloud(tmp_path / "v.jsonl", column="b"))[2].tolist() == [3, 4]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_line_that_never_ends_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr("isoscope.data.formats.lines.LONGEST_LINE", 1_000)
    content = b'{"vector": [1, 2]}\n{"vector": [1, 2' + b" " * 1_000_000
    path = tmp_path / f"x.jsonl{ending}"
    path.write_bytes(gzip.compress(content) if ending else content)
    with pytest.raises(DataError, match=r"line 2 has over 1,000 bytes, which is not one vector"):
        list(isoscope.open_cloud(path).batches())
