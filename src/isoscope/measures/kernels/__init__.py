"""The arithmetic of one batch, for numpy arrays and for torch tensors.

Only these two files see the vectors; what they return is float64 on the host, and everything
after them is the same for both. They are tested equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from isoscope.data.arrays import is_tensor
from isoscope.measures.kernels import numpy_kernel
from isoscope.measures.kernels.base import MomentsKernel
from isoscope.registry import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.data.base import Array
    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.moments import MomentParts
    from isoscope.measures.reads.projections import ProjectionPlan, Projections

__all__ = ["MomentsKernel", "Projector", "moments_kernel_for", "projector_for"]

# Imported by name when the first tensor comes, as the core does not need torch.
TORCH = "isoscope.measures.kernels.torch_kernel"

# The second read's arithmetic for one plan: projects a batch, with sums for each block of rows.
Projector: TypeAlias = "Callable[[Array, Dealt | None], Projections]"


def moments_kernel_for(vectors: Array, parts: MomentParts, *, double: bool) -> MomentsKernel:
    """Build the kernel that computes where these vectors are."""
    kind = load(f"{TORCH}:TorchMoments") if is_tensor(vectors) else numpy_kernel.NumpyMoments
    kernel: MomentsKernel = kind(parts, double=double)
    return kernel


def projector_for(vectors: Array, plan: ProjectionPlan) -> Projector:
    """Build the projector that computes where these vectors are."""
    kind = load(f"{TORCH}:TorchProjector") if is_tensor(vectors) else numpy_kernel.NumpyProjector
    projector: Projector = kind(plan)
    return projector
