"""Correcting many rows: block by block, spread over cores, in the type they came in.

``corrected_rows`` corrects what is in memory, ``CorrectedCloud`` a cloud batch by batch without a
corrected copy of it, and ``Applying`` the rows of a file, to the same bytes whoever does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from isoscope.compute.threads import cores, deal, one_blas_thread
from isoscope.corrections.registry import text_of
from isoscope.data.arrays import at_least_single, is_tensor, normalized, zero_rows
from isoscope.data.base import Cloud, is_portable, rows_per_batch
from isoscope.data.rewrite import Change
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from isoscope.corrections.base import Correction
    from isoscope.data.base import Array, Batch, CloudGroup
    from isoscope.typing import Floats


Parts = TypeVar("Parts", bound=tuple[Any, ...])


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
        self.portable = is_portable(group)

    def read(self) -> Iterator[Batch]:
        """Yield corrected batches with the labels of their rows."""
        for batches in self._group.batches():
            batch = batches[self._source]
            vectors = self._correction.transform(at_least_single(batch.vectors))
            yield batch._replace(vectors=vectors, squares=None)


class Placed(Generic[Parts]):
    """Something that is applied to rows, with its parts in the type and on the device of these.

    The parts are prepared once for each place, so that not every batch pays for copying them.
    Files and other processes get the object without them.
    """

    @cached_property
    def _placed(self) -> dict[str, Parts]:
        return {}

    def _parts_for(self, rows: Array) -> Parts:
        """Prepare the parts for rows like these."""
        raise NotImplementedError

    def parts_like(self, rows: Array) -> Parts:
        """Return the parts as ``rows`` needs them, kept for next time."""
        # One look at the property: two threads that come first may each make a dictionary.
        placed = self._placed
        place = f"{rows.dtype} {rows.device}" if is_tensor(rows) else rows.dtype.str
        if place not in placed:
            placed[place] = self._parts_for(rows)
        return placed[place]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_placed"}


def with_zeros_kept(rows: Array, corrected: Array) -> Array:
    """Set corrected rows to zero where the rows before the correction were zero.

    A zero vector stands for "no vector": a text without tokens, an image that failed. An affine
    map would turn all of them into the same −μ W, a vector like any other, which searches find.
    """
    if is_tensor(rows):
        zero = (rows == 0).all(dim=1)
        return corrected.masked_fill(zero[:, None], 0.0) if bool(zero.any()) else corrected
    if len(rows) == 1 and rows[0, 0] != 0:  # a query, which does not wait for more than that
        return corrected
    zero = zero_rows(rows)
    if len(zero):
        corrected[zero] = 0.0
    return corrected


def normalizes(correction: Correction, keep_norms: bool) -> bool:
    """Whether vectors are brought to norm 1 when a correction is applied to files or exported.

    They are where the correction says so (``renormalize``), and where the vectors that it was
    fitted on had norm 1: whoever stores unit vectors compares them by inner products, which equal
    cosines only as long as the norms stay 1. ``transform`` follows ``renormalize`` alone.

    Parameters
    ----------
    correction : Correction
        Fitted.
    keep_norms : bool
        Leave the norms as the correction makes them.
    """
    if not correction.renormalize:
        return correction.fitted_on_.unit_length and not keep_norms
    if keep_norms:
        raise UsageError(
            f"{correction.name} was fitted with renormalize=true, which brings vectors to norm 1; "
            "leave --keep-norms (keep_norms=True) out, or fit it without renormalize"
        )
    return True


# Blocks of a batch. Threads share them, and a block stays in the cache.
BLOCKS_PER_BATCH = 8


def corrected_rows(
    vectors: Array,
    correct: Callable[[Array], Array],
    width: int,
    *,
    renormalize: bool,
    own_threads: bool = False,
    threads: int | None = None,
) -> Array:
    """Apply ``correct`` to all rows, block by block.

    ``correct`` sees float32 or float64. The result has the type of ``vectors``: half precision
    is rounded once, at the end. The digits of a product may depend on how many rows it has, and on
    how many threads share it. So the blocks follow from the rows alone, BLAS has one thread for
    each, and rows in memory come out as those of a file do.

    Parameters
    ----------
    vectors : array or tensor
        The rows.
    correct : callable
        Corrects a block.
    width : int
        Dimensions of a corrected row.
    renormalize : bool
        Whether corrected rows are divided by their norms.
    own_threads : bool
        Whether ``correct`` uses several threads itself, and takes whole batches.
    threads : int, optional
        How many blocks are corrected at a time; by default one per core.
    """
    if is_tensor(vectors):
        corrected = correct(at_least_single(vectors))
        return (normalized(corrected) if renormalize else corrected).to(vectors.dtype)
    if len(vectors) == 1 and vectors.itemsize > 2 and not own_threads:
        with one_blas_thread():
            corrected = correct(np.ascontiguousarray(vectors))
        found = normalized(corrected) if renormalize else corrected
        return found.astype(vectors.dtype, copy=False)
    out = np.empty((len(vectors), width), vectors.dtype)
    step = rows_per_batch(vectors.shape[1]) // (1 if own_threads else BLOCKS_PER_BATCH)
    blocks = [slice(first, first + step) for first in range(0, len(vectors), step)]
    # A batch is worth starting threads for, less is not.
    several = not own_threads and len(blocks) >= BLOCKS_PER_BATCH
    lanes = min(threads or cores(), len(blocks)) if several else 1
    # One object for all threads: it has no state of its own, and blocks do not overlap.
    lane = Blocks(vectors, out, correct, renormalize)
    deal(((k % lanes, block) for k, block in enumerate(blocks)), [lane] * lanes)
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
        self.out[block] = normalized(corrected) if self.renormalize else corrected


@dataclass(frozen=True)
class Applying:
    """What ``transform`` does, without its checks, which a file has been through already.

    Whether vectors are brought to norm 1 is not left to the correction: see ``normalizes``.
    """

    correction: Correction
    threads: int
    """How many blocks are corrected at a time, unless the correction has threads of its own."""
    renormalize: bool
    """Whether corrected vectors are brought to norm 1."""

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Correct some rows, float32 or float64."""
        correction = self.correction
        corrected: NDArray[Any] = corrected_rows(
            rows, correction._corrected, correction._output_width,
            renormalize=self.renormalize, own_threads=correction.own_threads,
            threads=self.threads,
        )  # fmt: skip
        return corrected


def change_of(correction: Correction, threads: int, *, keep_norms: bool = False) -> Change:
    """Return what is done to files, and what they say of it; it can be pickled."""
    renormalize = normalizes(correction, keep_norms)
    return Change(
        Applying(correction, threads, renormalize),
        correction.n_features_in_,
        correction._output_width,
        text_of(correction),
        correction.fingerprint,
        normalized=renormalize and not correction.renormalize,
    )
