"""A number over the checkpoints of a training, and what papers say of such curves.

Places in a training are shares of its last step. Between two checkpoints a curve is a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.results.result import Row
    from isoscope.typing import Vector


FEWEST = 4
"""Checkpoints from which on thirds of a training mean something."""


@dataclass(frozen=True)
class Curve:
    """Values at rising shares of a training."""

    shares: Vector
    values: Vector

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Curve:
        """Make a curve of rows that know their step."""
        points = sorted(
            (int(row.extra["step"]), row.value)
            for row in rows
            if row.value is not None and row.extra.get("step") is not None
        )
        steps = np.array([step for step, _ in points], dtype=np.float64)
        last = steps[-1] if len(steps) and steps[-1] > 0 else 1.0
        return cls(steps / last, np.array([value for _, value in points], dtype=np.float64))

    def __len__(self) -> int:
        return len(self.values)

    def at(self, share: float) -> float:
        """Return the value at a share of the training."""
        return float(np.interp(share, self.shares, self.values))

    def change(self, start: float, end: float) -> float:
        """Return what is added from one place to another."""
        return self.at(end) - self.at(start)

    def between(self, start: float, end: float) -> Vector:
        """Return the values of the checkpoints from one place to another."""
        return self.values[(self.shares >= start) & (self.shares <= end)]

    @property
    def turning(self) -> float:
        """The smaller of the largest rise and the largest fall: 0 where a curve is monotone.

        Both are over any stretch, as a curve of many checkpoints rises by little from each to the
        next.
        """
        highest = np.maximum.accumulate(self.values)
        lowest = np.minimum.accumulate(self.values)
        return float(min((self.values - lowest).max(), (highest - self.values).max()))

    @property
    def early_drop(self) -> float:
        """How far the lowest value of the first third, the start apart, is from the start."""
        early = self.between(0, 1 / 3)[1:]
        return float((early if len(early) else self.values[1:2]).min() - self.values[0])

    @property
    def rise_after_drop(self) -> float:
        """How far the curve rises again after the lowest value of the first third."""
        early = max(int((self.shares <= 1 / 3).sum()), 2)
        lowest = 1 + int(self.values[1:early].argmin())
        return float(self.values[lowest:].max() - self.values[lowest])
