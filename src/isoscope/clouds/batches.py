"""Vectors that come in batches from somebody else's code: a database, a pipeline, a generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.arrays import ArrayCloud, TensorCloud, is_tensor
from isoscope.clouds.contract import Batch, Cloud
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


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
