"""The arithmetic of one batch, for numpy arrays and for torch tensors.

Only these two files see the vectors; what they return is float64 on the host, and everything
after them is the same for both. They are tested equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from isoscope.clouds.arrays import is_tensor
from isoscope.measures.kernels import numpy_kernel

if TYPE_CHECKING:
    from isoscope.clouds.contract import Array
    from isoscope.measures.moments import MomentParts, Moments
    from isoscope.measures.projections import ProjectionPlan, Projections


class Projector(Protocol):
    """The second read's arithmetic for one plan, with its working memory."""

    def __call__(self, vectors: Array) -> Projections:
        """Project one batch."""


def batch_moments(
    vectors: Array, parts: MomentParts, *, double: bool = False, weights: Array | None = None
) -> Moments:
    """Take the moments of one batch, where its vectors are."""
    if is_tensor(vectors):
        from isoscope.measures.kernels import torch_kernel

        return torch_kernel.batch_moments(vectors, parts, double=double, weights=weights)
    return numpy_kernel.batch_moments(vectors, parts, double=double, weights=weights)


def projector_for(vectors: Array, plan: ProjectionPlan) -> Projector:
    """Build the projector that computes where these vectors are."""
    if is_tensor(vectors):
        from isoscope.measures.kernels import torch_kernel

        return torch_kernel.TorchProjector(plan, vectors.device)
    return numpy_kernel.NumpyProjector(plan)
