"""What a LayerNorm's gain and bias do to a cloud, from the two vectors alone.

y = g ∘ z + b, where z has mean 0 and variance 1 over its dimensions: Σ z_i = 0, so that without a
bias all outputs lie in the hyperplane Σ y_i / g_i = 0, whose normal is g′ = (1/g_1 … 1/g_d). A bias
along g′ lifts the cloud off that plane, which is an offset that no gain can undo; a bias across it
shifts the cloud within the plane (Machina & Mercer 2024, sections 4.3 and 5.3). In floating point
Σ b_i / g_i is never exactly 0, so that its size is given, |Σ b_i / g_i| / ‖g′‖, not a yes or no.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.measures.registry import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.typing import Vector


# Kovaleva et al. 2021: an outlier of a LayerNorm is this many deviations from its mean.
OUTLIER_DEVIATIONS = 3.0


@dataclass(frozen=True)
class NormWeights:
    """Gain and bias of one norm; no bias where the norm has none."""

    gain: Vector
    bias: Vector | None
    centres: bool
    """Whether the norm takes the mean off, as LayerNorm does and RMSNorm does not."""

    def values(self) -> dict[str, Value]:
        """Return average norms, their ratio, and both parts of the bias."""
        root = math.sqrt(len(self.gain))
        length = float(np.linalg.norm(self.gain))
        values = {"gain_avgnorm": self._value(length / root)}
        if self.bias is None:
            missing = self._value(None, "this norm has no bias")
            return values | dict.fromkeys(BIAS_MEASURES, missing)
        size = float(np.linalg.norm(self.bias))
        values["bias_avgnorm"] = self._value(size / root)
        values["bias_over_gain"] = (
            self._value(size / length) if length > 0 else self._value(None, "all gains are zero")
        )
        return values | self._parts_of_bias(self.bias, size)

    def _value(self, value: float | None, note: str = "") -> Value:
        return Value(value, note=note, rows=len(self.gain))

    def _parts_of_bias(self, bias: Vector, size: float) -> dict[str, Value]:
        """‖b∥‖ = |Σ b_i/g_i| / ‖g′‖ along the normal of the hyperplane, ‖b⊥‖ within it."""
        why = ""
        if not self.centres:
            why = "RMSNorm does not subtract the mean, so its outputs do not lie in a hyperplane"
        elif not self.gain.all():
            why = f"{int((self.gain == 0).sum())} gains are zero: 1/g is not defined"
        if why:
            return dict.fromkeys(BIAS_MEASURES[2:], self._value(None, why))
        # Scaled by the smallest gain, whose inverse would be the largest number.
        inverse = np.abs(self.gain).min() / self.gain
        along = abs(float(bias @ inverse)) / float(np.linalg.norm(inverse))
        # By Pythagoras, as the two parts are orthogonal; rounding may make the difference negative.
        across = float(np.sqrt(max(size**2 - along**2, 0.0)))
        largest = float(np.abs(inverse).max() ** 2 / (inverse @ inverse))
        note = (
            f"the smallest gain alone makes {100 * largest:.0f} % of the normal vector"
            if largest > 0.5
            else ""
        )
        return {
            "bias_parallel": self._value(along, note),
            "bias_perpendicular": self._value(across, note),
        }

    def outliers(self) -> list[dict[str, Any]]:
        """Return the dimensions that stand out in gain or bias by more than three deviations."""
        found = []
        for name, vector in self._vectors().items():
            deviations = standardized(vector)
            found += [
                {
                    "of": name,
                    "dimension": int(k),
                    "value": float(vector[k]),
                    "deviations": float(deviations[k]),
                }
                for k in np.flatnonzero(np.abs(deviations) > OUTLIER_DEVIATIONS)
            ]
        return sorted(found, key=lambda row: (row["of"], -abs(row["deviations"])))

    def ranks(self, dimensions: Sequence[int]) -> dict[str, dict[int, int]]:
        """Return the rank of some dimensions in both vectors, 1 for the largest |value|."""
        ranks = {}
        for name, vector in self._vectors().items():
            order = np.argsort(-np.abs(vector), kind="stable")
            place = np.empty(len(order), np.int64)
            place[order] = np.arange(1, len(order) + 1)
            ranks[name] = {int(k): int(place[k]) for k in dimensions}
        return ranks

    def _vectors(self) -> dict[str, Vector]:
        return {"gain": self.gain} | ({} if self.bias is None else {"bias": self.bias})


BIAS_MEASURES = ("bias_avgnorm", "bias_over_gain", "bias_parallel", "bias_perpendicular")


def standardized(vector: Vector) -> Vector:
    """Return deviations from the mean, in standard deviations; zeros for a constant."""
    spread = float(vector.std())
    # A constant in float32 has a spread of rounding once it is summed in float64.
    if spread <= 1e-9 * float(np.abs(vector).max(initial=0.0)):
        return np.zeros_like(vector)
    return np.asarray((vector - vector.mean()) / spread)


# Deviations from which on an entry of a positional embedding stands out: of a thousand normal
# numbers the largest is at three and a half.
FAR = 6.0


def deviations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each entry is from the mean of its row, in the row's standard deviations."""
    spread = matrix.std(axis=1, keepdims=True)
    apart = matrix - matrix.mean(axis=1, keepdims=True)
    return np.asarray(np.divide(apart, spread, out=np.zeros_like(matrix), where=spread > 0))
