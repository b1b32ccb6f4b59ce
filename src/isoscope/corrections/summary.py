"""What was summed over a cloud, and what of it is rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from isoscope.data.base import EPSILON
from isoscope.measures.reads.geometry import centred_geometry_of

if TYPE_CHECKING:
    from isoscope.measures.reads.geometry import CentredGeometry
    from isoscope.measures.reads.moments import Moments


Precision = Literal["double", "single"]

SINGLE_ROUNDINGS = 8
"""Products in single precision are off by about one eps(float32) of the largest variance; up to
this many of them an eigenvalue is rounding."""


@dataclass(frozen=True)
class Summary:
    """What was summed over a cloud, decomposed once for all corrections that share it."""

    moments: Moments
    stored: str
    """Type in which the vectors are stored, which decides what counts as rounding."""
    precision: Precision = "double"
    """Precision of the products that were summed."""

    @cached_property
    def geometry(self) -> CentredGeometry:
        """Eigen-system and rounding floors, as the measures take them."""
        geometry = centred_geometry_of(self.moments, self.stored)
        if self.precision == "double":
            return geometry
        floor = single_floor(float(geometry.centred.values[0]))
        return replace(geometry, null_variance=max(geometry.null_variance, floor))

    def merge(self, other: Summary) -> Summary:
        """Combine two; the less precise one decides what is rounding."""
        return Summary(
            self.moments.merge(other.moments),
            max(self.stored, other.stored, key=EPSILON.__getitem__),
            "single" if "single" in (self.precision, other.precision) else "double",
        )


def single_floor(largest: float) -> float:
    """Eigenvalue up to which a direction is rounding of single-precision products."""
    return SINGLE_ROUNDINGS * EPSILON["float32"] * largest
