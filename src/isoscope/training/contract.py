"""What a calibration is: a term of the loss that sees one matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from torch import Tensor
    from torch.nn import Parameter


class Calibration(Protocol):
    """A term that is added to the loss of a task.

    The matrix is a task's head (labels × d), the output matrix of a vocabulary (words × d), or
    hidden states (tokens × d).
    """

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def weight(self) -> float:
        """Of the term."""

    def __call__(self, matrix: Tensor) -> Tensor:
        """Return the term, weight included, differentiable in the matrix."""


@runtime_checkable
class Attachable(Calibration, Protocol):
    """A calibration that learns, and is a part of the model for that."""

    @property
    def learning_rate(self) -> float:
        """Of its own parameters."""

    @property
    def maps(self) -> bool:
        """Whether it changes what a layer reads; its term is then that of the forward pass."""

    def attach(self, model: Any, target: Any) -> None:
        """Become a part of a model."""

    def parameters(self) -> list[Parameter]:
        """Return what it learns."""

    def kept_term(self) -> Tensor | None:
        """Return the term of the last forward pass, once."""


def checked_matrix(matrix: Tensor, name: str) -> Tensor:
    """Refuse what has no rows and columns; half precision is computed in single."""
    if matrix.ndim != 2 or not matrix.numel():
        raise DataError(f"{name} calibrates a matrix, not a tensor of shape {tuple(matrix.shape)}")
    if not matrix.is_floating_point():
        raise DataError(f"{name} calibrates numbers, not {matrix.dtype}")
    return matrix.float() if matrix.element_size() < 4 else matrix


def full_precision(matrix: Tensor) -> AbstractContextManager[None]:
    """Return a block in which autocast makes no product one of half precision."""
    import torch

    block: AbstractContextManager[None] = torch.autocast(matrix.device.type, enabled=False)
    return block


def check_weight(weight: float) -> None:
    """Refuse a weight that is no weight."""
    if not (math.isfinite(weight) and weight >= 0):
        raise UsageError(f"a weight is a number from 0, not {weight}")
