"""The arithmetic of one batch, for numpy arrays and for torch tensors.

Only these two files see the vectors; what they return is float64 on the host, and everything
after them is the same for both. They are tested equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from isoscope.data.arrays import is_tensor
from isoscope.measures.kernels import numpy_kernel

if TYPE_CHECKING:
    from isoscope.data.base import Array
    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.moments import MomentParts, Moments
    from isoscope.measures.reads.projections import ProjectionPlan, Projections


class MomentsKernel(Protocol):
    """The first read's arithmetic, with its working memory."""

    def add(self, vectors: Array, weights: Array | None = None, dealt: Dealt | None = None) -> None:
        """Take one batch into account; with its sums for each block where rows are dealt."""

    def result(self) -> Moments | None:
        """Return the moments of all batches so far; None before the first."""

    def restart(self) -> None:
        """Begin anew, with the working memory as it is."""


class Projector(Protocol):
    """The second read's arithmetic for one plan, with its working memory."""

    def __call__(self, vectors: Array, dealt: Dealt | None = None) -> Projections:
        """Project one batch; with sums for each block where rows are dealt."""


def moments_kernel_for(vectors: Array, parts: MomentParts, *, double: bool) -> MomentsKernel:
    """Build the kernel that computes where these vectors are."""
    if is_tensor(vectors):
        from isoscope.measures.kernels import torch_kernel

        return torch_kernel.TorchMoments(parts, double=double)
    return numpy_kernel.NumpyMoments(parts, double=double)


def projector_for(vectors: Array, plan: ProjectionPlan) -> Projector:
    """Build the projector that computes where these vectors are."""
    if is_tensor(vectors):
        from isoscope.measures.kernels import torch_kernel

        return torch_kernel.TorchProjector(plan)
    return numpy_kernel.NumpyProjector(plan)
