from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from changes_for_tests import change, moved

from isoscope.data.rewrite import planned
from isoscope.errors import DataError, UsageError
from isoscope.verbs.correct.files import UNFINISHED, unfinished_folder, written_by_way_of

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def left_over(out: Path) -> None:
    """Leave what a killed run leaves."""
    (out / UNFINISHED).mkdir()
    (out / UNFINISHED / "half").write_bytes(b"half")


def test_what_is_left_over_goes_at_both_ends(tmp_path: Path) -> None:
    left_over(tmp_path)
    with unfinished_folder(tmp_path) as place:
        assert list(Path(place).iterdir()) == []
        Path(place, "half").write_bytes(b"half")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError), unfinished_folder(tmp_path):
        raise DataError("cut off")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="absent/.isoscope-unfinished cannot be written"),
        unfinished_folder(tmp_path / "absent"),
    ):
        pass


def test_a_file_is_moved_when_it_is_whole(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", VECTORS)
    out = tmp_path / "w.npy"
    (plan,) = planned(str(tmp_path / "v.npy"), str(out), change(3), None)
    seen: list[bool] = []
    with unfinished_folder(tmp_path) as place:
        written = written_by_way_of(place, plan, change(3), lambda _: seen.append(out.exists()))
        assert list(Path(place).iterdir()) == []
    assert seen == [False]
    assert (written.out, written.rows) == (str(out), 4)
    np.testing.assert_array_equal(np.load(out), moved(VECTORS))
    out.unlink()
    out.mkdir()
    with (
        unfinished_folder(tmp_path) as place,
        pytest.raises(UsageError, match="w.npy cannot be written"),
    ):
        written_by_way_of(place, plan, change(3), lambda _: None)
