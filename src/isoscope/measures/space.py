"""One cloud as a measure sees it: the raw one, or what a correction would make of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isoscope.typing import Ids, Vector


Part = TypeVar("Part")


def known(part: Part | None, what: str) -> Part:
    """Return a part of a space that a measure has asked for by its ``needs``."""
    if part is None:
        raise ValueError(f"the measure needs {what}")
    return part


@dataclass(frozen=True)
class BasisRange:
    """ln I1 over random bases of the directions that repeated eigenvalues leave open."""

    here: float
    """ln I1 of the same rows on the axes that were taken."""
    low: float
    high: float
    bases: int
    sample_rows: int
    open_directions: int


@dataclass(frozen=True)
class Partition:
    """ln Z(c) and ln Z(−c) for each eigenvector c of the space's second moment."""

    log_plus: Vector
    log_minus: Vector
    axes: str
    """Where the directions come from, for a note when eigenvalues repeat."""
    basis_range: BasisRange | None = None
    arbitrary_cut: bool = False
    """Whether the components that were removed are a choice among equals."""


@dataclass(frozen=True)
class Lengths:
    """Lengths of the vectors; zero vectors have length 0 and stand in no bin."""

    mean: float
    root_mean_square: float
    largest: float
    counts: Ids


@dataclass(frozen=True)
class UnitVectors:
    """Sums over the vectors that are not zero, each divided by its length."""

    rows: int
    weight: float
    weight_squares: float
    sum_square: float
    """‖Σ w u‖²"""


@dataclass(frozen=True)
class Dimensions:
    """Each dimension of the vectors: original ones, or components after whitening."""

    kind: str
    """``dimension`` or ``component``"""
    mean: Vector
    variance: Vector
    unit_sum: Vector
    unit_square_sum: Vector
    minimum_counts: Ids
    maximum_counts: Ids


@dataclass(frozen=True)
class Spectrum:
    """How variance is spread over directions."""

    variances: Vector
    """Eigenvalues of the covariance in falling order."""
    second_moments: Vector | None
    """Eigenvalues of XᵀX/n in falling order, with the mean still in it; where it was asked for."""
    null: float
    """An eigenvalue up to this is rounding."""

    @property
    def total(self) -> float:
        """Σ λ, or 0 when the cloud is constant up to rounding."""
        return float(self.variances.sum()) if self.variances[0] > self.null else 0.0


@dataclass(frozen=True)
class SpaceSample:
    """Rows of the space drawn at random, where a measure asks for them."""

    vectors: NDArray[np.float64]
    """Sampled vectors, up to a rotation."""
    order: NDArray[np.int64]
    """Their positions in random order: the first few are a smaller sample."""
    groups: NDArray[np.int64]
    """The document of each, or a number of its own."""
    everything: bool
    """Whether these are all rows of the cloud."""
    stored: NDArray[np.float64]
    """The same rows of the cloud as it is stored, which says which of them are equal."""
    rounding: float
    """How far a stored vector is from the real one: eps times the root mean square length."""

    @cached_property
    def shared(self) -> dict[str, Any]:
        """What one measure has worked out of the sample, and others need as well."""
        return {}

    def take(self, size: int) -> SpaceSample:
        """Return a smaller sample, or this one where it is not larger."""
        if size >= len(self.vectors):
            return self
        kept = np.sort(self.order[:size])
        order = np.searchsorted(kept, self.order[:size])
        return SpaceSample(
            self.vectors[kept], order, self.groups[kept], everything=False,
            stored=self.stored[kept], rounding=self.rounding,
        )  # fmt: skip


@dataclass(frozen=True)
class Space:
    """What is known about one space after the reads; parts that no measure asked for are None."""

    correction: str
    rows: int
    width: int
    zero_rows: int
    lengths: Lengths
    units: UnitVectors
    norm_of_mean: float
    mean_alignment: float | None
    """|cos| of the mean with the top eigenspace of the second moment; None for a zero mean."""
    dead_variance: float
    spectrum: Spectrum | None
    dimensions: Dimensions | None
    partition: Partition | None
    sample: SpaceSample | None
    scaled_partition: Partition | None
    """The same after dividing all vectors by their root mean square length."""
    local_log_i1: Callable[[int, int], tuple[list[float | None], int]] | None = None
    """ln I1 after centring each of k clusters, for k and a number of seeds, with the number of rows
    that the clusters were found on; where a measure asks for it."""
