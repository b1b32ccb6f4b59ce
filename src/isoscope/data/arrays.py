"""Clouds in memory: numpy arrays, torch tensors, and batches of either.

Clouds that are already in memory: numpy arrays and torch tensors.

Vectors that come in batches from somebody else's code: a database, a pipeline, a generator.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.base import (
    NO_LABELS,
    Batch,
    Cloud,
    check_rows,
    checked_shape,
    rows_per_batch,
    stored_type,
    widen_bfloat16,
)
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from isoscope.data.base import Labels


class ArrayCloud(Cloud):
    """The rows of a numpy array; nothing is copied until a batch is computed on."""

    def __init__(
        self,
        array: np.ndarray,
        name: str = "array",
        *,
        fewest: int = 2,
        labels: Labels = NO_LABELS,
    ) -> None:
        rows, width = checked_shape(array.shape, name, fewest)
        super().__init__(name, rows, width, stored_type(array.dtype, name))
        self._array, self._labels = array, labels

    @property
    def labels(self) -> Labels:
        """Labels of all rows."""
        return self._labels

    def sha256(self) -> str:
        """Digest of the numbers as they are stored, row by row."""
        digest, step = hashlib.sha256(), rows_per_batch(self.width)
        for first in range(0, len(self._array), step):
            digest.update(self._array[first : first + step].tobytes())
        return digest.hexdigest()

    def read(self) -> Iterator[Batch]:
        """Yield views of the array (float32 copies of bfloat16)."""
        step = rows_per_batch(self.width)
        for first in range(0, len(self._array), step):
            rows = self._array[first : first + step]
            if self.dtype == "bfloat16":
                rows = widen_bfloat16(np.ascontiguousarray(rows).view(np.uint16))
            labels = {key: values[first : first + step] for key, values in self._labels.items()}
            yield Batch(rows, first, labels)

    def read_rows(self, indices: NDArray[np.int64]) -> np.ndarray:
        """Return some rows."""
        check_rows(indices, self.rows, self.name)
        rows = self._array[indices]
        return widen_bfloat16(rows.view(np.uint16)) if self.dtype == "bfloat16" else rows

    def cut(self, rows: int) -> Sequence[ArrayCloud]:
        """Return slices, each of which is sent elsewhere without the rest of the array."""
        pieces = []
        for piece, first, last in self._even_pieces(rows):
            piece._array = self._array[first:last]
            piece._labels = {key: values[first:last] for key, values in self._labels.items()}
            pieces.append(piece)
        return pieces


class TensorCloud(Cloud):
    """The rows of a torch tensor, computed on the device on which they are."""

    def __init__(self, tensor: Any, name: str = "tensor", *, fewest: int = 2) -> None:
        rows, width = checked_shape(tensor.shape, name, fewest)
        if str(tensor.layout) != "torch.strided" or tensor.is_meta:
            raise DataError(f"{name} is sparse or has no data; pass a dense tensor")
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in ("float16", "bfloat16", "float32", "float64"):
            raise DataError(
                f"{name} holds {dtype}; vectors are float16, bfloat16, float32 or float64 "
                "(torch: tensor.float())"
            )
        super().__init__(name, rows, width, dtype)
        self._tensor = tensor.detach()

    def sha256(self) -> str:
        """Digest of the numbers as they are stored, row by row."""
        import torch

        digest = hashlib.sha256()
        for batch in self.read():
            rows = batch.vectors.cpu().contiguous()
            digest.update(rows.view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def read(self) -> Iterator[Batch]:
        """Yield views of the tensor."""
        step = rows_per_batch(self.width)
        for first in range(0, len(self._tensor), step):
            yield Batch(self._tensor[first : first + step], first, NO_LABELS)

    def read_rows(self, indices: NDArray[np.int64]) -> Any:
        """Return some rows, on the device of the tensor."""
        check_rows(indices, self.rows, self.name)
        return self._tensor[indices]


def is_tensor(value: object) -> bool:
    """Whether this is a torch tensor, without importing torch when nobody else has."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


class BatchesCloud(Cloud):
    """Two-dimensional arrays or tensors of one width, one after the other.

    Parameters
    ----------
    make : callable
        Gives a new iterable of batches every time it is called: a cloud may be read twice.
    """

    def __init__(self, make: Callable[[], Iterable[Any]], name: str = "batches") -> None:
        first = next(iter(make()), None)
        if first is None:
            raise DataError(f"{name}: there are no batches")
        opened = as_cloud(first, f"{name}: batch 0")
        super().__init__(name, None, opened.width, opened.dtype)
        self._make = make

    def read(self) -> Iterator[Batch]:
        """Yield the rows of every batch in turn."""
        start = 0
        for number, vectors in enumerate(self._make()):
            if len(vectors) == 0:
                continue
            cloud = as_cloud(vectors, f"{self.name}: batch {number}")
            if (cloud.width, cloud.dtype) != (self.width, self.dtype):
                raise DataError(
                    f"{self.name}: batch {number} holds {cloud.width} × {cloud.dtype}, "
                    f"the first holds {self.width} × {self.dtype}"
                )
            for batch in cloud.read():
                yield batch._replace(first_row=start + batch.first_row)
            start += len(vectors)


def as_cloud(vectors: Any, name: str) -> Cloud:
    """Open one batch; a single row is one as well."""
    if is_tensor(vectors):
        return TensorCloud(vectors, name, fewest=1)
    return ArrayCloud(np.asarray(vectors), name, fewest=1)


def is_batches(source: Any) -> bool:
    """Whether a source is a list or tuple of batches, or a function that makes them."""
    if isinstance(source, list | tuple):
        return len(source) > 0 and all(getattr(part, "ndim", 0) == 2 for part in source)
    return callable(source) and not hasattr(source, "__array__")


def open_batches(source: Any) -> Cloud:
    """Open a list of batches, or a function that makes an iterable of them."""
    return BatchesCloud(source if callable(source) else lambda: source)


def refuse_one_shot(source: Any) -> None:
    """Say how to pass what can be read only once."""
    if isinstance(source, Iterator):
        raise UsageError(
            f"a {type(source).__name__} can be read once, and a cloud is read twice; pass a "
            "function that makes it: open_cloud(lambda: my_batches())"
        )
