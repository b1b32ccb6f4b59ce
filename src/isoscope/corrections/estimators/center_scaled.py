"""y = x − ‖x‖ m̂, where m̂ is the mean of x / ‖x‖ (Biś et al. 2021, section 5.2).

With r = ‖x‖ the inverse solves ‖y + r m̂‖ = r, a quadratic equation in r: since ‖m̂‖ < 1 unless all
vectors point the same way, exactly one of its roots is positive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.parameters import Slot
from isoscope.data.arrays import like, norms
from isoscope.errors import UsageError
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from isoscope.corrections.closed_form import Arrays
    from isoscope.corrections.fit import Summary
    from isoscope.corrections.parameters import Slots
    from isoscope.data.base import Array


# With 1 − ‖m̂‖² up to this all vectors point the same way, and nothing is left to turn back.
SAME_DIRECTION = 1e-12


class ScaledCenter(OneToOneFeatureMixin, ClosedForm):  # type: ignore[misc]
    """Subtract the mean direction, scaled to the norm ‖x‖: y = x − ‖x‖ m̂ (Biś et al. 2021, 5.2).

    m̂ is the mean of x / ‖x‖ over the vectors that are not zero. Long and short vectors lose the
    same share of themselves, where plain centring takes most of a short one.

    With ``renormalize=True`` corrected vectors are brought to length 1; there is no inverse then.

    Attributes
    ----------
    mean_direction_ : array of shape (n_features_in_,)
        m̂; zero where all vectors are.
    """

    name = "center-scaled"
    parts = MomentParts(scatter=False, dimensions=False, mean=False)

    @property
    def mean_direction_(self) -> np.ndarray:
        """The mean of the vectors at unit length."""
        return self._solved()["direction"]

    def inverse_transform(self, X: Any) -> Any:
        """Turn corrected vectors back: x = y + r m̂, where r solves ‖y + r m̂‖ = r."""
        self._check_invertible()
        if 1 - self.mean_direction_ @ self.mean_direction_ <= SAME_DIRECTION:
            raise UsageError(f"{self.name} has no inverse here: all vectors point the same way")
        return self._undone(X, self._restored)

    def _solution_slots(self, width: int) -> Slots:
        return {"direction": Slot((width,))}

    def _solve(self, summary: Summary) -> Arrays:
        moments = summary.moments
        return {"direction": moments.unit_sum / (moments.unit_weight or 1.0)}

    def _correct(self, rows: Array) -> Array:
        return rows - norms(rows)[:, None] * like(rows, self.mean_direction_)

    def _restored(self, rows: Array) -> Array:
        direction = like(rows, self.mean_direction_)
        along, lost = rows @ direction, 1 - float(self.mean_direction_ @ self.mean_direction_)
        # ‖y + r m̂‖² = r² is (1 − ‖m̂‖²) r² − 2 (y·m̂) r − ‖y‖² = 0, and only the root with a plus
        # is positive.
        root = (along**2 + lost * norms(rows) ** 2) ** 0.5
        return rows + ((along + root) / lost)[:, None] * direction
