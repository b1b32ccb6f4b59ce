"""Checks that every source shares: is this a cloud at all?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray


def checked_shape(shape: Sequence[int], where: str, fewest: int = 2) -> tuple[int, int]:
    """Return (rows, width) of a two-dimensional, non-empty array, or say what is wrong with it."""
    if len(shape) != 2:
        raise DataError(
            f"{where} is {len(shape)}-dimensional, shape {tuple(shape)}; "
            "a cloud has two dimensions: one row per vector"
        )
    rows, width = int(shape[0]), int(shape[1])
    if width == 0:
        raise DataError(f"{where} has shape ({rows}, 0): vectors without dimensions")
    if rows == 0:
        raise DataError(f"{where} has shape (0, {width}): there are no vectors in it")
    if rows < fewest:
        raise DataError(
            f"{where} holds a single vector; how evenly a space is filled needs at least two"
        )
    return rows, width


def check_rows(indices: NDArray[np.int64], rows: int | None, where: str) -> None:
    """Refuse rows that are not sorted, not different, or not there."""
    if len(indices) and (
        indices[0] < 0 or (rows is not None and indices[-1] >= rows) or (np.diff(indices) < 1).any()
    ):
        raise UsageError(f"{where}: rows to read must be sorted, different, and from 0 to rows − 1")


def stored_type(dtype: DTypeLike, where: str) -> str:
    """Name the floating type behind a numpy dtype, or refuse it.

    numpy has no bfloat16: files written from ``ml_dtypes`` carry it as two bytes of ``void``.
    """
    kind = np.dtype(dtype)
    if kind.name in ("float16", "float32", "float64", "bfloat16"):
        return kind.name
    if kind.kind == "V" and kind.itemsize == 2 and kind.names is None:
        return "bfloat16"
    if kind.hasobject:
        raise DataError(
            f"{where} holds Python objects (which are never unpickled), not numbers; "
            "make one plain float array of the vectors"
        )
    raise DataError(
        f"{where} holds {kind.name}; vectors are float16, bfloat16, float32 or float64 "
        "(numpy: array.astype('float32'))"
    )


def is_cloud(shape: Sequence[int], dtype: DTypeLike) -> bool:
    """Whether an array could be meant as a cloud."""
    try:
        stored_type(dtype, "")
    except DataError:
        return False
    return len(shape) == 2 and shape[0] > 0 and shape[1] > 0


def widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    """Turn the bits of bfloat16 into float32: its upper half, so a shift is exact."""
    wide = bits.astype(np.uint32)
    np.left_shift(wide, 16, out=wide)
    return wide.view(np.float32)
