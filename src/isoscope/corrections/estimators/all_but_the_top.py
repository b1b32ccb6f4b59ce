"""y = x − μ − Σ_k≤D (v_k · (x − μ)) v_k: centre, then take the top D components away.

Mu & Viswanath 2018 (all-but-the-top), with D = d/100; Biś et al. 2021, eq. 9-11, project the
centred vector where the original algorithm projects the vector itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from isoscope.corrections.affine import AffineMap, Centring
from isoscope.corrections.parameters import Slot, check_most, one_word, whole_number
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.views import all_but_the_top

if TYPE_CHECKING:
    from isoscope.corrections.closed_form import Arrays
    from isoscope.corrections.fit import Summary
    from isoscope.corrections.parameters import Slots


class AllButTheTop(OneToOneFeatureMixin, Centring):  # type: ignore[misc]
    """Centre, then remove the projections on the top D principal components v_k.

    ``project="centered"``: y = x − μ − Σ_k≤D (v_k · (x − μ)) v_k (Biś et al. 2021, eq. 9-11).
    ``project="original"``: y = x − μ − Σ_k≤D (v_k · x) v_k (Mu & Viswanath 2018), which leaves
    the constant −Σ_k≤D (v_k · μ) v_k in every vector.

    Beyond the rank of the cloud components are arbitrary: nothing is removed there.

    Parameters
    ----------
    n_components : int, optional
        D; by default a hundredth of the dimensions, rounded up.
    project : {"centered", "original"}
        Which vector is projected.
    renormalize : bool
        Bring corrected vectors to length 1.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        The directions removed, as rows, largest variance first.
    n_components_ : int
        How many there are.
    mean_ : array of shape (n_features_in_,)
    """

    name = "all-but-the-top"
    parts = MomentParts(dimensions=False)
    rules: ClassVar = {
        "n_components": whole_number(0, optional=True),
        "project": one_word("centered", "original"),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        project: Literal["centered", "original"] = "centered",
        renormalize: bool = False,
    ) -> None:
        self.n_components = n_components
        self.project = project
        self.renormalize = renormalize

    @property
    def components_(self) -> np.ndarray:
        """The directions that are removed."""
        removed = self._affine().removed
        assert removed is not None
        return removed.T

    @property
    def n_components_(self) -> int:
        """Number of directions that are removed."""
        return len(self.components_)

    def _solution_slots(self, width: int) -> Slots:
        return {**super()._solution_slots(width), "removed": Slot((width, "removed"))}

    def _solve(self, summary: Summary) -> Arrays:
        mean, system = summary.moments.mean, summary.geometry.centred
        check_most(self, self.n_components or 0, len(mean))
        view = all_but_the_top(summary.geometry, mean, self.n_components, self.project)
        # An eigenvector without variance is an arbitrary one. These rows have nothing along it, but
        # a new vector may, and would lose it for no reason.
        gone = (view.gains == 0) & (system.values > summary.geometry.null_variance)
        return AffineMap(
            center=mean, shift=system.vectors @ view.offset, removed=system.vectors[:, gone]
        ).to_arrays()
