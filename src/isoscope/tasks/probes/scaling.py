"""What is done to features before a classifier learns from them.

An invertible linear change of features changes no unregularised linear classifier: it can undo
the change in its weights. What a correction can do to a *regularised* one is to make some
directions cheaper than others, and scaling does the same. Dividing each feature by its own
standard deviation is itself a correction (``standardize``): were it always done, the vectors as
they are would never be scored. So the shape of a space is kept by default: features are centred,
which an intercept makes harmless, and divided by *one* number, so that the same strengths of
regularisation mean the same in spaces of any length. Where features are several blocks, as u and
u ∘ v, each block has its own number: of vectors of unit length, products are smaller than entries
by the square root of the width, and would hardly count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from isoscope.errors import unknown_name

if TYPE_CHECKING:
    from isoscope.tasks.probes.contract import Matrix

Scaling = Literal["none", "block", "each"]
WORDS: dict[str, str] = {
    "none": "features as they are",
    "block": "features centred and divided by one number a block",
    "each": "each feature standardised",
}


@dataclass(frozen=True)
class Scale:
    """A shift and a divisor for every feature."""

    shift: Matrix
    divisor: Matrix

    @classmethod
    def of(cls, features: Matrix, kind: Scaling, blocks: int = 1) -> Scale:
        """Find the shift and the divisor of some rows.

        Parameters
        ----------
        features : array of rows × width
            The rows that are learned from, and no others.
        kind : {"none", "block", "each"}
            Nothing; centred, and the root mean square entry of a block 1; or each feature's mean 0
            and standard deviation 1.
        blocks : int
            How many blocks of one width there are.
        """
        check_scaling(kind)
        width = features.shape[1]
        if kind == "none":
            return cls(np.zeros(width), np.ones(width))
        shift = features.mean(axis=0, dtype=np.float64)
        spread = np.square(features - shift).mean(axis=0)
        if kind == "block":
            spread = np.repeat(spread.reshape(blocks, -1).mean(axis=1), width // blocks)
        # A constant, or what rounding leaves of one, is not blown up to the size of the others.
        rounding = np.finfo(features.dtype).eps ** 2 * np.square(features, dtype=np.float64).mean()
        return cls(shift, np.sqrt(np.where(spread > rounding, spread, 1.0)))

    def __call__(self, features: Matrix) -> Matrix:
        """Return features scaled, in double precision."""
        return np.asarray((features - self.shift) / self.divisor)


def check_scaling(kind: str) -> None:
    """Refuse a scaling that does not exist."""
    if kind not in get_args(Scaling):
        raise unknown_name("scaling", kind, get_args(Scaling))
