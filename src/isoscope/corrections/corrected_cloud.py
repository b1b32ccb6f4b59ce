"""What a fitted correction makes of a cloud, batch by batch, without a corrected copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import is_tensor
from isoscope.data.base import Cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.corrections.base import Correction
    from isoscope.data.base import Batch, CloudGroup


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
