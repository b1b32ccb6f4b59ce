"""y = x − μ

The common offset is what makes unrelated vectors look alike in embedding matrices: taking the mean
off restores isotropy (Biś et al. 2021; Machina & Mercer 2024).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from isoscope.corrections.affine import AffineMap, Centring, Invertible
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from isoscope.corrections.closed_form import Arrays
    from isoscope.corrections.fit import Summary


class Center(OneToOneFeatureMixin, Centring, Invertible):  # type: ignore[misc]
    """Subtract the mean: y = x − μ.

    Takes a common offset away, and with it the part of the mean cosine that comes from one.

    ``renormalize=True`` brings corrected vectors to length 1.

    Attributes
    ----------
    mean_ : array of shape (n_features_in_,)
        μ, weighted where weights were given.

    Examples
    --------
    >>> import numpy as np
    >>> from isoscope.corrections import Center
    >>> Center().fit_transform(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    name = "center"
    parts = MomentParts(scatter=False, dimensions=False)

    def _solve(self, summary: Summary) -> Arrays:
        mean = summary.moments.mean
        return AffineMap(center=mean, shift=np.zeros_like(mean)).to_arrays()

    def _inverted(self, affine: AffineMap) -> AffineMap:
        return AffineMap(center=-affine.center, shift=affine.shift)
