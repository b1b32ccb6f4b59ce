"""Rows corrected in blocks over threads; corrected clouds.

What a fitted correction makes of a cloud, batch by batch, without a corrected copy.

Correcting many rows: block by block, spread over cores, in the type they came in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.threads import accumulate, cores
from isoscope.data.arrays import is_tensor
from isoscope.data.base import Cloud, rows_per_batch
from isoscope.measures.kernels.numpy_kernel import square_norms, within_single_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.corrections.base import Correction
    from isoscope.data.base import Array, Batch, CloudGroup
    from isoscope.typing import Floats


class CorrectedCloud(Cloud):
    """The rows of one cloud, each corrected when it is read.

    Half precision comes out in single: rounding corrected vectors to what they were stored in
    would add an error that a pipeline need not make.

    Parameters
    ----------
    group : CloudGroup
        A group of one cloud.
    correction : Correction
        Fitted, on this cloud or another of its width.
    """

    def __init__(self, group: CloudGroup, correction: Correction) -> None:
        self._group, self._correction = group, correction
        self._source = group.names[0]
        super().__init__(self._source, group.rows, correction._output_width, group.dtypes[0])

    def read(self) -> Iterator[Batch]:
        """Yield corrected batches with the labels of their rows."""
        for batches in self._group.batches():
            batch = batches[self._source]
            yield batch._replace(vectors=self._correction.transform(widened(batch.vectors)))


def widened(vectors: Any) -> Any:
    """Return half precision in single, anything else as it is."""
    if is_tensor(vectors):
        return vectors.float() if vectors.element_size() < 4 else vectors
    return vectors.astype(np.float32) if vectors.itemsize < 4 else vectors


WORTH_A_THREAD = 4
"""Blocks from which on several threads pay."""


def corrected_rows(
    vectors: Array,
    correct: Callable[[Array], Array],
    width: int,
    *,
    renormalize: bool,
    threads: bool,
) -> Array:
    """Apply ``correct`` to all rows.

    ``correct`` sees float32 or float64. The result has the type of ``vectors``: half precision
    is rounded once, at the end.
    """
    if is_tensor(vectors):
        wide = vectors.float() if vectors.element_size() < 4 else vectors
        corrected = correct(wide)
        return (unit(corrected) if renormalize else corrected).to(vectors.dtype)
    out = np.empty((len(vectors), width), vectors.dtype)
    step = rows_per_batch(max(width, vectors.shape[1]))
    blocks = [slice(first, first + step) for first in range(0, len(vectors), step)]
    lanes = cores() if threads and len(blocks) >= WORTH_A_THREAD else 1
    accumulate(blocks, [Blocks(vectors, out, correct, renormalize) for _ in range(lanes)])
    return out


@dataclass(frozen=True)
class Blocks:
    """Corrects blocks of rows from one array into another, on one thread.

    A class of the module: one made in a function is a cycle that keeps its arrays alive until
    Python looks for cycles, which it does not do for a few large arrays.
    """

    vectors: Floats
    out: Floats
    correct: Callable[[Array], Array]
    renormalize: bool

    def add(self, block: slice, /) -> None:
        """Correct one block."""
        working = np.float32 if self.vectors.dtype == np.float16 else self.vectors.dtype
        corrected = self.correct(np.ascontiguousarray(self.vectors[block], dtype=working))
        self.out[block] = unit(corrected) if self.renormalize else corrected


def lengths(rows: Array) -> Array:
    """‖x_i‖ of every row in the type of the rows; squares neither overflow nor vanish."""
    if is_tensor(rows):
        largest = rows.abs().amax(dim=1, keepdim=True)
        scaled = rows / largest.masked_fill(largest == 0, 1.0)
        return scaled.norm(dim=1) * largest[:, 0]
    squares = square_norms(rows)
    if rows.dtype == np.float32 and not within_single_range(squares):
        squares = square_norms(rows.astype(np.float64))
    return np.sqrt(squares).astype(rows.dtype)


def unit(rows: Array) -> Array:
    """Divide every row by its length; zero rows stay zero."""
    found = lengths(rows)[:, None]
    if is_tensor(rows):
        return rows / found.masked_fill(found == 0, 1.0)
    return np.divide(rows, found, out=np.zeros_like(rows), where=found > 0)
