"""y_j = 0 for outlier dimensions j, y_j = x_j for all others (Luo et al. 2021).

A dimension k is an outlier by its share of the mean cosine, Σ_{i≠j} u_ik u_jk / (n² − n) with
u = x / ‖x‖, or by its share of the squared norm of unit vectors, Σ_i u_ik² / n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from isoscope.corrections.affine import AffineCorrection, AffineMap
from isoscope.corrections.parameters import Rule, Slot, one_word
from isoscope.errors import UsageError
from isoscope.measures.families.dimensions import split_cosine
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from isoscope.corrections.closed_form import Arrays
    from isoscope.corrections.fit import Summary
    from isoscope.corrections.parameters import Slots
    from isoscope.measures.reads.moments import Moments


# Below this mean cosine unrelated vectors do not look related, and nothing is clipped.
NEGLIGIBLE_COSINE = 0.05

# Of an offset in a random direction, one dimension in 16,000 carries this many even shares: its
# entries are normal numbers, of which so few lie beyond four standard deviations, and 4² = 16.
EVEN_SHARES = 16.0

# In fewer than 18 dimensions 16 even shares are nearly all there is, or more than that; then a
# dimension stands out if it carries this much.
ALMOST_ALL = 0.9


class Clip(OneToOneFeatureMixin, AffineCorrection):  # type: ignore[misc]
    """Set outlier dimensions to zero (Luo et al. 2021), and leave all others as they are.

    Luo et al. choose the dimensions by eye. The rule here: dimension k adds
    Σ_{i≠j} u_ik u_jk / (n² − n) to the mean cosine of the vectors (u_i = x_i / ‖x_i‖), and is
    clipped when its share of the mean cosine is above ``threshold`` and at least 16 even shares,
    16/d (0.9 where that is more). With a mean cosine below 0.05 nothing is clipped: there is no
    common direction to take away. A dimension that varies widely around 0 adds nothing to the mean
    cosine, but its noise is in every single one: ``by="length"`` takes a dimension's share of the
    squared length, Σ_i u_ik² / n, instead.

    Parameters
    ----------
    dimensions : "auto" or sequence of int
        Which dimensions; ``"auto"`` finds them by the rule.
    threshold : float
        Share, between 0 and 1, above which a dimension is an outlier.
    by : {"cosine", "length"}
        Share of the mean cosine, or of the squared length of unit vectors.
    renormalize : bool
        Bring corrected vectors to length 1.

    Attributes
    ----------
    dimensions_ : array of int
        The dimensions set to zero.
    """

    name = "clip"
    rules: ClassVar = {
        "dimensions": Rule(
            "auto or a list of whole numbers of at least 0",
            lambda given: is_automatic(given) or are_whole_numbers(given),
        ),
        "threshold": Rule("from 0 to 1", lambda share: 0 <= share <= 1),
        "by": one_word("cosine", "length"),
    }

    def __init__(
        self,
        dimensions: Literal["auto"] | Sequence[int] = "auto",
        *,
        threshold: float = 0.05,
        by: Literal["cosine", "length"] = "cosine",
        renormalize: bool = False,
    ) -> None:
        self.dimensions = dimensions
        self.threshold = threshold
        self.by = by
        self.renormalize = renormalize

    @property
    def dimensions_(self) -> np.ndarray:
        """The dimensions that are set to zero."""
        return np.flatnonzero(self._solved()["scale"] == 0)

    def _parts(self) -> MomentParts:
        return MomentParts(scatter=False, dimensions=is_automatic(self.dimensions), mean=False)

    def _solution_slots(self, width: int) -> Slots:
        return {**super()._solution_slots(width), "scale": Slot((width,))}

    def _solve(self, summary: Summary) -> Arrays:
        width = summary.moments.width
        if is_automatic(self.dimensions):
            chosen = outliers(SHARES[self.by](summary.moments), self.threshold)
        else:
            chosen = np.asarray(self.dimensions, dtype=np.float64).reshape(-1).astype(np.int64)
            if (chosen >= width).any():
                raise UsageError(
                    f"{self.name}: there is no dimension {int(chosen.max())}; the vectors have "
                    f"{width}, counted from 0"
                )
        scale = np.ones(width)
        scale[chosen] = 0.0
        zero = np.zeros(width)
        return AffineMap(center=zero, shift=zero, scale=scale).to_arrays()


def is_automatic(dimensions: Any) -> bool:
    """Whether the dimensions are to be found by the rule."""
    return isinstance(dimensions, str) and dimensions == "auto"


def are_whole_numbers(dimensions: Any) -> bool:
    """Whether dimensions are named by whole numbers from 0 on, in whatever type."""
    try:
        named = np.asarray(dimensions, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    # From 2⁵³ on every double is whole, and stands for several numbers.
    return bool(((named >= 0) & (named < 2**53) & (named == np.floor(named))).all())


def cosine_shares(moments: Moments) -> np.ndarray:
    """Return each dimension's share of the mean cosine; nothing where that is negligible."""
    if moments.unit_square_sum is None or moments.rows - moments.zero_rows < 2:
        return np.empty(0)
    parts = split_cosine(
        moments.unit_sum,
        moments.unit_square_sum,
        moments.unit_weight,
        moments.unit_weight_squares,
    )
    mean_cosine = float(parts.sum())
    return parts / mean_cosine if mean_cosine >= NEGLIGIBLE_COSINE else np.empty(0)


def length_shares(moments: Moments) -> np.ndarray:
    """Return each dimension's share of the squared length of unit vectors."""
    if moments.unit_square_sum is None or moments.rows == moments.zero_rows:
        return np.empty(0)
    return np.asarray(moments.unit_square_sum / moments.unit_square_sum.sum())


SHARES: dict[str, Callable[[Moments], np.ndarray]] = {
    "cosine": cosine_shares,
    "length": length_shares,
}


def outliers(shares: np.ndarray, threshold: float) -> np.ndarray:
    """Find the dimensions that carry much; see ``Clip`` for the rule."""
    if not len(shares):
        return np.empty(0, np.int64)
    least = min(EVEN_SHARES / len(shares), ALMOST_ALL)
    return np.flatnonzero((shares > threshold) & (shares >= least))
