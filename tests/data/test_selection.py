from __future__ import annotations

import numpy as np
import pytest

import isoscope
from isoscope.data import RowSelection
from isoscope.data.base import Batch, Cloud
from isoscope.errors import DataError


class Labelled(Cloud):
    """A cloud of two batches with words."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__("labelled", len(array), array.shape[1], "float64")
        self._array = array

    def read(self):  # type: ignore[no-untyped-def]
        words = np.array([f"w{k}" for k in range(len(self._array))])
        half = len(words) // 2
        yield Batch(self._array[:half], 0, {"word": words[:half]})
        yield Batch(self._array[half:], half, {"word": words[half:]})


def broken() -> np.ndarray:
    array = np.ones((10, 3))
    array[2, 1], array[7, 0], array[8, 2] = np.nan, np.inf, -np.inf
    return array


def test_the_first_bad_row_is_named() -> None:
    with pytest.raises(DataError, match=r"row 2 \(word .*w2.*\) holds NaN"):
        list(RowSelection(Labelled(broken())).batches())


def test_bad_rows_are_dropped_and_counted_once_per_read() -> None:
    selection = RowSelection(Labelled(broken()), drop_invalid=True)
    for _ in range(2):
        batches = [b["labelled"] for b in selection.batches()]
        assert selection.left_out == {"not finite": 3}
        assert [b.first_row for b in batches] == [0, 4]
        words = np.concatenate([b.labels["word"] for b in batches])
        assert list(words) == ["w0", "w1", "w3", "w4", "w5", "w6", "w9"]


def test_tensors_too() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(broken())
    with pytest.raises(DataError, match="row 2"):
        isoscope.measure(tensor)
    assert isoscope.measure(tensor, drop_invalid=True).left_out == {"not finite": 3}


def test_nothing_left() -> None:
    with pytest.raises(DataError, match="all rows were excluded"):
        isoscope.measure(np.full((3, 2), np.nan), drop_invalid=True)
    with pytest.raises(DataError, match="a single row is left"):
        isoscope.measure(np.array([[1.0, 2.0], [np.nan, 1.0]]), drop_invalid=True)
