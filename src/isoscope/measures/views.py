"""Corrections that are views: measured from the two reads, without a corrected copy.

With the covariance V Λ Vᵀ a view is y = V (g ∘ Vᵀ(x − μ) + o). Centring has g = 1; removing the top
components g = 0 for those (Mu & Viswanath 2018; Biś et al. 2021, eq. 9-11); whitening g = λ^(−1/2)
(Su et al. 2021), given out on the components themselves.

A correction is written ``name`` or ``name:option=value:option=value``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import UsageError
from isoscope.spec import split_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.measures.reads.geometry import CentredGeometry, Geometry
    from isoscope.typing import Vector


@dataclass(frozen=True)
class ViewShape:
    """What the kernel needs to know of a view: gains, constant part, and its output axes."""

    gains: Vector
    offset: Vector
    """The constant o in eigenbasis coordinates; zero wherever a gain is not."""
    on_components: bool
    """Whether the corrected vectors' dimensions are the components (whitening) or the original."""

    def constant_length(self) -> float:
        """‖o‖, the length that the constant part alone gives to every vector."""
        return float(np.linalg.norm(self.offset))


NONE = "none"
DEFAULT_CORRECTIONS = (NONE, "center", "all-but-the-top", "whiten")


@dataclass(frozen=True)
class View:
    """What a correction would make of a cloud."""

    correction: str
    shape: ViewShape
    variances: Vector
    """Covariance eigenvalues of the corrected cloud, per direction of the covariance basis."""

    @property
    def root_mean_square(self) -> float:
        """Root of the mean squared length of the corrected vectors."""
        return math.sqrt(float(self.variances.sum()) + self.shape.constant_length() ** 2)


@dataclass(frozen=True)
class CorrectionName:
    """A correction as the user wrote it, taken apart."""

    text: str
    name: str
    options: Mapping[str, str]


def parse_correction(text: str) -> CorrectionName:
    """Take ``name:option=value`` apart and check the options; the name is known to be a view."""
    name, *pairs = text.strip().split(":")
    options = split_options(name, pairs, OPTIONS.get(name, ()), f"correction {text!r}")
    correction = CorrectionName(text.strip(), name, options)
    check_options(correction)
    return correction


def build_view(correction: CorrectionName, geometry: Geometry, mean: Vector) -> View:
    """Work out the gains of a correction on the covariance's eigenbasis."""
    options: dict[str, Any] = dict(correction.options)
    if "n_components" in options:
        options["n_components"] = int(options["n_components"])
    shape = BUILDERS[correction.name](geometry, mean, **options)
    values = geometry.centred.values
    # Whatever gain a view has there, a direction that holds rounding only has no variance.
    present = values > geometry.null_variance
    return View(correction.text, shape, np.where(present, values * shape.gains**2, 0.0))


def center(geometry: CentredGeometry, mean: Vector) -> ViewShape:
    """x − μ"""
    del geometry
    return ViewShape(np.ones(len(mean)), np.zeros(len(mean)), on_components=False)


def all_but_the_top(
    geometry: CentredGeometry,
    mean: Vector,
    n_components: int | None = None,
    project: str = "centered",
) -> ViewShape:
    """Centre, then take away the projections on the top D = ⌈d/100⌉ components.

    ``project=centered`` removes the projections of the centred vector (Biś et al. 2021, eq.
    9-11); ``project=original`` those of the vector itself (Mu & Viswanath 2018), which leaves the
    constant −Σ_k≤D (v_k·μ) v_k in every vector.
    """
    width = len(mean)
    count = math.ceil(width / 100) if n_components is None else n_components
    gains, offset = np.ones(width), np.zeros(width)
    # A gain of zero instead of a shorter vector: the corrected cloud keeps its d directions, of
    # which the removed ones have Z = n, as Biś et al. count them.
    gains[:count] = 0.0
    if project == "original" and np.linalg.norm(mean) > geometry.null_length:
        # Beyond the rank of the cloud the components are arbitrary, and nothing is removed there.
        present = geometry.centred.values[:count] > geometry.null_variance
        (along,) = geometry.centred.coordinates(mean[None, :])
        offset[:count] = np.where(present, -along[:count], 0.0)
    return ViewShape(gains, offset, on_components=False)


def whiten(geometry: CentredGeometry, mean: Vector) -> ViewShape:
    """(x − μ) V Λ^(−1/2), without the directions that hold rounding only."""
    values = geometry.centred.values
    kept = values > geometry.null_variance
    # The estimator takes its gains from this function too, so that what is measured is what is
    # applied.
    gains = np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=kept)
    return ViewShape(gains, np.zeros(len(mean)), on_components=True)


def check_options(correction: CorrectionName, width: int | None = None) -> None:
    """Refuse option values that make no sense, or that a cloud of this width does not allow."""
    count = correction.options.get("n_components", "0")
    if not count.isdecimal() or (width is not None and int(count) > width):
        most = "" if width is None else f" from 0 to {width}"
        raise UsageError(f"correction {correction.text!r}: n_components is a whole number{most}")
    if correction.options.get("project", "centered") not in ("centered", "original"):
        raise UsageError(f"correction {correction.text!r}: project is centered or original")


BUILDERS: dict[str, Callable[..., ViewShape]] = {
    "center": center,
    "all-but-the-top": all_but_the_top,
    "whiten": whiten,
}
OPTIONS: dict[str, tuple[str, ...]] = {"all-but-the-top": ("n_components", "project")}


def is_view(text: str) -> bool:
    """Whether two reads of the cloud as it is are enough to measure what it becomes."""
    name, *pairs = text.split(":")
    known = OPTIONS.get(name, ())
    return (name == NONE or name in BUILDERS) and all(
        pair.partition("=")[0] in known for pair in pairs
    )


def check_width(correction: CorrectionName, width: int) -> None:
    """Refuse what a cloud of this width does not allow; others say so when they are fitted."""
    if is_view(correction.text):
        check_options(correction, width)
