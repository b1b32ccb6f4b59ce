"""y = (x − μ) V Λ^(−1/2): every principal direction brought to variance 1.

V Λ Vᵀ is the covariance. Su et al. 2021 whiten sentence embeddings, Luo et al. 2021 layers of BERT,
Yokoi et al. 2024 word vectors weighted by frequency; Kessy, Lewin & Strimmer 2018 compare the
rotations that whitening leaves open, of which PCA and ZCA are two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin

from isoscope.corrections.affine import AffineMap, Centring, Invertible
from isoscope.corrections.parameters import Slot, check_most, one_word, whole_number
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.projections import LARGEST_SINGLE_STRETCH
from isoscope.measures.views import whiten

if TYPE_CHECKING:
    from isoscope.corrections.closed_form import Arrays
    from isoscope.corrections.fit import Summary
    from isoscope.corrections.parameters import Slots


class Whiten(ClassNamePrefixFeaturesOutMixin, Centring, Invertible):  # type: ignore[misc]
    """Decorrelate, with variance 1 in every direction that is kept.

    With the covariance V Λ Vᵀ (population, largest eigenvalue first), ``kind="pca"`` gives
    y = (x − μ) V Λ^(−1/2), whose dimensions are the principal components (Su et al. 2021; Luo et
    al. 2021), and ``kind="zca"`` gives y = (x − μ) V Λ^(−1/2) Vᵀ, which stays as close to the
    original dimensions as a whitened cloud can. Word frequencies as ``sample_weight`` give
    Zipfian whitening (Yokoi et al. 2024).

    Directions without variance are dropped: dimensions that never vary, directions beyond the
    number of vectors, or combinations of other dimensions. Their eigenvalue is rounding, and its
    inverse root would blow that up to variance 1. Rounding is an eigenvalue up to
    max((eps · root mean square entry)², 8 λ₁ · d · eps(float64)) with the eps of the stored type,
    float32's for half precision. A dropped component is 0 in the output, so that the number of
    output dimensions depends on the parameters alone. In a direction that is kept the variance is
    1 up to about eps(float64) · λ₁/λ: 1e-6 where variances differ by 10⁹.

    Parameters
    ----------
    n_components : int, optional
        Keep the first so many components; by default all.
    kind : {"pca", "zca"}
        Axes of the result: principal components or the original dimensions.
    renormalize : bool
        Bring corrected vectors to length 1.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features_in_)
        Principal directions as rows, largest variance first.
    explained_variance_ : array of shape (n_components,)
        Their variances.
    dropped_ : array of int
        Which of them are dropped; ``components_[dropped_]`` are the directions.
    mean_ : array of shape (n_features_in_,)
    """

    name = "whiten"
    parts = MomentParts(dimensions=False)
    rules: ClassVar = {
        "n_components": whole_number(1, optional=True),
        "kind": one_word("pca", "zca"),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kind: Literal["pca", "zca"] = "pca",
        renormalize: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.renormalize = renormalize

    @property
    def components_(self) -> np.ndarray:
        """Principal directions, as rows."""
        return self._solved()["components"]

    @property
    def explained_variance_(self) -> np.ndarray:
        """Variances of the principal directions."""
        return self._solved()["variances"]

    @property
    def dropped_(self) -> np.ndarray:
        """Components that hold rounding only."""
        return np.flatnonzero(self._solved()["gains"] == 0)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return whiten0, whiten1, …, or the names of the input where its axes are kept."""
        if self.kind == "zca":
            return OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return super().get_feature_names_out(input_features)

    def _solution_slots(self, width: int) -> Slots:
        count = width if self.n_components is None else int(self.n_components)
        slots = {
            **super()._solution_slots(width),
            "components": Slot((count, width)),
            "gains": Slot((count,)),
            "variances": Slot((count,)),
        }
        if self.kind == "pca":
            return {**slots, "shift": Slot((count,))}
        return {**slots, "product": Slot((width, width))}

    def _solve(self, summary: Summary) -> Arrays:
        mean, system = summary.moments.mean, summary.geometry.centred
        count = len(mean) if self.n_components is None else self.n_components
        check_most(self, count, len(mean))
        # The decomposition is that of the summary, which other corrections of the same read share,
        # and the gains are those with which `measure` describes a whitened cloud.
        view = whiten(summary.geometry, mean)
        # Dropped components keep their place with a gain of 0, because an index built on the output
        # must keep its width when the correction is fitted again on other vectors.
        gains, basis = view.gains[:count], system.vectors[:, :count]
        # The largest gain times the norm of centred vectors: by so much whitening may stretch the
        # rounding of single precision.
        stretch = float(gains.max()) * math.sqrt(float(system.values.sum()))
        solution = {
            "center": mean,
            "shift": np.zeros(count if self.kind == "pca" else len(mean)),
            "double": np.asarray(stretch > LARGEST_SINGLE_STRETCH),
            "components": np.ascontiguousarray(basis.T),
            "gains": gains,
            "variances": system.values[:count],
        }
        if self.kind == "zca":
            # Stored, whereas that of PCA is not: this one is a product of matrices, whose last
            # digits depend on the BLAS library, so that a loaded correction could differ from the
            # saved one.
            solution["product"] = (basis * gains) @ basis.T
        return solution

    def _prepare(self, solution: Arrays) -> None:
        if self.kind == "pca":
            # It follows from two arrays that are stored anyway, and is as large as one of them.
            product = np.ascontiguousarray(solution["components"].T) * solution["gains"]
            solution = {**solution, "product": product}
        super()._prepare(solution)

    def _inverted(self, affine: AffineMap) -> AffineMap:
        solution = self._solved()
        gains, components = solution["gains"], solution["components"]
        # What was dropped cannot be recovered: there the inverse gives the mean.
        inverse = np.divide(1.0, gains, out=np.zeros_like(gains), where=gains > 0)
        product = components * inverse[:, None]
        if self.kind == "zca":
            product = components.T @ product
        return AffineMap(center=affine.shift, shift=affine.center, product=product)
