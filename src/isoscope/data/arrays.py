"""Clouds in memory, and what is done to the rows of an array or a tensor, wherever it is.

Clouds are numpy arrays, torch tensors, and batches of either that come from somebody else's code:
a database, a pipeline, a generator.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.base import (
    EPSILON,
    NO_LABELS,
    Batch,
    Cloud,
    check_rows,
    checked_shape,
    described,
    digest_of_labels,
    rows_per_batch,
    stored_type,
    widen_bfloat16,
)
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.data.base import Array, Labels
    from isoscope.typing import Doubles, Floats, Vector


def is_tensor(value: object) -> bool:
    """Whether this is a torch tensor, without importing torch when nobody else has."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def at_least_single(rows: Array) -> Array:
    """Return half precision in single, anything else as it is."""
    if is_tensor(rows):
        return rows.float() if rows.element_size() < 4 else rows
    return rows.astype(np.float32) if rows.itemsize < 4 else rows


def to_host(rows: Array) -> NDArray[Any]:
    """Return rows as an array on the host, in float32 or float64."""
    if is_tensor(rows):
        rows = at_least_single(rows).cpu().numpy()
    return np.asarray(rows, dtype=np.float64 if rows.dtype.itemsize == 8 else np.float32)


def on_host(vectors: Array, rows: NDArray[np.int64] | slice) -> NDArray[np.float64]:
    """Return the chosen rows as float64, from wherever they are."""
    chosen = vectors[rows]
    if is_tensor(chosen):
        chosen = chosen.double().cpu().numpy()
    return np.asarray(chosen, dtype=np.float64)


def in_double(rows: Array) -> Array:
    """Return rows in float64 where their device has it; Apple's has not."""
    if not is_tensor(rows):
        return rows.astype(np.float64)
    return rows if rows.device.type == "mps" else rows.double()


def like(rows: Array, part: NDArray[Any] | None) -> Any:
    """Return an array in the type and place of some rows; None stays None."""
    if part is None:
        return None
    if not is_tensor(rows):
        return np.ascontiguousarray(part, dtype=rows.dtype)
    import torch

    return torch.from_numpy(np.ascontiguousarray(part)).to(rows.device, rows.dtype)


def square_norms(x: Floats) -> Doubles:
    """‖x_i‖² of every row: a BLAS dot product each, at half the time of einsum."""
    with np.errstate(over="ignore"):  # the callers look for infinities
        return np.asarray(np.matmul(x[:, None, :], x[:, :, None])[:, 0, 0], dtype=np.float64)


def within_single_range(squares: Doubles) -> bool:
    """Whether squared lengths are far from where float32 overflows or loses digits.

    Exact zeros are the common exception, but lengths below 1e-23 look the same in float32: any
    zero sends the batch to float64, where the two differ.
    """
    return bool(((squares > 1e-30) & (squares < 1e30)).all())


def norms(rows: Array) -> Array:
    """‖x_i‖ of every row in the type of the rows; squares neither overflow nor vanish."""
    if is_tensor(rows):
        largest = rows.abs().amax(dim=1, keepdim=True)
        scaled = rows / largest.masked_fill(largest == 0, 1.0)
        return scaled.norm(dim=1) * largest[:, 0]
    squares = square_norms(rows)
    if rows.dtype == np.float32 and not within_single_range(squares):
        squares = square_norms(rows.astype(np.float64))
    return np.sqrt(squares).astype(rows.dtype)


def normalized(rows: Array) -> Array:
    """Divide every row by its norm, in the type of the rows; zero rows stay zero."""
    found = norms(rows)[:, None]
    if is_tensor(rows):
        return rows / found.masked_fill(found == 0, 1.0)
    return np.divide(rows, found, out=np.zeros_like(rows), where=found > 0)


# Vectors brought to norm 1 in single precision miss it by less, whatever they are stored in.
NORMALIZED_ELSEWHERE = 1e-5


def unit_tolerance(stored: str) -> float:
    """By how much norms of unit vectors that are stored in a type may differ from 1."""
    return max(2 * EPSILON[stored], NORMALIZED_ELSEWHERE)


def zero_rows(rows: Floats) -> NDArray[np.intp]:
    """Return the positions of the rows that hold zeros only.

    Few rows begin with a zero, and only these are looked at as a whole.
    """
    candidates = np.flatnonzero(rows[:, 0] == 0)
    if not len(candidates):
        return candidates
    return candidates[~rows[candidates].any(axis=1)]


def unit_rows(vectors: Vector) -> Vector:
    """Divide every row by its length; a zero row becomes NaN, as it has no direction."""
    # Divided by the largest entry first, so that the squares in the length neither overflow nor
    # vanish, whatever the scale.
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(vectors, largest, out=np.full_like(vectors, np.nan), where=largest > 0)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


class ArrayCloud(Cloud):
    """The rows of a numpy array; nothing is copied until a batch is computed on."""

    def __init__(
        self, array: np.ndarray, name: str = "array", *, fewest: int = 2, labels: Labels = NO_LABELS
    ) -> None:
        rows, width = checked_shape(array.shape, name, fewest)
        super().__init__(name, rows, width, stored_type(array.dtype, name))
        self._array, self._labels = array, labels

    def identity(self) -> Any:
        """Return the digests of numbers and labels with what the cloud says of itself."""
        labels = {"labels": digest_of_labels(self._labels)} if self._labels else {}
        return {**described(self), "sha256": self.sha256(), **labels}

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
        if getattr(tensor, "is_nested", False):  # which has no shape
            raise DataError(f"{name} is nested; pass one row per vector, as torch.cat makes them")
        rows, width = checked_shape(tensor.shape, name, fewest)
        if str(tensor.layout) != "torch.strided" or tensor.is_meta:
            raise DataError(f"{name} is sparse or has no data; pass a dense tensor")
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in EPSILON:
            raise DataError(
                f"{name} holds {dtype}; vectors are float16, bfloat16, float32 or float64 "
                "(torch: tensor.float())"
            )
        super().__init__(name, rows, width, dtype)
        self._tensor = tensor.detach()

    def identity(self) -> Any:
        """Return the digest of the numbers with what the cloud says of itself."""
        return {**described(self), "sha256": self.sha256()}

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


def refuse_one_shot(
    source: Any, what: str = "a cloud is", call: str = "open_cloud(lambda: my_batches())"
) -> None:
    """Say how to pass what can be read only once."""
    if isinstance(source, Iterator):
        raise UsageError(
            f"a {type(source).__name__} can be read only once, and {what} read twice; pass a "
            f"function that makes it: {call}"
        )


# Sampled vectors shorter than this share of the longest are zero: they have no cosine.
SHORTEST = 1e-12


def numbered(values: Iterable[Any]) -> tuple[dict[Any, int], NDArray[np.intp]]:
    """Number distinct values in the order in which they first appear.

    Returns
    -------
    tuple
        The number of every distinct value, and those of all values.
    """
    places: dict[Any, int] = {}
    return places, np.array([places.setdefault(value, len(places)) for value in values], np.intp)
