"""Tests: Holm's correction for several at once, and Student's test of two samples of scores.

Student's two-sample test with equal variances, two-sided, as Ding et al. (2022) use it: with m runs
of one and n of the other, s² = ((m − 1) s₁² + (n − 1) s₂²) / (m + n − 2), and

    t = (x̄₁ − x̄₂) / (s √(1/m + 1/n))

has m + n − 2 degrees of freedom. Where no run differs from another of its kind, s is 0: equal means
are then no difference at all, and others differ beyond any chance that the runs show.

References
----------
Student (1908), The probable error of a mean, Biometrika 6. Holm (1979), A simple sequentially
rejective multiple test procedure, Scandinavian Journal of Statistics 6(2). Ding et al. (2022), On
Isotropy Calibration of Transformers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p-values: those at most α are rejected, with a chance of at most α of any error.

    Sorted, the k-th of m (from 0) is max_{j ≤ k} min(1, (m − j) p_(j)).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """  # noqa: E501
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    # A larger p-value must not be adjusted to less than a smaller one: once a test in the order is
    # not rejected, none behind it is.
    adjusted[order] = np.maximum.accumulate(steps)
    return [float(value) for value in adjusted]


# A star stands where the p-value is below this.
LEVEL = 0.05


@dataclass(frozen=True)
class Sample:
    """Mean, standard deviation (n − 1 in its denominator) and number of runs."""

    mean: float
    deviation: float
    runs: int


@dataclass(frozen=True)
class MeanDifference:
    """First less second mean, its 95 % interval, and the p-value of no difference.

    Interval and p-value are None where neither sample has two runs.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    freedom: int = 0
    """Degrees of freedom."""

    @property
    def is_significant(self) -> bool:
        """Whether chance is an unlikely reason."""
        return self.p is not None and self.p < LEVEL


def sample_of(values: Sequence[float]) -> Sample:
    """Sum runs up; the deviation of a single one is taken as 0 and has no weight."""
    if min(values) == max(values):  # rounding of their mean would make a deviation of 1e-17
        return Sample(float(values[0]), 0.0, len(values))
    deviation = float(np.std(values, ddof=1))
    return Sample(float(np.mean(values)), deviation, len(values))


def difference(first: Sample, second: Sample) -> MeanDifference:
    """Compare two means by the test that the module describes."""
    from scipy.stats import t as student

    value = first.mean - second.mean
    free = first.runs + second.runs - 2
    if free < 1:
        return MeanDifference(value, None, None, None)
    pooled = (
        (first.runs - 1) * first.deviation**2 + (second.runs - 1) * second.deviation**2
    ) / free
    error = math.sqrt(pooled * (1 / first.runs + 1 / second.runs))
    if error == 0:
        return MeanDifference(value, value, value, float(value == 0), free)
    reach = error * float(student.ppf(1 - LEVEL / 2, free))
    p = 2 * float(student.sf(abs(value) / error, free))
    return MeanDifference(value, value - reach, value + reach, p, free)
