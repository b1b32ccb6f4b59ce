"""What a correction was fitted on, in a few facts that are cheap to keep and to compare."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.base import EPSILON

if TYPE_CHECKING:
    from isoscope.measures.reads.moments import Moments


NORMALIZED_ELSEWHERE = 1e-5
"""Vectors brought to length 1 in single precision miss it by less, whatever they are stored in."""

DECIMALS = 8
"""Digits of sums in a fingerprint; the number of threads changes the ones far behind them."""


ROUNDING = 1e-6
"""By less than this do sums of the same vectors differ, relative to their size."""


@dataclass(frozen=True)
class FittedOn:
    """Facts about the vectors that a correction was fitted on."""

    rows: int
    dtype: str
    """Type in which they were stored."""
    unit_length: bool
    """Whether all of them had length 1, except zero vectors."""
    fingerprint: str
    """The same for the same cloud, on any number of cores and whichever correction is fitted."""


def fitted_on(moments: Moments, stored: str) -> FittedOn:
    """Tell what moments say about the vectors they were summed over."""
    return FittedOn(
        rows=moments.rows,
        dtype=stored,
        unit_length=has_unit_length(moments, stored),
        fingerprint=fingerprint_of(moments),
    )


def has_unit_length(moments: Moments, stored: str) -> bool:
    """Whether lengths are 1 up to rounding: none is above, and their mean is not below."""
    if not moments.unit_weight > 0:
        return False
    tolerance = max(2 * EPSILON[stored], NORMALIZED_ELSEWHERE)
    mean_length = moments.norm_sum / moments.unit_weight
    return moments.norm_max <= 1 + tolerance and mean_length >= 1 - tolerance


def fingerprint_of(moments: Moments) -> str:
    """SHA-256 of the sums that are taken for every correction, rounded."""
    digest = hashlib.sha256()
    sums = (moments.weight, moments.norm_sum, moments.norm_square_sum, moments.norm_max)
    facts = [str(moments.rows), str(moments.zero_rows), *(f"{x:.{DECIMALS}e}" for x in sums)]
    digest.update(" ".join(facts).encode())
    digest.update(moments.norm_counts.astype("<i8").tobytes())
    direction = moments.unit_sum / (moments.unit_weight or 1.0)
    # Adding zero turns −0 into 0: which of them rounding gives says nothing.
    digest.update((np.round(direction, DECIMALS) + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


def same_vectors(one: Moments, other: Moments) -> bool:
    """Whether two sums could be those of the same vectors, in whatever order they were read.

    Unit vectors of data in single precision are summed in single precision within a batch, so
    that other batches give other last digits; a fingerprint would take them for other vectors.
    """
    if (one.rows, one.zero_rows, one.width) != (other.rows, other.zero_rows, other.width):
        return False
    first, second = (
        np.array([each.norm_sum, each.norm_square_sum, each.norm_max]) for each in (one, other)
    )
    here, there = (each.unit_sum / (each.unit_weight or 1.0) for each in (one, other))
    alike = np.allclose(first, second, rtol=ROUNDING, atol=0)
    return alike and np.allclose(here, there, rtol=0, atol=ROUNDING)
