"""What codes keep of the rows that labelled pairs name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from searched_by_hand import units

from isoscope.verbs.measure.search.indexes import Int8
from isoscope.verbs.measure.search.reduction import LabelledRows, coded_rows, reduce

pytest.importorskip("faiss")


def test_rows_as_every_code_has_them() -> None:
    base, rows = shifted(0, 100, 6), shifted(1, 9, 6)
    assert coded_rows(rows, base, "float32") == pytest.approx(units(rows), abs=1e-7)
    ranges = Int8(units(base).astype(np.float32))
    expected = ranges.rounded(units(rows).astype(np.float32))
    assert (coded_rows(rows, base, "int8") == expected).all()
    assert (coded_rows(rows, base, "int8") != coded_rows(rows, base, "float32")).any()
    assert (coded_rows(rows, base, "binary") == np.where(rows > 0, 1, -1)).all()


def test_rows_are_numbered_among_those_that_pairs_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("row1\trow2\tscore\n7\t90\t1.5\n90\t3\t2.5\n3\t7\t4.5\n")
    labelled = LabelledRows.of(path, 100)
    assert labelled.wanted.tolist() == [3, 7, 90]
    assert labelled.problem.first.tolist() == [1, 2, 0]
    assert labelled.problem.second.tolist() == [2, 0, 1]
    assert LabelledRows.of(path, None).wanted.tolist() == [3, 7, 90]


def test_pairs_count_that_have_two_directions_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("row1\trow2\tscore\n0\t1\t1.5\n2\t3\t2.5\n1\t2\t4.5\n")
    labelled = LabelledRows.of(path, 4)
    vectors = shifted(0, 4, 3)
    other = vectors.copy()
    other[3] = 0
    assert labelled.usable({"a": vectors, "b": other}).tolist() == [True, False, True]
    other[0] = np.nan
    assert labelled.usable({"a": vectors, "b": other}).tolist() == [False, False, True]


def test_a_pair_of_a_row_with_itself_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    lines = [f"{k}\t{(3 * k + 1) % 30}\t{k % 5}" for k in range(30)]
    path.write_text("\n".join(["row1\trow2\tscore", *lines, "4\t4\t5"]) + "\n")
    found = reduce(shifted(0, 30, 6), [3], pairs=path, k=3)
    row = next(row for row in found if "pairs:mine" in row.measure)
    assert row.n == 30
    assert "1 pair of a row with itself left out (line 32)" in row.note
