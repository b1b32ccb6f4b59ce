"""What the second read has to sum, given what the first one found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.measures.corrections import NONE
from isoscope.measures.projections import Exponents, ProjectionPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.measures.corrections import View
    from isoscope.measures.geometry import Geometry
    from isoscope.measures.moments import Moments


Scaling = Literal["plain", "scaled"]

LARGEST_SINGLE_STRETCH = 1e3
"""Whitening stretches the rounding of single-precision coordinates by length / σ. Up to this
much the error of ln Z stays below 1e-4; beyond it the whole read is done in float64."""

SINGLE_LENGTHS = (1e-12, 1e12)
"""Vectors of lengths outside this range are projected in float64 too."""


@dataclass(frozen=True)
class Wanted:
    """What the chosen measures need from the second read."""

    partition: bool
    scaled: bool
    dimensions: bool


@dataclass(frozen=True)
class SecondRead:
    """The plan, and which family of partition sums belongs to which space."""

    plan: ProjectionPlan
    families: dict[tuple[str, Scaling], int]


def inverse_scale(root_mean_square: float) -> float:
    """1/scale, and 1 for a space of zero vectors, which no scale can change."""
    return 1.0 / root_mean_square if root_mean_square > 0 else 1.0


def root_mean_square(moments: Moments) -> float:
    """Root of the mean squared length of the raw vectors."""
    return math.sqrt(moments.norm_square_sum / moments.weight)


def plan_second_read(
    moments: Moments,
    geometry: Geometry,
    views: Sequence[View],
    wanted: Wanted,
    *,
    raw: bool,
    dealt: bool = False,
    double: bool,
) -> SecondRead:
    """Decide which sums to take; views whose gains are 0 or 1 share those of the centred cloud.

    Rows that are ``dealt`` are projected for the variances by block, views or not.
    """
    exponents: list[Exponents] = []
    families: dict[tuple[str, Scaling], int] = {}

    def add(correction: str, scaling: Scaling, family: Exponents) -> None:
        for row, known in enumerate(exponents):
            if known.source == family.source and np.array_equal(known.gains, family.gains):
                families[correction, scaling] = row
                return
        families[correction, scaling] = len(exponents)
        exponents.append(family)

    ones = np.ones(moments.width)
    if raw and wanted.partition:
        add(NONE, "plain", Exponents("raw", ones))
    if raw and wanted.scaled:
        scale = inverse_scale(root_mean_square(moments))
        add(NONE, "scaled", Exponents("raw", ones * scale))
    for view in views:
        gains = ones if np.isin(view.shape.gains, (0.0, 1.0)).all() else view.shape.gains
        if wanted.partition:
            add(view.correction, "plain", Exponents("centred", gains))
        if wanted.scaled:
            scale = inverse_scale(view.root_mean_square)
            add(view.correction, "scaled", Exponents("centred", gains * scale))
    raw_wanted = any(correction == NONE for correction, _ in families)
    plan = ProjectionPlan(
        mean=moments.mean,
        raw_basis=geometry.raw.vectors if raw_wanted else None,
        basis=geometry.centred.vectors if views or dealt else None,
        exponents=tuple(exponents),
        views=tuple(view.shape for view in views),
        dimensions=wanted.dimensions,
        double=double or not single_suffices(moments, views, geometry),
    )
    return SecondRead(plan, families)


def single_suffices(moments: Moments, views: Sequence[View], geometry: Geometry) -> bool:
    """Whether float32 holds the squares of all coordinates, and whitening keeps their digits."""
    shortest, longest = SINGLE_LENGTHS
    fits = moments.norm_max < longest and root_mean_square(moments) > shortest
    return fits and largest_stretch(views, geometry) <= LARGEST_SINGLE_STRETCH


def largest_stretch(views: Sequence[View], geometry: Geometry) -> float:
    """How much longer a view makes a vector along one direction, in centred vector lengths."""
    length = math.sqrt(float(geometry.centred.values.sum()))
    gains = [float(view.shape.gains.max()) for view in views if view.shape.on_components]
    return max(gains, default=0.0) * length
