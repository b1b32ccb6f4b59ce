"""What a calibration is: a term of the loss that sees one matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from torch import Tensor


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


def checked_matrix(matrix: Tensor, name: str) -> Tensor:
    """Refuse what has no rows and columns; half precision is computed in single."""
    if matrix.ndim != 2 or not matrix.numel():
        raise DataError(f"{name} calibrates a matrix, not a tensor of shape {tuple(matrix.shape)}")
    if not matrix.is_floating_point():
        raise DataError(f"{name} calibrates numbers, not {matrix.dtype}")
    return matrix.float() if matrix.element_size() < 4 else matrix


def check_weight(weight: float) -> None:
    """Refuse a weight that is no weight."""
    if not (math.isfinite(weight) and weight >= 0):
        raise UsageError(f"a weight is a number from 0, not {weight}")
