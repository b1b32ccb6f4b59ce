"""What a fitted correction does to the vectors of a file, to the same bytes whoever does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.threads import deal
from isoscope.corrections.apply import Blocks
from isoscope.corrections.registry import text_of
from isoscope.data.base import rows_per_batch
from isoscope.data.change import Change

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.corrections.base import Correction


PIECES = 8
"""Pieces of a batch, which threads share."""


@dataclass(frozen=True)
class Applying:
    """What ``transform`` does, without its checks, which a file has been through already.

    The digits of a product may depend on how many rows it has, and how many threads share it. So
    the pieces follow from the rows alone, and BLAS has one thread for each.
    """

    correction: Correction
    threads: int
    """How many pieces are corrected at a time, unless the correction has threads of its own."""

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Correct some rows, float32 or float64."""
        correction = self.correction
        out = np.empty((len(rows), correction._output_width), rows.dtype)
        lanes, step = self.threads, rows_per_batch(rows.shape[1]) // PIECES
        if correction.own_threads:
            lanes, step = 1, max(len(rows), 1)
        pieces = [slice(first, first + step) for first in range(0, len(rows), step)]
        lane = Blocks(rows, out, correction._correct, correction.renormalize)
        lanes = max(min(lanes, len(pieces)), 1)
        deal(((k % lanes, piece) for k, piece in enumerate(pieces)), [lane] * lanes)
        return out


def change_of(correction: Correction, threads: int) -> Change:
    """Return what is done to files, and what they say of it; it can be pickled."""
    return Change(
        Applying(correction, threads),
        correction.n_features_in_,
        correction._output_width,
        text_of(correction),
        correction.fingerprint,
    )
