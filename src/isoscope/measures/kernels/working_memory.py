"""Memory that is kept from batch to batch, and the blocks in which batches are worked through.

Matrix products take a whole batch, everything element by element takes blocks of it that stay in
the cache (a third off the time of both reads), and working memory is kept from batch to batch
because fresh memory costs page faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike

    from isoscope.typing import Floats

# Numbers in one block: 170 rows of 768, of which a core's cache of a megabyte holds a block and
# what is computed of it. Much smaller ones leave threads handing Python's lock to each other.
BLOCK_ELEMENTS = 131_072

# Rows that are added up in float32 before float64 takes over: the rounding of a sum grows with its
# length, and float32 has only seven digits to begin with.
LONGEST_SINGLE_SUM = 1_024


class WorkingMemory:
    """Arrays as large as a batch or block, kept from one to the next."""

    def __init__(self) -> None:
        self._kept: dict[str, Floats] = {}

    def like(self, purpose: str, x: Floats, dtype: DTypeLike | None = None) -> Floats:
        """Return memory with the shape of ``x``, and its type unless another is given."""
        kind = np.dtype(dtype or x.dtype)
        kept = self._kept.get(purpose)
        if kept is None or kept.dtype != kind or len(kept) < x.size:
            kept = self._kept[purpose] = np.empty(x.size, kind)
        return kept[: x.size].reshape(x.shape)


def blocks(x: Floats) -> Iterator[slice]:
    """Cut the rows of a batch into blocks."""
    step = min(max(BLOCK_ELEMENTS // x.shape[1], 1), LONGEST_SINGLE_SUM)
    for first in range(0, len(x), step):
        yield slice(first, min(first + step, len(x)))
