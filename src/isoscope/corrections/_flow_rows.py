"""The rows that a flow learns from: all of a small cloud, a random sample of a large one.

Training goes over the rows many times in an order that changes, which no file serves well, and
the files of word vectors are sorted by frequency: consecutive batches would drag the network along.
A sample in memory has neither problem, and its size bounds the time as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from isoscope.compute.map_reduce import with_progress
from isoscope.data.arrays import is_tensor
from isoscope.data.sampling import lowest_indices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from isoscope.compute.stage import Progress
    from isoscope.data.base import Array, Batch, CloudGroup


def sampled_rows(group: CloudGroup, size: int, seed: int, progress: Progress | None) -> Tensor:
    """Read at most ``size`` random rows of a group of one cloud, in the order of the cloud.

    They are the rows with the smallest keys of index and seed, so neither batches nor threads
    matter. A cloud that does not know its number of rows is read once more, to count them.
    """
    rows: int | None = getattr(group, "certain_rows", group.rows)
    if rows is None:
        rows = sum(len(batch.vectors) for batch in only_cloud(group, progress, "count"))
    wanted = lowest_indices(rows, size, seed)
    parts = []
    for batch in only_cloud(group, progress, "read"):
        ends = batch.first_row, batch.first_row + len(batch.vectors)
        chosen = wanted[slice(*np.searchsorted(wanted, ends))] - batch.first_row
        parts.append(wide_tensor(batch.vectors[chosen]))
    return torch.cat(parts) if parts else torch.empty(0, group.widths[0])


def only_cloud(group: CloudGroup, progress: Progress | None, stage: str) -> Iterator[Batch]:
    """Yield the batches of a group of one cloud."""
    for batches in with_progress(group, progress, stage):
        (batch,) = batches.values()
        yield batch


def wide_tensor(vectors: Array) -> Tensor:
    """Return vectors as a tensor where they are, in float32 at least."""
    if is_tensor(vectors):
        tensor: Tensor = vectors
        return tensor.float() if tensor.element_size() < 4 else tensor
    # A copy, as arrays that must not be written to, or run backwards, make no tensor.
    single = vectors.dtype.itemsize <= 4
    return torch.from_numpy(np.array(vectors, dtype=np.float32 if single else np.float64))
