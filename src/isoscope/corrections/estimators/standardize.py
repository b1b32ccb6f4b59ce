"""y_j = (x_j − μ_j) / σ_j: every dimension to mean 0 and variance 1.

Timkey & van Schijndel 2021 standardize embeddings so that a few rogue dimensions no longer decide
every cosine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from isoscope.corrections.affine import AffineMap, Centring, Invertible
from isoscope.corrections.parameters import Slot
from isoscope.measures.reads.geometry import dead_variance
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from isoscope.corrections.closed_form import Arrays
    from isoscope.corrections.fit import Summary
    from isoscope.corrections.parameters import Slots


class Standardize(OneToOneFeatureMixin, Centring, Invertible):  # type: ignore[misc]
    """Bring every dimension to mean 0 and variance 1: y_j = (x_j − μ_j) / σ_j.

    σ² is the population variance, weighted where weights were given. Dead dimensions, whose
    variance is at most (eps · root mean square entry)² with the eps of the stored type (float32's
    for half precision), would be nothing but stretched rounding: they become 0.

    With ``renormalize=True`` corrected vectors are brought to length 1.

    Attributes
    ----------
    mean_, scale_ : arrays of shape (n_features_in_,)
        μ and σ; the σ of dead dimensions is 0.
    dropped_ : array of int
        The dead dimensions.
    """

    name = "standardize"
    parts = MomentParts(dimensions=False)

    @property
    def scale_(self) -> np.ndarray:
        """What dimensions are divided by; 0 for dead ones."""
        return self._solved()["deviations"]

    @property
    def dropped_(self) -> np.ndarray:
        """Dimensions that hold rounding only."""
        return np.flatnonzero(self.scale_ == 0)

    def _solution_slots(self, width: int) -> Slots:
        return {
            **super()._solution_slots(width),
            "scale": Slot((width,)),
            "deviations": Slot((width,)),
        }

    def _solve(self, summary: Summary) -> Arrays:
        moments = summary.moments
        variances = np.diag(moments.covariance)
        # The limit for single dimensions: no decomposition was made that could have added rounding
        # of its own.
        alive = variances > dead_variance(moments, summary.stored)
        deviations = np.sqrt(np.where(alive, variances, 0.0))
        scale = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=alive)
        zero = np.zeros_like(scale)
        parts = AffineMap(center=moments.mean, shift=zero, scale=scale).to_arrays()
        return {**parts, "deviations": deviations}

    def _inverted(self, affine: AffineMap) -> AffineMap:
        return AffineMap(center=affine.shift, shift=affine.center, scale=self.scale_)
